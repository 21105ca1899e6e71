// One conversion: reads a program, makes jobs of its boxes, and shares their blocks out among threads.
//
// A program is 64-bit integers: item size, number of phases, and per phase the number of its groups and the groups:
// number of boxes, number of their shared dimensions, and the boxes: kind (0 copies, 1 fills), source offset,
// destination offset, number of dimensions, and per dimension its count, source stride and destination stride,
// outermost in the destination first. Offsets and strides are bytes. Boxes of one phase write different memory, or the
// same fill; a phase begins when the one before is done.
//
// The boxes of a group agree in the counts and destination strides of their first dimensions, the shared ones. What
// they write for one index of these lies side by side and leaves nothing out. The first box is the largest copy.
#pragma once

#include <atomic>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "blocks.hpp"
#include "choices.hpp"

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
            parts_.clear();
            for (int64_t groups = *program++; groups > 0; --groups) program = read_group(program);
            run_phase();
        }
    }

   private:
    static constexpr int64_t alone = -1;  // a box that is no group's: all its dimensions may be cut

    const char* src_;
    char* dst_;
    const char* item_;
    int64_t item_bytes_;
    int threads_;
    std::vector<Part> parts_;  // of all jobs in turn
    std::vector<Job> jobs_;
    std::vector<Share> shares_;
    std::atomic<std::size_t> next_share_{0};
    std::unique_ptr<char[]> memory_;
    char* stages_ = nullptr;  // one for each thread
    int64_t stage_bytes_ = 0;
    std::vector<char> pattern_;

    const int64_t* read_group(const int64_t* at) {
        const int64_t boxes = at[0], shared = at[1];
        at += 2;
        const std::size_t before = parts_.size();
        for (int64_t box = 0; box < boxes; ++box) at = read_box(at, boxes == 1 ? alone : shared);
        if (boxes > 1 && parts_.size() > before) add_job(before, static_cast<int>(shared));
        return at;
    }

    const int64_t* read_box(const int64_t* at, int64_t shared) {
        Part part;
        part.fills = at[0] != 0;
        part.src = part.fills ? pattern() : src_ + at[1];
        part.dst = dst_ + at[2];
        part.unit = item_bytes_;
        const int64_t dims = at[3];
        at += 4;
        if (dims > max_dims) throw std::length_error("too many dimensions");
        for (int64_t d = 0; d < dims; ++d, at += 3) {
            Dim dim = {at[0], at[1], at[2], 1};
            if (dim.count == 0) return at + 3 * (dims - d);
            if (dim.dst < 0) {  // walk the other way
                part.src += (dim.count - 1) * dim.src;
                part.dst += (dim.count - 1) * dim.dst;
                dim.src = -dim.src;
                dim.dst = -dim.dst;
            }
            part.dim[part.dims++] = dim;
        }
        add(part, shared);
        return at;
    }

    // Folds an innermost run into the unit; what is too long for one unit becomes a dimension and a remainder.
    void add(Part part, int64_t shared) {
        if (part.dims > std::max<int64_t>(shared, 0)) {
            const Dim run = part.dim[part.dims - 1];
            if (run.dst == part.unit && (part.fills || run.src == part.unit)) {
                --part.dims;
                part.unit *= run.count;
            }
        }
        const int64_t limit = part.fills ? pattern_bytes : run_limit;
        if (shared == alone && part.unit > limit) {
            Part rest = part;
            const int64_t whole = part.unit / limit;
            rest.unit = part.unit % limit;
            rest.src += part.fills ? 0 : whole * limit;
            rest.dst += whole * limit;
            if (rest.unit) keep(rest, shared);
            part.dim[part.dims++] = {whole, part.fills ? 0 : limit, limit, 1};
            part.unit = limit;
        }
        keep(part, shared);
    }

    void keep(const Part& part, int64_t shared) {
        parts_.push_back(part);
        if (shared == alone) add_job(parts_.size() - 1, part.dims);
    }

    void add_job(std::size_t first, int shared) {
        Job job;
        job.count = static_cast<int>(parts_.size() - first);
        job.shared = shared;
        job.dst = parts_[first].dst;
        for (std::size_t i = first; i < parts_.size(); ++i) job.dst = std::min(job.dst, parts_[i].dst);
        job.extent = 0;
        for (std::size_t i = first; i < parts_.size(); ++i) {
            job.extent = std::max(job.extent, parts_[i].dst - job.dst + parts_[i].reach(shared));
        }
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
        Part* part = parts_.data();
        for (Job& job : jobs_) {
            job.parts = part;
            part += job.count;
        }
        int64_t bytes = 0;
        for (const Job& job : jobs_) bytes += 2 * job.bytes();
        for (Job& job : jobs_) job.prepare(bytes >= stream_above);
        const int64_t threads = std::max<int64_t>(1, std::min<int64_t>(threads_, bytes / bytes_per_thread));
        shares_.clear();
        for (const Job& job : jobs_) share_out(job, threads > 1 ? bytes_per_share : bytes);
        next_share_ = 0;
        get_stages(threads);
        std::vector<std::thread> started;
        started.reserve(static_cast<std::size_t>(threads));
        try {
            for (int64_t thread = 1; thread < threads; ++thread) {
                started.emplace_back([this, thread] { work(thread); });
            }
        } catch (const std::exception&) {
            // no more threads to be had: those that started do it all
        }
        work(0);
        for (std::thread& thread : started) thread.join();
    }

    void get_stages(int64_t threads) {
        stage_bytes_ = 0;
        for (const Job& job : jobs_) stage_bytes_ = std::max(stage_bytes_, job.stage_bytes());
        stage_bytes_ = (stage_bytes_ + line_bytes - 1) / line_bytes * line_bytes;
        memory_.reset(new char[static_cast<std::size_t>(threads * stage_bytes_ + line_bytes)]);
        stages_ = memory_.get() + (-reinterpret_cast<std::intptr_t>(memory_.get()) & (line_bytes - 1));
    }

    void share_out(const Job& job, int64_t share) {
        const int64_t blocks = job.blocks();
        const int64_t shares = std::min(blocks, 2 * job.bytes() / share + 1);
        for (int64_t i = 0; i < shares; ++i) {
            shares_.push_back({&job, blocks * i / shares, blocks * (i + 1) / shares});
        }
    }

    void work(int64_t thread) {
        for (;;) {
            const std::size_t share = next_share_++;
            if (share >= shares_.size()) break;
            shares_[share].job->run(shares_[share].first, shares_[share].last, stages_ + thread * stage_bytes_);
        }
        fence_streams();
    }
};

}  // namespace xascend
