// The library's interface.

#include <new>

#include "conversion.hpp"

#ifndef XASCEND_BUILD
#define XASCEND_BUILD "unknown"
#endif

#define XASCEND_PUBLIC extern "C" __attribute__((visibility("default")))

// Carries out a program, which conversion.hpp describes; `item` is the element that padding holds. Returns 0; 1 where
// memory for the work itself is missing; 2 where a box has more dimensions than can be addressed.
XASCEND_PUBLIC int xascend_convert(const std::int64_t* program, const void* src, void* dst, const void* item,
                                   int threads) {
    try {
        xascend::Conversion conversion(static_cast<const char*>(src), static_cast<char*>(dst),
                                       static_cast<const char*>(item), program[0], threads);
        conversion.run(program + 2, program[1]);
    } catch (const std::bad_alloc&) {
        return 1;
    } catch (const std::length_error&) {
        return 2;
    }
    return 0;
}

// Says what the library was built from, and with what.
XASCEND_PUBLIC const char* xascend_build() { return XASCEND_BUILD; }
