// One instruction of quantisation: reads a program, cuts its boxes into tiles, and shares them out among threads.
//
// A program is 64-bit integers: kind of the source (0 float32, 1 int32), kind of the result (see `choose_kernel`),
// what becomes of elements below 0 (0 nothing special, 1 they become 0, 2 they are multiplied by the slope), 1 where
// results saturate, 1 where integers are shifted, entries in a table, 1 where a table has an entry for each column and
// 0 where all are alike, number of boxes, and the boxes: first column; counts of matrices, rows, groups, parts and
// columns; source offset and strides of those; destination offset and strides of those. Offsets and strides are bytes.
// Columns of a part follow each other in the source; in the destination they do, or the rows of a matrix. The tables
// follow each other in the order of `Columns`.
#pragma once

#include <atomic>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tiling.hpp"

namespace xascend {

#if XASCEND_SMALL_LIMITS  // for tests, to send small arrays the ways of large ones
constexpr int64_t stream_from = 0, thread_bytes = 256, share_bytes = 512;
#else
constexpr int64_t stream_from = int64_t{8} << 20;   // bytes read and written that caches do not hold
constexpr int64_t thread_bytes = int64_t{1} << 20;  // starting a thread takes as long as moving this much
constexpr int64_t share_bytes = int64_t{1} << 20;
#endif

class Quantisation {
   public:
    Quantisation(const int64_t* program, const char* src, char* dst, const char* tables) {
        const int64_t result = program[1], entries = program[5], boxes = program[7];
        const RowsKernel kernel = choose_kernel(program[0], result, program[2], program[3] != 0);
        const Columns columns = columns_in(tables, entries, program[6]);
        all_ = {src, dst, columns, kernel, result_bytes(result), program[4] != 0, false};
        program += 8;
        const auto read = [&program](int64_t& word) { word = *program++; };
        for (int64_t i = 0; i < boxes; ++i) {
            Box box;
            read(box.first);
            for (int64_t& count : box.count) read(count);
            read(box.src_offset);
            for (int64_t& stride : box.src) read(stride);
            read(box.dst_offset);
            for (int64_t& stride : box.dst) read(stride);
            tilings_.emplace_back(box, all_.item);
        }
    }

    // Threads take shares of about the same size until none is left, so that a busy processor delays only its own.
    void run(int limit) {
        int64_t bytes = 0, tile_elements = 0, row_elements = 0;
        for (const Tiling& tiling : tilings_) {
            bytes += tiling.elements() * (4 + all_.item);
            tile_elements = std::max(tile_elements, tiling.tile_elements());
            row_elements = std::max(row_elements, tiling.row_elements());
        }
        all_.streams = bytes >= stream_from;
        const int64_t threads = std::max<int64_t>(1, std::min<int64_t>(limit, bytes / thread_bytes));
        for (const Tiling& tiling : tilings_) share_out(tiling, threads > 1 ? share_bytes : bytes);
        const std::vector<Room> rooms = make_rooms(threads, tile_elements, row_elements);
        std::vector<std::thread> started;
        started.reserve(static_cast<std::size_t>(threads));
        try {
            for (int64_t thread = 1; thread < threads; ++thread) {
                started.emplace_back([this, room = rooms[static_cast<std::size_t>(thread)]] { work(room); });
            }
        } catch (const std::exception&) {
            // no more threads to be had: those that started do it all
        }
        work(rooms[0]);
        for (std::thread& thread : started) thread.join();
    }

   private:
    struct Share {
        const Tiling* tiling;
        int64_t first, last;
    };

    Quantiser all_;
    std::vector<Tiling> tilings_;
    std::vector<Share> shares_;
    std::atomic<std::size_t> next_share_{0};
    std::unique_ptr<char[]> memory_;

    void share_out(const Tiling& tiling, int64_t share) {
        const int64_t tiles = tiling.tiles();
        const int64_t shares = std::min(tiles, tiling.elements() * (4 + all_.item) / share + 1);
        for (int64_t i = 0; i < shares; ++i) {
            shares_.push_back({&tiling, tiles * i / shares, tiles * (i + 1) / shares});
        }
    }

    std::vector<Room> make_rooms(int64_t threads, int64_t tile_elements, int64_t row_elements) {
        const auto lines = [](int64_t bytes) { return (bytes + line_bytes - 1) / line_bytes * line_bytes; };
        const int64_t tile = lines(tile_elements * all_.item), shifted = all_.shifts ? lines(4 * row_elements) : 0;
        const int64_t bytes = 2 * tile + shifted;
        memory_.reset(new char[static_cast<std::size_t>(threads * bytes + line_bytes)]);
        char* at = memory_.get() + (-reinterpret_cast<std::intptr_t>(memory_.get()) & (line_bytes - 1));
        std::vector<Room> rooms;
        for (; threads > 0; --threads, at += bytes) rooms.push_back({at, at + tile, at + 2 * tile});
        return rooms;
    }

    void work(const Room& room) {
        for (;;) {
            const std::size_t next = next_share_++;
            if (next >= shares_.size()) break;
            const Share& share = shares_[next];
            for (int64_t tile = share.first; tile < share.last; ++tile) share.tiling->run(all_, tile, room);
        }
        fence_streams();
    }
};

}  // namespace xascend
