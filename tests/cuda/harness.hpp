// Stands in for the CUDA runtime: a kernel's .cu, compiled by g++ with this file in front, runs on the host.
//
// Every thread of a block is a fiber. Between two barriers the threads run one after the other, in ascending or in
// descending order, so that what one thread writes and another reads needs a barrier to come out the same in both.
// Every access is checked (bounds, alignment, shared memory that nobody wrote) and recorded; at a barrier the accesses
// of a warp that belong together, by place in the source and step, are counted as the hardware would serve them.
// Subnormal numbers are zeros to the operators, as CuPy has the device's compiler make them.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __shared__
#define __grid_constant__
#define __launch_bounds__(...)
#define XASCEND_ACCESSES
#define XASCEND_ARITHMETIC

struct uint2 {
    unsigned int x, y;
};
struct alignas(16) uint4 {
    unsigned int x, y, z, w;
};
struct Index3 {
    unsigned int x, y, z;
};
extern Index3 threadIdx, blockIdx, blockDim, gridDim;

void __syncthreads();
inline unsigned int __umulhi(unsigned int a, unsigned int b) {
    return static_cast<unsigned int>(static_cast<std::uint64_t>(a) * b >> 32);
}
inline float __int2float_rn(int a) { return static_cast<float>(a); }
inline float __uint_as_float(unsigned int bits) {
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}
inline unsigned int __float_as_uint(float value) {
    unsigned int bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}

namespace harness {

enum Space { global_load, global_store, shared_load, shared_store, spaces };

// Ends the launch with a message where an access is wrong; otherwise records it.
void check_access(Space space, const void* at, int bytes, int line, unsigned int step);
// The same for shared memory that a block reads in common; not counted.
void check_common(const void* at, int bytes, bool is_store, int line);
[[noreturn]] void fail(const char* format, ...);

// Until its end, whether operators take subnormal numbers for zeros.
class Flushing {
   public:
    explicit Flushing(bool is_on) : before(control()) { set_control(is_on ? before | bits : before & ~bits); }
    ~Flushing() { set_control(before); }

   private:
#if defined(__x86_64__)
    static constexpr unsigned int bits = 0x8040;
    static unsigned int control() { return __builtin_ia32_stmxcsr(); }
    static void set_control(unsigned int value) { __builtin_ia32_ldmxcsr(value); }
#elif defined(__aarch64__)
    static constexpr unsigned int bits = 1 << 24;
    static unsigned int control() { return __builtin_aarch64_get_fpcr(); }
    static void set_control(unsigned int value) { __builtin_aarch64_set_fpcr(value); }
#else
#error "how are subnormal numbers flushed here?"
#endif
    const unsigned int before;
};

}  // namespace harness

namespace xascend {

// Arithmetic that keeps subnormal numbers. What is volatile stays between the two changes of the mode.
inline float product(volatile float a, volatile float b) {
    const harness::Flushing mode(false);
    const volatile float made = a * b;
    return made;
}
inline float sum(volatile float a, volatile float b) {
    const harness::Flushing mode(false);
    const volatile float made = a + b;
    return made;
}
inline float if_below(volatile float a, volatile float b, float yes, float no) {
    const harness::Flushing mode(false);
    const volatile bool is_below = a < b;
    return is_below ? yes : no;
}

template <int Bytes>
struct Lanes;

template <int Bytes>
inline Lanes<Bytes> load_checked(harness::Space space, const char* at, unsigned int step, int line) {
    harness::check_access(space, at, Bytes, line, step);
    Lanes<Bytes> value = {};
    std::memcpy(value.of, at, Bytes);
    return value;
}
template <int Bytes>
inline Lanes<Bytes> load_global(const char* at, unsigned int step, int line = __builtin_LINE()) {
    return load_checked<Bytes>(harness::global_load, at, step, line);
}
template <int Bytes>
inline Lanes<Bytes> load_in_place(const char* at, unsigned int step, int line = __builtin_LINE()) {
    return load_checked<Bytes>(harness::global_load, at, step, line);
}
template <int Bytes>
inline Lanes<Bytes> load_shared(const char* at, unsigned int step, int line = __builtin_LINE()) {
    return load_checked<Bytes>(harness::shared_load, at, step, line);
}
template <int Bytes>
inline void store_global(char* at, const Lanes<Bytes>& value, unsigned int step, int line = __builtin_LINE()) {
    harness::check_access(harness::global_store, at, Bytes, line, step);
    std::memcpy(at, value.of, Bytes);
}
template <int Bytes>
inline void store_shared(char* at, const Lanes<Bytes>& value, unsigned int step, int line = __builtin_LINE()) {
    harness::check_access(harness::shared_store, at, Bytes, line, step);
    std::memcpy(at, value.of, Bytes);
}
template <class T>
inline T load_common(const T& from, int line = __builtin_LINE()) {
    harness::check_common(&from, sizeof(T), false, line);
    return from;
}
template <class T>
inline void store_common(T& to, T value, int line = __builtin_LINE()) {
    harness::check_common(&to, sizeof(T), true, line);
    to = value;
}

}  // namespace xascend
