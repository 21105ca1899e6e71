// Fetching the next block's source while the block before is written, so that reads and writes overlap.
#pragma once

#include "job.hpp"

namespace xascend {

// Walks over the lines that a block has in the source, part after part.
class Ahead {
   public:
    // Without a block there is nothing to fetch.
    Ahead(const Job& job, const Block* block) : job_(job), block_(block), part_(block ? 0 : job.count) { begin(); }

    void fetch() {
        if (part_ == job_.count) return;
        __builtin_prefetch(row_ + line_, 0, 2);  // into the second-level cache: the first is busy
        line_ += line_bytes;
        if (line_ < bytes_) return;
        line_ = 0;
        const Part& part = job_.parts[part_];
        for (int i = outer_ - 1; i >= 0; --i) {
            const int d = part.order[i];
            row_ += part.dim[d].src;
            if (++at_[i] < size(d)) return;
            row_ -= size(d) * part.dim[d].src;
            at_[i] = 0;
        }
        ++part_;
        begin();
    }

   private:
    const Job& job_;
    const Block* block_;
    int part_;
    int outer_ = 0;                     // dimensions around what follows in the source
    int64_t bytes_ = 0, line_ = 0;      // that follow each other, and those that were fetched
    const char* row_ = nullptr;
    int64_t at_[max_dims];

    int64_t size(int d) const { return d < job_.shared ? block_->size.of[d] : job_.parts[part_].dim[d].count; }

    void begin() {
        while (part_ < job_.count && job_.parts[part_].fills) ++part_;
        if (part_ == job_.count) return;
        const Part& part = job_.parts[part_];
        row_ = part.src;
        for (int d = 0; d < job_.shared; ++d) row_ += block_->first.of[d] * part.dim[d].src;
        bytes_ = part.unit;
        outer_ = part.dims;
        while (outer_ > 0 && part.dim[part.order[outer_ - 1]].src == bytes_) bytes_ *= size(part.order[--outer_]);
        for (int i = 0; i < outer_; ++i) at_[i] = 0;
    }
};

}  // namespace xascend
