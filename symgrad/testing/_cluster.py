"""A cluster of TensorFlow servers on this machine, for tests and for trying things out."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import select
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from typing import Any

from ..errors import DeviceError

_STOPPING = 10.0  # seconds that the launcher has to end its servers and itself


@contextlib.contextmanager
def local_cluster(
    workers: int = 2, ps: int = 1, *, threads: int | None = None, timeout: float = 120.0
) -> Iterator[Cluster]:
    """TensorFlow servers as processes of this machine, stopped when the block ends in whatever way.

    They listen on 127.0.0.1 alone, compute on CPUs, and end with the process that started them, also when that is
    killed. One process imports TensorFlow, and the servers are its forks: each costs a moment and little memory. Linux
    only.

    Args:
      workers: number of tasks of the job "worker".
      ps: number of tasks of the job "ps" (parameter server).
      threads: with how many threads a server computes; None is TensorFlow's choice, all processors.
      timeout: seconds that the start of the cluster may take, and that of a task.

    Yields:
      The `Cluster`.

    Raises:
      DeviceError: a server did not start, or not in time.
      ValueError: there would be no task, or this is not Linux.

    Example, with one worker and no parameter server::

        with tf.Graph().as_default(), symgrad.testing.local_cluster(workers=1, ps=0) as cluster:
            with tf.device("/job:worker/task:0"):
                y = tf.constant(2.0) * 3.0
            with tf.Session(cluster.target("worker", 0)) as session:
                print(session.run(y))
    """
    if workers < 0 or ps < 0 or not workers + ps:
        raise ValueError(f"workers={workers}, ps={ps}; wanted at least one task")
    if sys.platform != "linux":
        raise ValueError(f"local_cluster runs on Linux, this is {sys.platform}; start tf.distribute.Server by hand")
    with contextlib.ExitStack() as exits:
        ports = {
            job: [exits.enter_context(_reserved()) for _ in range(n)] for job, n in (("worker", workers), ("ps", ps))
        }
        addresses = {job: [f"127.0.0.1:{port}" for port in of_job] for job, of_job in ports.items() if of_job}
        launcher = exits.enter_context(_Launcher(timeout))
        yield Cluster(addresses, launcher, threads)


class Cluster:
    """The running servers of a `local_cluster`.

    Attributes:
      addresses: job to the list of its tasks' "127.0.0.1:port".
    """

    def __init__(self, addresses: dict[str, list[str]], launcher: _Launcher, threads: int | None):
        self.addresses = addresses
        self._launcher, self._threads = launcher, threads
        self._pids: dict[tuple[str, int], int] = {}
        for job, tasks in addresses.items():
            for task in range(len(tasks)):
                self.restart(job, task)

    @property
    def spec(self) -> Any:
        """The `tf.train.ClusterSpec`, for `tf.train.replica_device_setter(cluster=...)`."""
        import tensorflow.compat.v1 as tf

        return tf.train.ClusterSpec(self.addresses)

    def target(self, job: str = "worker", task: int = 0) -> str:
        """The master of a session of this task: `tf.Session(target)`, `MonitoredTrainingSession(master=target)`."""
        return f"grpc://{self.addresses[job][task]}"

    def devices(self, job: str = "worker") -> list[str]:
        """The devices of all tasks of a job, as `tf.device` and `symgrad.jacobian` take them."""
        return [f"/job:{job}/task:{task}" for task in range(len(self.addresses.get(job, ())))]

    def pid(self, job: str, task: int) -> int:
        """The process id of a task."""
        return self._pids[job, task]

    def is_running(self, job: str, task: int) -> bool:
        """Whether the task's process lives."""
        return self._pids[job, task] in self._launcher.ask(poll=True)["running"]

    def kill(self, job: str, task: int) -> None:
        """End a task at once (SIGKILL), as a machine that fails; it is gone when this returns."""
        self._launcher.ask(kill=self._pids[job, task])

    def restart(self, job: str, task: int) -> None:
        """Start a task at its address, after ending the one that runs there."""
        if (job, task) in self._pids:
            self.kill(job, task)
        wanted = {"cluster": self.addresses, "job": job, "task": task, "threads": self._threads}
        self._pids[job, task] = self._launcher.ask(start=wanted)["started"]


class _Launcher(contextlib.AbstractContextManager):
    """The process that forks servers, which end with it; see `_server`."""

    def __init__(self, timeout: float):
        self._timeout, self._lock, self._unread = timeout, threading.Lock(), b""

    def __enter__(self) -> _Launcher:
        script = pathlib.Path(__file__).with_name("_server.py")
        self._log = tempfile.TemporaryFile()
        self._process = subprocess.Popen(
            [sys.executable, str(script)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env={"TF_CPP_MIN_LOG_LEVEL": "2", **os.environ, "CUDA_VISIBLE_DEVICES": "-1"},
            start_new_session=True,  # an interrupt from the keyboard reaches the caller, who then ends this
        )
        try:
            self._answer()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *error: Any) -> None:
        assert self._process.stdin
        assert self._process.stdout
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(_STOPPING)
        except subprocess.TimeoutExpired:
            self._process.kill()  # its servers are killed by the kernel
            self._process.wait()
        self._process.stdout.close()
        self._log.close()

    def ask(self, **request: Any) -> dict[str, Any]:
        """Send a request, wait for the answer."""
        assert self._process.stdin
        with self._lock:
            try:
                self._process.stdin.write(json.dumps(request).encode() + b"\n")
                self._process.stdin.flush()
            except (BrokenPipeError, ValueError):
                raise DeviceError("the cluster has ended; start another with local_cluster") from None
            return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout
        handle, deadline = self._process.stdout.fileno(), time.monotonic() + self._timeout
        while b"\n" not in self._unread:
            if not select.select([handle], [], [], max(0.0, deadline - time.monotonic()))[0]:
                raise DeviceError(f"no answer from the cluster's processes within {self._timeout:g} s{self._said()}")
            chunk = os.read(handle, 65536)
            if not chunk:
                raise DeviceError(f"the process that starts the cluster's servers has ended{self._said()}")
            self._unread += chunk
        line, self._unread = self._unread.split(b"\n", 1)
        answer = json.loads(line)
        if "failed" in answer:
            raise DeviceError(f"a server did not start: {answer['failed']}{self._said()}")
        return answer

    def _said(self) -> str:
        """The end of what the processes wrote to stderr, for messages."""
        size = os.fstat(self._log.fileno()).st_size
        tail = os.pread(self._log.fileno(), 2000, max(0, size - 2000)).decode(errors="replace").strip()
        return f"; it wrote:\n{tail}" if tail else ""


@contextlib.contextmanager
def _reserved() -> Iterator[int]:
    """A port of 127.0.0.1 that nobody else is given; the server shares it."""
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        holder.bind(("127.0.0.1", 0))
        yield holder.getsockname()[1]
