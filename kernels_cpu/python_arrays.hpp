// Where arrays of a Python process lie, asked in the way that costs least: of 32 views an instruction may need all.
//
// Python's buffer protocol is part of its stable ABI. Its functions come from the caller as addresses, so that the
// library is built and loaded without Python; what uses them holds the lock of the interpreter.
#pragma once

#include <cstddef>

#include "spans.hpp"

namespace xascend {

// Py_buffer, as Python's documentation lists it.
struct PyBuffer {
    void* buf;
    void* obj;
    std::ptrdiff_t len, itemsize;
    int readonly, ndim;
    char* format;
    std::ptrdiff_t *shape, *strides, *suboffsets;
    void* internal;
};

// PyObject_GetBuffer, PyBuffer_Release and PyList_GetItem.
struct Python {
    int (*get_buffer)(void* object, PyBuffer* view, int flags);
    void (*release)(PyBuffer* view);
    void* (*item)(void* list, std::ptrdiff_t index);
};

enum class Access { any, read, write };

// Finds an array; false where there is none or it is not contiguous (an exception is set then), or, unless any is welcome, not 1-D, or
// read-only where it is to be written.
inline bool find(const Python& python, void* object, Access access, Span& reach) {
    constexpr int contiguous = 0x8;  // PyBUF_ND: contiguous, and no format, which not all dtypes have
    PyBuffer view;
    if (!object || python.get_buffer(object, &view, contiguous)) return false;
    reach.start = static_cast<int64_t>(reinterpret_cast<std::intptr_t>(view.buf));
    reach.stop = reach.start + view.len;
    const bool suits = access == Access::any || (view.ndim == 1 && (access == Access::read || !view.readonly));
    python.release(&view);
    return suits;
}

}  // namespace xascend
