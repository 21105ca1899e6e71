// Runs instructions from a file and compares their results: a driver for processors that have no Python here.
//
// The file is a sequence of cases: 64-bit integers (1 for Brcb, 0 for TransDataTo5HD; words of the call, addresses that
// follow them, bytes of memory), then the words, the addresses as offsets in the memory, the memory before and after.

#include <cstdint>
#include <cstdio>
#include <vector>

extern "C" void xascend_trans_data_to_5hd(const std::int64_t* words);
extern "C" void xascend_brcb(const std::int64_t* words);

template <class T>
static bool read(std::FILE* file, std::vector<T>& items) {
    return std::fread(items.data(), sizeof(T), items.size(), file) == items.size();
}

int main(int, char** arguments) {
    std::FILE* file = std::fopen(arguments[1], "rb");
    if (!file) return 2;
    int cases = 0;
    std::vector<std::int64_t> head(4);
    while (read(file, head)) {
        const auto size = [&](int i) { return static_cast<std::size_t>(head[static_cast<std::size_t>(i)]); };
        std::vector<std::int64_t> words(size(1) + size(2));
        std::vector<char> memory(size(3)), expected(size(3));
        if (!read(file, words) || !read(file, memory) || !read(file, expected)) return 2;
        for (std::size_t i = size(1); i < words.size(); ++i) words[i] += reinterpret_cast<std::intptr_t>(memory.data());
        (head[0] ? xascend_brcb : xascend_trans_data_to_5hd)(words.data());
        if (memory != expected) {
            std::printf("case %d differs\n", cases);
            return 1;
        }
        ++cases;
    }
    std::printf("%d cases\n", cases);
    return 0;
}
