"""The launcher of a local cluster: a process that imports TensorFlow once and forks a server for each request.

`local_cluster` runs this file as a script. Requests are lines of JSON on stdin, answers lines on stdout. When stdin
ends, because the caller is done or because it has died, the servers are killed; when this process dies, too.
"""

import ctypes
import json
import os
import signal
import sys
from typing import Any

_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Answer requests until stdin ends."""
    answers = os.dup(1)
    os.dup2(2, 1)  # what TensorFlow prints is no answer
    tell = lambda **answer: os.write(answers, json.dumps(answer).encode() + b"\n")  # noqa: E731
    import tensorflow.compat.v1 as tf
    from _loopback import bind_to_loopback

    bind_to_loopback("tensorflow")
    tell(ready=os.getpid())
    servers: set[int] = set()
    try:
        for line in sys.stdin:
            request = json.loads(line)
            if "start" in request:
                servers.add(_fork(tf, request["start"], tell))
            elif "kill" in request:
                _end([request["kill"]] if request["kill"] in servers else [])
                servers.discard(request["kill"])
                tell(killed=request["kill"])
            else:
                servers = {pid for pid in servers if not os.waitpid(pid, os.WNOHANG)[0]}
                tell(running=sorted(servers))
    finally:
        _end(servers)
        os._exit(0)  # nothing to tidy up, which takes TensorFlow seconds


def _end(servers: Any) -> None:
    """Kill children and take their exit status; until that is taken, their ids belong to nobody else."""
    for pid in servers:
        os.kill(pid, signal.SIGKILL)
    for pid in servers:
        os.waitpid(pid, 0)


def _fork(tf: Any, wanted: dict, tell: Any) -> int:
    pid = os.fork()
    if pid:
        return pid
    try:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        os.close(0)
        _serve(tf, wanted, tell)
    except BaseException as error:
        tell(failed=f"{type(error).__name__}: {error}")
    finally:
        os._exit(1)


def _serve(tf: Any, wanted: dict, tell: Any) -> None:
    from _loopback import listening_elsewhere

    threads = wanted["threads"] or 0
    config = tf.ConfigProto(
        device_count={"GPU": 0}, intra_op_parallelism_threads=threads, inter_op_parallelism_threads=threads
    )
    spec = tf.train.ClusterSpec(wanted["cluster"])
    server = tf.distribute.Server(spec, job_name=wanted["job"], task_index=wanted["task"], config=config)
    elsewhere = listening_elsewhere()
    if elsewhere:
        raise OSError(f"the server listens on more than loopback: {', '.join(elsewhere)}")
    tell(started=os.getpid())
    server.join()


if __name__ == "__main__":
    main()
