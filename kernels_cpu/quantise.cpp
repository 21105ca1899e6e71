// The library's interface for quantisation.

#include <new>

#include "quantise.hpp"

// Carries out a program, which quantise.hpp describes. Returns 0, or 1 where memory for the work itself is missing;
// nothing is written then.
extern "C" __attribute__((visibility("default"))) int xascend_quantise(const std::int64_t* program, const void* src,
                                                                       void* dst, const void* tables, int threads) {
    try {
        xascend::Quantisation quantisation(program, static_cast<const char*>(src), static_cast<char*>(dst),
                                           static_cast<const char*>(tables));
        quantisation.run(threads);
    } catch (const std::bad_alloc&) {
        return 1;
    }
    return 0;
}
