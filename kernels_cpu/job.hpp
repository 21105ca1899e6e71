// A job is some parts that are carried out together, block by block, so that a block stays in the caches and is
// written once: copies whose destinations lie side by side, and the padding between them.
#pragma once

#include "part.hpp"

namespace xascend {

// A block: the first index and the number of indices along each dimension that is cut.
struct Block {
    Extents first, size;
};

class Ahead;

class Job {
   public:
    // The parts have their first `shared` dimensions in common; what they write for one index of these lies in
    // `extent` bytes, which belong to them alone. The lowest of all begins at `dst`. The first part is the largest.
    Part* parts;
    int count;
    int shared;
    char* dst;
    int64_t extent;

    // Chooses kernels and blocks; `may_stream` says that the conversion is larger than the caches.
    void prepare(bool may_stream);

    int64_t blocks() const {
        int64_t n = 1;
        for (int d = 0; d < shared; ++d) n *= blocks_along(d);
        return n;
    }
    int64_t bytes() const {
        int64_t n = 0;
        for (int i = 0; i < count; ++i) n += parts[i].bytes();
        return n;
    }
    // Bytes of memory that a thread needs to put a block together.
    int64_t stage_bytes() const { return staged_ ? line_bytes + staged_bytes_ : 0; }
    // Carries out the blocks from `first` to `last`; `stage` begins at a cache line.
    void run(int64_t first, int64_t last, char* stage) const;

   private:
    int order_[max_dims];    // of blocks: all shared dimensions, outermost in the source first
    int row_from_;           // dimensions from here on follow each other in the destination: a block has rows of them
    Extents staged_strides_;
    int64_t staged_bytes_;
    bool staged_ = false;    // blocks are put together before they are written
    bool streams_ = false;   // stores go past the caches
    bool carries_ = false;   // the end of a row waits for the next block, so that whole lines are streamed

    const Dim& dim(int d) const { return parts->dim[d]; }
    int64_t blocks_along(int d) const { return (dim(d).count + dim(d).block - 1) / dim(d).block; }
    int64_t result_bytes_of_block() const {
        int64_t n = extent;
        for (int d = 0; d < shared; ++d) n *= dim(d).block;
        return n;
    }

    // choices.hpp
    void choose_blocks(int64_t src_target, int64_t dst_target);
    void fit_blocks(int64_t src_target, int64_t dst_target, int64_t limit);
    void fit_long_blocks();
    void choose_order();
    void lay_out_stage();
    int64_t result_row();
    void fit_plane(int64_t x_bytes, int64_t y_bytes);
    Stores usual_stores(bool may_stream);
    Stores streamed_stores();
    bool is_aligned(int64_t bytes);
    bool pads() const;
    bool collides() const;

    // blocks.hpp
    void locate(const int64_t* at, Block& block) const;
    void fill(char* stage) const;
    void move(const Part& part, const Block& block, char* to, const Extents* strides) const;
    void flush(const Extents& size, char* stage, char* to, bool continues, bool continued, Ahead& ahead) const;
};

}  // namespace xascend
