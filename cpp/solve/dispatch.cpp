// Chooses the widest instruction set that both this build and this machine know.
#include <stdexcept>

#include "solve/hot.hpp"

namespace widemargin {

namespace portable {
const Hot& table();
}
#ifdef WM_X86_LEVELS
namespace x86_64_v2 {
const Hot& table();
}
namespace x86_64_v3 {
const Hot& table();
}
namespace x86_64_v4 {
const Hot& table();
}
#endif

namespace {

std::vector<const Hot*> runnable() {
    std::vector<const Hot*> tables{&portable::table()};
#ifdef WM_X86_LEVELS
    __builtin_cpu_init();
    if (__builtin_cpu_supports("sse4.2")) tables.push_back(&x86_64_v2::table());
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        tables.push_back(&x86_64_v3::table());
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
        tables.push_back(&x86_64_v4::table());
#endif
    return tables;
}

const Hot*& current() {
    static const Hot* table = runnable().back();
    return table;
}

}  // namespace

const Hot& hot() {
    return *current();
}

std::vector<std::string> instruction_sets() {
    std::vector<std::string> names;
    for (const Hot* table : runnable()) names.emplace_back(table->name);
    return names;
}

void use_instruction_set(const std::string& name) {
    for (const Hot* table : runnable()) {
        if (name == table->name) {
            current() = table;
            return;
        }
    }
    throw std::invalid_argument("instruction set '" + name + "' cannot run on this machine");
}

}  // namespace widemargin
