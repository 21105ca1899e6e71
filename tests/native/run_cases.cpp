// Runs conversions from a file and compares their results: a driver for processors that have no Python here.
//
// The file is a sequence of cases: five 64-bit integers (words of the program, bytes of source and result, threads,
// offset of the result from a cache line), then the program, 16 bytes of padding element, the source, the result.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "guarded_memory.hpp"

extern "C" int xascend_convert(const std::int64_t* program, const void* src, void* dst, const void* item, int threads);

static bool read(std::FILE* file, void* to, std::size_t bytes) { return std::fread(to, 1, bytes, file) == bytes; }

int main(int, char** arguments) {
    std::FILE* file = std::fopen(arguments[1], "rb");
    if (!file) return 2;
    int cases = 0;
    std::int64_t head[5];
    while (read(file, head, sizeof head)) {
        const auto words = static_cast<std::size_t>(head[0]), src_bytes = static_cast<std::size_t>(head[1]),
                   dst_bytes = static_cast<std::size_t>(head[2]), offset = static_cast<std::size_t>(head[4]);
        std::vector<std::int64_t> program(words);
        std::vector<char> expected(dst_bytes);
        const GuardedMemory src(src_bytes);
        char item[16];
        if (!read(file, program.data(), 8 * words) || !read(file, item, 16) || !read(file, src.data(), src_bytes) ||
            !read(file, expected.data(), dst_bytes)) {
            return 2;
        }
        const std::size_t room = (dst_bytes + offset + 256) / 64 * 64;
        char* memory = static_cast<char*>(std::aligned_alloc(64, room));
        std::memset(memory, 0x3C, room);
        const int status = xascend_convert(program.data(), src.data(), memory + offset, item,
                                           static_cast<int>(head[3]));
        bool same = status == 0 && std::memcmp(memory + offset, expected.data(), dst_bytes) == 0;
        for (std::size_t i = 0; i < room; ++i) {
            if ((i < offset || i >= offset + dst_bytes) && memory[i] != 0x3C) same = false;
        }
        std::free(memory);
        if (!same) {
            std::printf("case %d differs\n", cases);
            return 1;
        }
        ++cases;
    }
    std::printf("%d cases\n", cases);
    return 0;
}
