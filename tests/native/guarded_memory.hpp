// Memory behind which lies a page that must not be touched: who reads a byte too far is ended by the system.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>

class GuardedMemory {
   public:
    explicit GuardedMemory(std::size_t bytes) {
        const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
        const std::size_t inside = (bytes + page - 1) / page * page;
        size_ = inside + page;
        void* pages = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (pages == MAP_FAILED) std::abort();
        pages_ = static_cast<char*>(pages);
        if (mprotect(pages_ + inside, page, PROT_NONE)) std::abort();
        data_ = pages_ + inside - bytes;
    }
    GuardedMemory(const GuardedMemory&) = delete;
    GuardedMemory& operator=(const GuardedMemory&) = delete;
    ~GuardedMemory() { munmap(pages_, size_); }

    char* data() const { return data_; }

   private:
    char *pages_, *data_;
    std::size_t size_;
};
