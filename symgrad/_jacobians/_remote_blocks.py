"""Blocks of rows of a Jacobian from many devices at once, and who is to blame when one of them stops."""

import collections
import concurrent.futures
import contextlib
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from ..errors import DeviceError
from ._forward_copies import Copies, dependents, staying

# What a session raises when a task of its cluster, or the connection to it, is gone.
_LOST = (tf.errors.AbortedError, tf.errors.CancelledError, tf.errors.DeadlineExceededError, tf.errors.UnavailableError)

_PATIENCE = 3.0  # seconds in which a device that lives answers
_IMPATIENT = tf.RunOptions(timeout_in_ms=int(_PATIENCE * 1000))


@dataclass(frozen=True)
class Runs:
    """What to run for a Jacobian in blocks of rows.

    Attributes:
      count: rows in all.
      shape: of x.
      size: rows in a run.
      start: placeholder for the first row of a run.
      block: those rows, [size, elements of x].
      feeds: for every run.
    """

    count: int
    shape: tuple[int, ...]
    size: int
    start: tf.Tensor
    block: tf.Tensor
    feeds: dict[Any, Any]

    def slices(self) -> Iterator[slice]:
        """The rows of each run."""
        for first in range(0, self.count, self.size):
            yield slice(first, min(first + self.size, self.count))

    def feed(self, rows: slice) -> dict[Any, Any]:
        """What a run for these rows is fed with; the last run begins earlier, so that it is as long as any."""
        return {**self.feeds, self.start.name: max(0, rows.stop - self.size)}

    def cut(self, rows: slice, block: np.ndarray) -> np.ndarray:
        """These rows, in the shape of x, of what the run gave."""
        skipped = rows.start - max(0, rows.stop - self.size)
        return block[skipped : skipped + rows.stop - rows.start].reshape((rows.stop - rows.start, *self.shape))


@dataclass(frozen=True)
class Post:
    """One device's part of a runs.

    Attributes:
      device: its name.
      keep: the op that runs the forward pass there and keeps what the rows have in common.
      free: the op that frees what is kept.
      runs: the runs for the blocks that are computed from what is kept.
    """

    device: str
    keep: tf.Operation
    free: tf.Operation
    runs: Runs


def spread(runs: Runs, common: Sequence[tf.Tensor], x: tf.Tensor, devices: Sequence[str]) -> list[Post]:
    """A post on each device, for a runs whose rows have the tensors `common` in common; the copies begin at x."""
    depends = dependents(runs.start)
    return [_post(runs, common, device, ([(x, x)], depends)) for device in devices]


def _post(runs: Runs, common: Sequence[tf.Tensor], device: str, bounds: tuple[list, set[tf.Operation]]) -> Post:
    instead, depends = bounds
    with tf.name_scope(device.strip("/").replace(":", "_").replace("/", "_")):
        computed = Copies(staying(), instead, device).of(common, "forward") if common else []
        with tf.device(device):
            # Resources of a task are seen by all its sessions, of this and of other clients.
            handles = [_variable(t.dtype.base_dtype, f"symgrad_{uuid.uuid4().hex}") for t in common]
            keep = [tf.raw_ops.AssignVariableOp(resource=h, value=t) for h, t in zip(handles, computed, strict=True)]
            kept = [
                tf.raw_ops.ReadVariableOp(resource=h, dtype=t.dtype.base_dtype)
                for h, t in zip(handles, common, strict=True)
            ]
            free = [tf.raw_ops.DestroyResourceOp(resource=h) for h in handles]
            start = tf.identity(runs.start)
            for t, like in zip(kept, common, strict=True):
                t.set_shape(like.shape)
            read = [*instead, *zip(common, kept, strict=True), (runs.start, start)]
            (block,) = Copies(staying(depends), read, device).of([runs.block], "rows")
            # Where nothing can be kept, behind V1 branches, every run reads what is fed.
            blocks = replace(runs, block=block, feeds={} if common else runs.feeds)
            return Post(device, tf.group(*keep, name="keep"), tf.group(*free, name="free"), blocks)


def _variable(dtype: tf.DType, name: str) -> tf.Tensor:
    return tf.raw_ops.VarHandleOp(dtype=dtype, shape=tf.TensorShape(None), shared_name=name)


