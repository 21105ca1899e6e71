"""Running tasks one after the other, in threads, or on a Dask cluster."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from xascend.files.report import told
from xascend.files.tasks import Task, run_task

__all__ = ["Outcome", "Run", "workers"]

_PATIENCE = 10  # seconds that a scheduler may take to answer

Outcome = tuple[Task, int | Exception]  # bytes written, or what went wrong
Run = Callable[[Iterable[Task]], Generator[Outcome]]


@contextmanager
def workers(jobs: int, scheduler: str | None, /) -> Iterator[Run]:
    """Give a function that runs tasks and yields their outcomes as they come; abandoning it cancels the rest."""
    if scheduler is not None:
        with _client(scheduler) as client:
            yield lambda tasks: _run_on_cluster(client, tasks)
    elif jobs == 1:
        yield lambda tasks: ((task, _attempt(task)) for task in tasks)
    else:
        with ThreadPoolExecutor(jobs, "xascend") as pool:
            try:
                yield lambda tasks: _run_in_threads(pool, tasks, 2 * jobs)
            finally:
                pool.shutdown(wait=True, cancel_futures=True)


def _attempt(task: Task) -> int | Exception:
    try:
        return run_task(task)
    except Exception as error:  # whatever it is, it is reported as this tensor's
        return error


def _run_in_threads(pool: ThreadPoolExecutor, tasks: Iterable[Task], ahead: int) -> Generator[Outcome]:
    waiting = iter(tasks)
    running: dict[Future[int | Exception], Task] = {}
    try:
        while True:
            for task in islice(waiting, ahead - len(running)):
                running[pool.submit(_attempt, task)] = task
            if not running:
                return
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                yield running.pop(future), future.result()
    finally:  # nobody may write any more when the file is given up
        for future in running:
            future.cancel()
        wait(running)


@contextmanager
def _client(scheduler: str) -> Iterator[Any]:
    try:
        from distributed import Client
    except ImportError as error:
        raise ValueError(
            f"`scheduler` {scheduler} needs Dask, which cannot be imported ({error}); install xascend[distributed]"
        ) from error
    _require_reachable(scheduler)
    client = Client(scheduler, timeout=f"{_PATIENCE}s", set_as_default=False)
    with client:
        yield client


def _require_reachable(scheduler: str) -> None:
    """Refuse an address where nobody answers; a client that could not connect would go on trying and complaining."""
    from distributed.comm import connect
    from distributed.security import Security

    async def attempt() -> None:
        comm = await connect(scheduler, timeout=_PATIENCE, **Security().get_connection_args("client"))
        await comm.close()

    try:
        asyncio.run(attempt())
    except OSError as error:
        raise OSError(f"cannot reach the Dask scheduler at {scheduler}: {told(error)}") from error
    except ValueError as error:
        raise ValueError(
            f"`scheduler` must be an address such as tcp://host:8786, got {scheduler}: {told(error)}"
        ) from error


def _for_elsewhere(task: Task) -> Task:
    """Return a task that a process with another working folder, or another machine, carries out."""
    tensor = replace(task.tensor, path=str(Path(task.tensor.path).absolute()))
    return replace(task, tensor=tensor, target=replace(task.target, sync=True))


def _run_on_cluster(client: Any, tasks: Iterable[Task]) -> Generator[Outcome]:
    from distributed import as_completed

    futures = {client.submit(_attempt, _for_elsewhere(task), pure=False): task for task in tasks}
    try:
        for future in as_completed(list(futures), loop=client.loop):
            try:
                outcome = future.result()
            except Exception as error:  # a lost worker, for instance
                outcome = error
            yield futures.pop(future), outcome
    finally:
        client.cancel(list(futures))
