// A job is one strided copy, cut into blocks that stay in the caches.
#pragma once

#include "tiles.hpp"

namespace xascend {

// `count` steps of `src` bytes in the source and `dst` bytes in the destination; a block takes `block` of them.
struct Dim {
    int64_t count, src, dst, block;
};

constexpr int max_dims = 48;  // each of at least 2 elements: more cannot be addressed

// One number per dimension.
struct Extents {
    int64_t of[max_dims];
};

// Where a thread puts a block together.
struct Scratch {
    char* source;
    char* result;
};

using Kernel = void (*)(const Plane&, const char*, char*);

class Job {
   public:
    // Dimensions are sorted: outermost in the destination first. `src_end` is the end of what the copy reads.
    const char* src;
    char* dst;
    const char* src_end;
    Dim dim[max_dims];
    int dims = 0;
    int64_t unit;  // bytes that stay together

    // Chooses kernel and blocks; `may_stream` says that the conversion is larger than the caches.
    void prepare(bool may_stream);

    int64_t blocks() const {
        int64_t n = 1;
        for (int d = 0; d < dims; ++d) n *= blocks_along(d);
        return n;
    }
    int64_t bytes() const {
        int64_t n = unit;
        for (int d = 0; d < dims; ++d) n *= dim[d].count;
        return n;
    }
    // Bytes of scratch memory that a block needs; of the source's, a vector more may be read.
    int64_t source_bytes() const { return gathers_ ? block_bytes() + vector_bytes : 0; }
    int64_t result_bytes() const { return staged_ ? block_bytes() : 0; }
    // Carries out the blocks from `first` to `last`.
    void run(int64_t first, int64_t last, const Scratch& scratch) const;

   private:
    int x_ = -1, y_ = -1;                      // dimensions that the kernel walks; -1: none
    int around_[max_dims], around_count_ = 0;  // the other dimensions
    int order_[max_dims];                      // all, outermost in the source first: the order of blocks
    bool gathers_ = false;                     // blocks are copied to scratch memory before they are rearranged
    bool staged_ = false;                      // blocks are put together in scratch memory before they are written
    bool streams_ = false;                     // stores go past the caches
    Kernel kernel_ = nullptr;

    int64_t blocks_along(int d) const { return (dim[d].count + dim[d].block - 1) / dim[d].block; }
    int64_t block_bytes() const {
        int64_t n = unit;
        for (int d = 0; d < dims; ++d) n *= dim[d].block;
        return n;
    }
    bool transposes() const { return x_ >= 0 && y_ >= 0 && unit <= 8 && dim[x_].src == unit && dim[y_].dst == unit; }

    // choices.hpp
    void choose_plane();
    void choose_blocks(int64_t src_target, int64_t dst_target);
    void fit_blocks(int64_t src_target, int64_t dst_target, int64_t limit);
    void choose_kernel(bool streamed);
    int64_t source_row() const;
    int64_t result_row() const;
    bool is_aligned() const;
    bool scatters() const;
    bool aliases() const;

    // blocks.hpp
    void gather(const Extents& size, const char* from, char* source, Extents& strides) const;
    void move(const Extents& size, const char* from, const Extents& from_strides, char* to,
              const Extents& to_strides) const;
    void flush(const Extents& size, const char* result, char* to) const;
};

}  // namespace xascend