def blocks_over(posts: Sequence[Post], session: tf.Session, feeds: dict[Any, Any]) -> Iterator[Any]:
    """First None, when every device has run its forward pass; then the blocks as the devices finish them.

    Raises:
      DeviceError: a device stopped; the others go on to the end of their blocks, for nobody.
    """
    devices = [post.device for post in posts]
    todo = collections.deque(posts[0].runs.slices())
    pool = concurrent.futures.ThreadPoolExecutor(len(posts), "jacobian_blocks")
    running: dict[concurrent.futures.Future, tuple[Post, slice]] = {}

    def begin(post: Post) -> None:
        if todo:
            rows = todo.popleft()
            running[pool.submit(session.run, post.runs.block, post.runs.feed(rows))] = (post, rows)

    try:
        with blamed(session, devices, "the forward pass ran"):  # in one run: the same random numbers for all
            forward = pool.submit(session.run, [post.keep for post in posts], feeds)
            _first_ended([forward], session).pop().result()
        yield None
        for post in posts:
            begin(post)
        while running:
            for done in _first_ended(running, session):
                post, rows = running.pop(done)
                with blamed(session, devices, f"rows {rows.start} to {rows.stop} were computed", post.device):
                    block = done.result()
                begin(post)
                yield rows, post.runs.cut(rows, block)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        _succeed(partial(session.run, post.free, options=_IMPATIENT) for post in posts)


def _first_ended(running: Iterable[concurrent.futures.Future], session: tf.Session) -> set[concurrent.futures.Future]:
    """Wait for at least one of the runs; a run at a master that is gone would end only after minutes of attempts."""
    while True:
        ended = concurrent.futures.wait(running, _PATIENCE, concurrent.futures.FIRST_COMPLETED).done
        if ended:
            return ended
        _check_master(session)


def _check_master(session: tf.Session) -> None:
    """Refuse to wait for a master, of a session in a cluster, at whose address nobody listens.

    Raises:
      DeviceError: naming it.
    """
    target = tf.compat.as_str(getattr(session, "sess_str", None) or "")
    host, _, port = target.removeprefix("grpc://").rpartition(":")
    if not target.startswith("grpc://") or not port.isdigit():
        return
    try:
        socket.create_connection((host, int(port)), timeout=_PATIENCE).close()
    except (ConnectionError, TimeoutError):
        raise DeviceError(f"{target}, the master of the session, does not answer; start it, and a session") from None
    except OSError:  # a name that TensorFlow may look up in another way
        return


def check_present(session: tf.Session, devices: Sequence[str]) -> None:
    """Refuse devices that the session does not have; TensorFlow might place their work elsewhere without a word.

    Raises:
      DeviceError: naming them, and those there are.
    """
    if not hasattr(session, "list_devices"):  # a monitored session
        return
    _check_master(session)
    present = [device.name for device in session.list_devices()]
    absent = [name for name in devices if not any(_is(name, other) for other in present)]
    if absent:
        raise DeviceError(f"the session has no device {', '.join(absent)}; it has {', '.join(present)}")


def _is(name: str, other: str) -> bool:
    """Whether the device `other` is one that `name` may mean."""
    wanted, there = tf.DeviceSpec.from_string(name), tf.DeviceSpec.from_string(other)
    fields = ("job", "replica", "task", "device_type", "device_index")
    return all(getattr(wanted, f) in (None, getattr(there, f)) for f in fields)


@contextlib.contextmanager
def blamed(session: tf.Session, devices: Sequence[str], doing: str, suspect: str | None = None) -> Iterator[None]:
    """Turn what a session raises when a task is gone into a DeviceError that names the device.

    Args:
      session: that of the runs inside.
      devices: those that may be to blame.
      doing: what happened meanwhile, for the message.
      suspect: the device to name if all of them answer.
    """
    try:
        yield
    except _LOST as error:
        says = f"TensorFlow says: {error.message.strip().splitlines()[0]}"
        if hasattr(session, "list_devices") and _succeed([session.list_devices]) == [False]:
            raise DeviceError(
                f"the master of the session, {session.sess_str}, stopped while {doing}. {says}"
            ) from error
        silent = [name for name, answers in zip(devices, _ping(session, devices), strict=True) if not answers]
        raise DeviceError(
            f"{', '.join(silent) or suspect or 'a task'} stopped while {doing}. Start it again, or leave it out of "
            f"devices= in a new session; TensorFlow closes the old one only when the task is back. {says}"
        ) from error


def _ping(session: tf.Session, devices: Sequence[str]) -> list[bool]:
    """Whether each device computes something small within a few seconds."""
    with session.graph.as_default(), tf.name_scope("ping"):
        pings = []
        for device in devices:
            with tf.device(device):
                pings.append(tf.identity(tf.constant(0)))
    return _succeed(partial(session.run, ping, options=_IMPATIENT) for ping in pings)


def _succeed(calls: Iterable[Callable[[], Any]]) -> list[bool]:
    """Whether each of the calls, made all at once, ends well within a few seconds; others are left to themselves."""
    ended: list[bool] = []

    def attempt(k: int, call: Callable[[], Any]) -> None:
        with contextlib.suppress(tf.errors.OpError, RuntimeError):  # the device or the session is gone
            call()
            ended[k] = True

    threads = [threading.Thread(target=attempt, args=each, daemon=True) for each in enumerate(calls)]
    ended.extend([False] * len(threads))
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + _PATIENCE
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    return list(ended)
