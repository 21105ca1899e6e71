"""A device in host memory that does queued work as late, as early, or in as odd an order as a real one may.

Addresses are all that a queue keeps, as with real ones: work on memory that was given back meanwhile is a fault.
"""

from __future__ import annotations

import random
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from xascend import _numpy

ORDERS = ("late", "early", *range(6))  # numbers are seeds of random progress


class FaultError(AssertionError):
    """What a real device would have done to memory."""


class Block:
    """Memory of the device."""

    def __init__(self, nbytes: int) -> None:
        self.bytes = np.full(nbytes, 0xA5, np.uint8)


class LateDevice:
    """Counts the memory that is held, and what other queues had to do while one was waited for."""

    def __init__(self, order: str | int = "late") -> None:
        self.order = order
        self.chance = random.Random(order)
        self.queues: list[weakref.ref[LateQueue]] = []
        self.pinned_memory: list[weakref.ref[np.ndarray]] = []
        self.left = 0  # work of queues that nobody waited for
        self.held = self.peak = self.pinned_held = self.pinned_peak = 0
        self.beside: list[set[str]] = []

    def pinned(self, nbytes: int) -> np.ndarray:
        memory = np.full(nbytes, 0x5A, np.uint8)
        self.pinned_held += nbytes
        self.pinned_peak = max(self.pinned_peak, self.pinned_held)
        self.pinned_memory.append(weakref.ref(memory))
        weakref.finalize(memory, self._give_back_pinned, nbytes)
        return memory

    def memory(self, nbytes: int) -> Block:
        block = Block(nbytes)
        self.held += nbytes
        self.peak = max(self.peak, self.held)
        weakref.finalize(block, self._give_back, nbytes)
        return block

    def queue(self) -> LateQueue:
        queue = LateQueue(self)
        self.queues.append(weakref.ref(queue))
        weakref.finalize(queue, self._leave, queue.work)
        return queue

    def _leave(self, work: deque) -> None:
        self.left += len(work)

    def _give_back(self, nbytes: int) -> None:
        self.held -= nbytes

    def _give_back_pinned(self, nbytes: int) -> None:
        self.pinned_held -= nbytes

    def pinned_at(self, address: int, nbytes: int) -> np.ndarray:
        """Return pinned memory that is still there, by its address."""
        for reference in self.pinned_memory:
            memory = reference()
            if memory is not None:
                offset = address - memory.ctypes.data
                if offset >= 0 and offset + nbytes <= memory.nbytes:
                    return memory[offset : offset + nbytes]
        raise FaultError("host memory is not pinned, or was given back while work on it was queued")

    def progress(self) -> None:
        """Do some of the work that is queued anywhere, or none."""
        queues = [queue for queue in (reference() for reference in self.queues) if queue is not None]
        if self.order == "early":
            for queue in queues:
                queue.do(len(queue.work))
        elif self.order != "late":
            for queue in self.chance.sample(queues, len(queues)):
                queue.do(self.chance.randint(0, len(queue.work)))


class LateQueue:
    """Work in order, with marks in between."""

    def __init__(self, device: LateDevice) -> None:
        self.device = device
        self.work: deque[tuple[str, Callable[[], None]]] = deque()
        self.enqueued = self.done = 0

    def do(self, count: int) -> None:
        for _ in range(count):
            self.work.popleft()[1]()
            self.done += 1

    def _add(self, kind: str, work: Callable[[], None]) -> None:
        self.work.append((kind, work))
        self.enqueued += 1
        self.device.progress()

    def upload(self, target: Block, source: np.ndarray) -> None:
        device, block = self.device, weakref.ref(target)  # not the queue, which would keep itself alive
        address, nbytes = source.ctypes.data, source.nbytes

        def work() -> None:
            there(block).bytes[:nbytes] = device.pinned_at(address, nbytes)

        self._add("upload", work)

    def convert(self, plan: Any, word: np.dtype, source: Block, target: Block) -> None:
        src, dst = weakref.ref(source), weakref.ref(target)

        def array(block: Block, shape: tuple[int, ...]) -> np.ndarray:
            nbytes = int(np.prod(shape)) * word.itemsize
            return block.bytes[:nbytes].view(word).reshape(shape)

        def work() -> None:
            x, out = array(there(src), plan.src_shape), array(there(dst), plan.dst_shape)
            _numpy.run(plan, x, out, np.zeros((), word)[()])

        self._add("convert", work)

    def download(self, target: np.ndarray, source: Block) -> None:
        device, block = self.device, weakref.ref(source)
        address, nbytes = target.ctypes.data, target.nbytes

        def work() -> None:
            device.pinned_at(address, nbytes)[...] = there(block).bytes[:nbytes]

        self._add("download", work)

    def mark(self) -> LateMark:
        return LateMark(self, self.enqueued)


class LateMark:
    def __init__(self, queue: LateQueue, number: int) -> None:
        self.queue, self.number = queue, number

    def wait(self) -> None:
        others = (reference() for reference in self.queue.device.queues)
        self.queue.device.beside.append(
            {kind for other in others if other not in (None, self.queue) for kind, _ in other.work}
        )
        self.queue.device.progress()
        self.queue.do(max(0, self.number - self.queue.done))


def there(reference: weakref.ref[Block]) -> Block:
    block = reference()
    if block is None:
        raise FaultError("memory of the device was given back while work on it was queued")
    return block
