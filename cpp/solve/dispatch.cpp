// Chooses the widest instruction set that both this build and this machine know, or the one that
// the variable WIDEMARGIN_INSTRUCTION_SET of the environment names.
#include <cstdlib>
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
    // Each level contains those below; a virtual machine may hide any part of one.
    const bool v2 = __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("ssse3") &&
                    __builtin_cpu_supports("popcnt");
    const bool v3 = v2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
    const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                    __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                    __builtin_cpu_supports("avx512vl");
    if (v2) tables.push_back(&x86_64_v2::table());
    if (v3) tables.push_back(&x86_64_v3::table());
    if (v4) tables.push_back(&x86_64_v4::table());
#endif
    return tables;
}

const Hot* find(const std::string& name) {
    for (const Hot* table : runnable())
        if (name == table->name) return table;
    throw std::invalid_argument("instruction set '" + name + "' cannot run on this machine");
}

const Hot* first_choice() {
    const char* name = std::getenv("WIDEMARGIN_INSTRUCTION_SET");
    return name && *name ? find(name) : runnable().back();
}

const Hot*& current() {
    static const Hot* table = first_choice();
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
    current() = find(name);
}

}  // namespace widemargin
