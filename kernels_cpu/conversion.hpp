// One conversion: reads a program, makes jobs of its boxes, and shares their blocks out among threads.
//
// A program is 64-bit integers: item size, number of phases, and per phase the number of its boxes and the boxes:
// kind (0 copies, 1 fills), source offset, destination offset, number of dimensions, and per dimension its count,
// source stride and destination stride, outermost in the destination first. Offsets and strides are bytes. Boxes of
// one phase write different memory, or the same fill; a phase begins when the one before is done.
#pragma once

#include <atomic>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "blocks.hpp"
#include "choices.hpp"

#ifndef XASCEND_SMALL_LIMITS
#define XASCEND_SMALL_LIMITS 0  // 1: for tests, to send small arrays the ways of large ones
#endif

namespace xascend {

constexpr int64_t run_limit = 1 << 16;      // longer runs are cut, so that threads can share them
constexpr int64_t pattern_bytes = 1 << 12;  // the longest run of padding written at once
#if XASCEND_SMALL_LIMITS
constexpr int64_t stream_above = 0, bytes_per_thread = 256, bytes_per_share = 512;
#else
constexpr int64_t stream_above = int64_t{8} << 20;      // bytes read and written that caches do not hold
constexpr int64_t bytes_per_thread = int64_t{2} << 20;  // starting a thread takes as long as moving half of this
constexpr int64_t bytes_per_share = int64_t{1} << 20;
#endif

// Some blocks of one job.
struct Share {
    const Job* job;
    int64_t first, last;
};

class Conversion {
   public:
    Conversion(const char* src, char* dst, const char* item, int64_t item_bytes, int threads)
        : src_(src), dst_(dst), item_(item), item_bytes_(item_bytes), threads_(threads) {}

    void run(const int64_t* program, int64_t phases) {
        for (int64_t phase = 0; phase < phases; ++phase) {
            jobs_.clear();
            const int64_t boxes = *program++;
            jobs_.reserve(static_cast<std::size_t>(boxes));
            for (int64_t box = 0; box < boxes; ++box) program = read_box(program);
            run_phase();
        }
    }

   private:
    const char* src_;
    char* dst_;
    const char* item_;
    int64_t item_bytes_;
    int threads_;
    std::vector<Job> jobs_;
    std::vector<Share> shares_;
    std::atomic<std::size_t> next_share_{0};
    std::unique_ptr<char[]> memory_;
    std::vector<Scratch> scratch_;
    std::vector<char> pattern_;

    const int64_t* read_box(const int64_t* at) {
        const bool fills = at[0] != 0;
        Job job;
        job.src = fills ? pattern() : src_ + at[1];
        job.dst = dst_ + at[2];
        job.unit = item_bytes_;
        const int64_t dims = at[3];
        at += 4;
        if (dims > max_dims) throw std::length_error("too many dimensions");
        for (int64_t d = 0; d < dims; ++d, at += 3) {
            Dim dim = {at[0], at[1], at[2], 1};
            if (dim.count == 0) return at + 3 * (dims - d);
            if (dim.dst < 0) {  // walk the other way
                job.src += (dim.count - 1) * dim.src;
                job.dst += (dim.count - 1) * dim.dst;
                dim.src = -dim.src;
                dim.dst = -dim.dst;
            }
            job.dim[job.dims++] = dim;
        }
        add(job, fills);
        return at;
    }

    // Folds an innermost run into the unit; what is too long for one unit becomes a dimension and a remainder.
    void add(Job job, bool fills) {
        const int64_t limit = fills ? pattern_bytes : run_limit;
        if (job.dims > 0) {
            const Dim run = job.dim[job.dims - 1];
            if (run.dst == job.unit && (fills || run.src == job.unit)) {
                --job.dims;
                const int64_t bytes = run.count * job.unit;
                if (bytes > limit) {
                    Job rest = job;
                    const int64_t whole = bytes / limit;
                    rest.unit = bytes % limit;
                    rest.src += fills ? 0 : whole * limit;
                    rest.dst += whole * limit;
                    if (rest.unit) keep(rest, fills);
                    job.dim[job.dims++] = {whole, fills ? 0 : limit, limit, 1};
                    job.unit = limit;
                } else {
                    job.unit = bytes;
                }
            }
        }
        keep(job, fills);
    }

    void keep(Job job, bool fills) {
        job.src_end = job.src + job.unit;
        for (int d = 0; d < job.dims; ++d) job.src_end += std::max<int64_t>(0, (job.dim[d].count - 1) * job.dim[d].src);
        if (fills) job.src_end = pattern_.data() + pattern_.size();
        jobs_.push_back(job);
    }

    const char* pattern() {
        if (pattern_.empty()) {
            pattern_.resize(static_cast<std::size_t>(pattern_bytes));
            std::memcpy(pattern_.data(), item_, static_cast<std::size_t>(item_bytes_));
            for (int64_t made = item_bytes_; made < pattern_bytes; made *= 2) {
                std::memcpy(pattern_.data() + made, pattern_.data(), static_cast<std::size_t>(made));
            }
        }
        return pattern_.data();
    }

    // Threads take shares of about the same size until none is left, so that a busy processor delays only its own.
    void run_phase() {
        int64_t bytes = 0;
        for (const Job& job : jobs_) bytes += 2 * job.bytes();
        for (Job& job : jobs_) job.prepare(bytes >= stream_above);
        const int64_t threads = std::max<int64_t>(1, std::min<int64_t>(threads_, bytes / bytes_per_thread));
        shares_.clear();
        for (const Job& job : jobs_) share_out(job, threads > 1 ? bytes_per_share : bytes);
        next_share_ = 0;
        get_scratch(threads);
        std::vector<std::thread> started;
        started.reserve(static_cast<std::size_t>(threads));
        try {
            for (int64_t thread = 1; thread < threads; ++thread) {
                started.emplace_back([this, thread] { work(scratch_[static_cast<std::size_t>(thread)]); });
            }
        } catch (const std::exception&) {
            // no more threads to be had: those that started do it all
        }
        work(scratch_[0]);
        for (std::thread& thread : started) thread.join();
    }

    void get_scratch(int64_t threads) {
        int64_t source = 0, result = 0;
        for (const Job& job : jobs_) {
            source = std::max(source, round_to_lines(job.source_bytes()));
            result = std::max(result, round_to_lines(job.result_bytes()));
        }
        memory_.reset(new char[static_cast<std::size_t>(threads * (source + result) + line_bytes)]);
        char* at = memory_.get() + (-reinterpret_cast<std::intptr_t>(memory_.get()) & (line_bytes - 1));
        scratch_.clear();
        for (int64_t thread = 0; thread < threads; ++thread, at += source + result) {
            scratch_.push_back({at, at + source});
        }
    }

    static int64_t round_to_lines(int64_t bytes) { return (bytes + line_bytes - 1) / line_bytes * line_bytes; }

    void share_out(const Job& job, int64_t share) {
        const int64_t blocks = job.blocks();
        const int64_t shares = std::min(blocks, 2 * job.bytes() / share + 1);
        for (int64_t i = 0; i < shares; ++i) {
            shares_.push_back({&job, blocks * i / shares, blocks * (i + 1) / shares});
        }
    }

    void work(const Scratch& scratch) {
        for (;;) {
            const std::size_t share = next_share_++;
            if (share >= shares_.size()) break;
            shares_[share].job->run(shares_[share].first, shares_[share].last, scratch);
        }
        fence_streams();
    }
};

}  // namespace xascend
