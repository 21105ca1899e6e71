// Runs quantisations from a file and compares their results: a driver for processors that have no Python here.
//
// The file is a sequence of cases: five 64-bit integers (words of the program, bytes of the tables, bytes of source
// and result, threads), then the program, the tables, the source, the result before, the result afterwards.

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#include "guarded_memory.hpp"

extern "C" int xascend_quantise(const std::int64_t* program, const void* src, void* dst, const void* tables,
                                int threads);

static bool read(std::FILE* file, char* to, std::size_t bytes) { return std::fread(to, 1, bytes, file) == bytes; }

int main(int, char** arguments) {
    std::FILE* file = std::fopen(arguments[1], "rb");
    if (!file) return 2;
    int cases = 0;
    std::int64_t head[5];
    while (std::fread(head, sizeof head, 1, file) == 1) {
        const auto size = [&](int i) { return static_cast<std::size_t>(head[i]); };
        std::vector<std::int64_t> program(size(0));
        std::vector<char> expected(size(3));
        const GuardedMemory tables(size(1)), src(size(2)), dst(size(3));
        if (std::fread(program.data(), sizeof program[0], program.size(), file) != program.size() ||
            !read(file, tables.data(), size(1)) || !read(file, src.data(), size(2)) ||
            !read(file, dst.data(), size(3)) || !read(file, expected.data(), size(3))) {
            return 2;
        }
        const int status = xascend_quantise(program.data(), src.data(), dst.data(), tables.data(),
                                            static_cast<int>(head[4]));
        if (status != 0 || std::memcmp(dst.data(), expected.data(), size(3))) {
            std::printf("case %d differs\n", cases);
            return 1;
        }
        ++cases;
    }
    std::printf("%d cases\n", cases);
    return 0;
}
