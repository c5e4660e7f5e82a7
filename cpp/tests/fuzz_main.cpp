// A fuzzer for compilers without libFuzzer: changed and joined pieces of a corpus are given to the
// target for some seconds. `fuzz seconds seed file...`; prints how many inputs it tried.
//
// Where the target is compiled with -fsanitize-coverage=trace-pc, each input that goes from one
// place of the program to another by a way not seen before joins the corpus, so that deep ways are
// found step by step (the idea of M. Zalewski's american fuzzy lop).
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" [[gnu::weak]] void __sanitizer_set_death_callback(void (*callback)());

namespace {

// Which ways the last input went, and how often, rounded down to a power of two.
std::array<std::atomic<std::uint8_t>, 1 << 16> passed;
thread_local std::uintptr_t last_place = 0;

}  // namespace

extern "C" void __sanitizer_cov_trace_pc() {
    const auto place = reinterpret_cast<std::uintptr_t>(__builtin_return_address(0));
    const std::uintptr_t way = (place ^ (last_place >> 1) * 0x9E3779B1) % passed.size();
    last_place = place;
    const std::uint8_t count = passed[way].load(std::memory_order_relaxed);
    if (count < 255) passed[way].store(std::uint8_t(count + 1), std::memory_order_relaxed);
}

namespace {

std::string current;  // what to show if the target fails

// Shows the last input as text that a test can hold.
void show_input() {
    std::fputs("input: \"", stderr);
    for (unsigned char c : current) std::fprintf(stderr, "\\x%02x", c);
    std::fputs("\"\n", stderr);
}

class Coverage {
  public:
    // Whether the last input went a new way, or one more often than before; then forgets it.
    bool grew() {
        bool more = false;
        for (std::size_t way = 0; way < passed.size(); ++way) {
            const unsigned count = passed[way].load(std::memory_order_relaxed);
            if (count == 0) continue;
            passed[way].store(0, std::memory_order_relaxed);
            unsigned size = 1;
            while (count >> size) ++size;
            if (size <= most[way]) continue;
            ways += most[way] == 0;
            most[way] = std::uint8_t(size);
            more = true;
        }
        return more;
    }

    long ways = 0;

  private:
    std::array<std::uint8_t, 1 << 16> most{};
};

class Mutator {
  public:
    Mutator(std::vector<std::string> corpus, unsigned seed)
        : corpus(std::move(corpus)), random(seed) {}

    // The first character of an input is taken for its options.
    std::string next() {
        std::string text = pick(corpus);
        if (below(4) == 0) text[0] = char(below(256));
        for (std::size_t changes = 1 + below(8); changes-- > 0;) change(text);
        if (text.size() > longest) text.resize(longest);
        return text;
    }

    void keep(const std::string& text) { corpus.push_back(text); }

    std::size_t size() const { return corpus.size(); }

  private:
    static constexpr std::size_t longest = 4096;
    std::vector<std::string> corpus;
    std::mt19937_64 random;
    const std::vector<std::string> words{":",
                                         " ",
                                         "\n",
                                         "#",
                                         ",",
                                         "-",
                                         "+",
                                         ".",
                                         "e",
                                         "e+",
                                         "\r\n",
                                         "qid:",
                                         "sid:",
                                         "cost:",
                                         "nan",
                                         "inf",
                                         "0x1p-3",
                                         "1e308",
                                         "1e400",
                                         "1e-400",
                                         "0",
                                         "00000000000000000000",
                                         "12345678901234567890",
                                         "9223372036854775807",
                                         "9223372036854775808",
                                         "2147483648",
                                         "1:1",
                                         "2:0.5 ",
                                         "4294967295:1",
                                         "\t",
                                         "\v"};

    std::size_t below(std::size_t count) { return count ? random() % count : 0; }

    const std::string& pick(const std::vector<std::string>& from) {
        return from[below(from.size())];
    }

    void change(std::string& text) {
        const std::size_t at = 1 + below(text.size());
        switch (below(6)) {
            case 0:
                text.insert(at, pick(words));
                break;
            case 1:
                text.insert(at, 1, char(below(256)));
                break;
            case 2:
                text.erase(at, below(16));
                break;
            case 3:
                text.insert(at, text.substr(below(text.size()), below(64)));
                break;
            case 4:
                text.insert(at, pick(corpus), 1);
                break;
            default:
                if (at < text.size()) text[at] = char(text[at] ^ (1 << below(8)));
        }
    }
};

std::vector<std::string> corpus_of(int count, char** arguments) {
    std::vector<std::string> corpus{std::string(1, '\0') + "1 1:1\n"};
    for (int k = 3; k < count; ++k) {
        std::ifstream file(arguments[k], std::ios::binary);
        const std::string text{std::istreambuf_iterator<char>(file),
                               std::istreambuf_iterator<char>()};
        corpus.push_back('\0' + text);
    }
    return corpus;
}

}  // namespace

int main(int count, char** arguments) {
    const double seconds = count > 1 ? std::atof(arguments[1]) : 10;
    const unsigned seed = count > 2 ? unsigned(std::atoi(arguments[2])) : 1;
    std::signal(SIGABRT, [](int) {
        show_input();
        std::_Exit(1);
    });
    if (__sanitizer_set_death_callback) __sanitizer_set_death_callback(show_input);
    Mutator mutator(corpus_of(count, arguments), seed);
    Coverage coverage;
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    long tried = 0;
    for (; std::chrono::steady_clock::now() < end; ++tried) {
        current = mutator.next();
        last_place = 0;
        LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(current.data()),
                               current.size());
        if (coverage.grew()) mutator.keep(current);
    }
    std::printf("%ld inputs, %ld ways, %zu kept\n", tried, coverage.ways, mutator.size());
}
