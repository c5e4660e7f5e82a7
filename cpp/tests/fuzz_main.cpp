// A small fuzzer for compilers without libFuzzer: changed and joined pieces of a corpus are given
// to the target for some seconds. `fuzz seconds seed file...`; prints how many inputs it tried.
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

std::string current;  // what to show if the target fails

// Shows the last input as text that a test can hold.
void show_input() {
    std::fputs("input: \"", stderr);
    for (unsigned char c : current) std::fprintf(stderr, "\\x%02x", c);
    std::fputs("\"\n", stderr);
}

class Mutator {
  public:
    Mutator(std::vector<std::string> corpus, unsigned seed)
        : corpus(std::move(corpus)), random(seed) {}

    std::string next() {
        std::string text = pick(corpus);
        for (std::size_t changes = below(8); changes-- > 0;) change(text);
        text.insert(text.begin(), char(below(128)));  // the options
        return text;
    }

  private:
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
        const std::size_t at = below(text.size() + 1);
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
                text.insert(at, pick(corpus));
                break;
            default:
                if (at < text.size()) text[at] = char(text[at] ^ (1 << below(8)));
        }
    }
};

}  // namespace

int main(int count, char** arguments) {
    const double seconds = count > 1 ? std::atof(arguments[1]) : 10;
    const unsigned seed = count > 2 ? unsigned(std::atoi(arguments[2])) : 1;
    std::vector<std::string> corpus{"1 1:1\n"};
    for (int k = 3; k < count; ++k) {
        std::ifstream file(arguments[k], std::ios::binary);
        corpus.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    }
    std::signal(SIGABRT, [](int) {
        show_input();
        std::_Exit(1);
    });
    if (__sanitizer_set_death_callback) __sanitizer_set_death_callback(show_input);
    Mutator mutator(std::move(corpus), seed);
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    long tried = 0;
    for (; std::chrono::steady_clock::now() < end; ++tried) {
        current = mutator.next();
        LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(current.data()),
                               current.size());
    }
    std::printf("%ld inputs\n", tried);
}
