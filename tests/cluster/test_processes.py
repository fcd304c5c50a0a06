"""The processes of a local cluster end with the block, with an error, and with the process that started them.

A stand-in for TensorFlow, whose server only listens, makes a process start in a moment.
"""

import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest
import tensorflow.compat.v1 as tf

from symgrad.errors import DeviceError
from symgrad.testing import local_cluster

ROOT = pathlib.Path(__file__).parent.parent.parent

STAND_IN = '''
"""A server that listens and does nothing."""
import os, socket, time

class ConfigProto:
    def __init__(self, **options):
        pass

class train:
    ClusterSpec = dict

class Server:
    def __init__(self, spec, *, job_name, task_index, config):
        if os.environ.get("STAND_IN") == "refuses":
            raise RuntimeError("no such device in this machine")
        if os.environ.get("STAND_IN") == "hangs":
            time.sleep(600)
        host, port = spec[job_name][task_index].split(":")
        if os.environ.get("STAND_IN") == "open":
            host = "0.0.0.0"
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        self.socket.bind((host, int(port)))
        self.socket.listen()

    def join(self):
        time.sleep(600)

class distribute:
    Server = Server
'''

# Starts a cluster, prints the ids of its processes and waits; loads the module alone, without TensorFlow.
PARENT = """
import importlib.util, sys, time
spec = importlib.util.spec_from_file_location("symgrad.testing._cluster", "symgrad/testing/_cluster.py")
module = importlib.util.module_from_spec(spec)
sys.modules[spec.name] = module
spec.loader.exec_module(module)
with module.local_cluster(workers=2, ps=1) as cluster:
    tasks = [cluster.pid(*task) for task in (("worker", 0), ("worker", 1), ("ps", 0))]
    print(cluster._launcher._process.pid, *tasks, flush=True)
    time.sleep(600)
"""


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    """The servers' TensorFlow is the stand-in."""
    package = tmp_path / "tensorflow" / "compat"
    package.mkdir(parents=True)
    (tmp_path / "tensorflow" / "__init__.py").touch()
    (package / "__init__.py").touch()
    (package / "v1.py").write_text(STAND_IN)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return monkeypatch


def gone(*pids):
    """Wait until no such process is left, at most five seconds."""
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline and any(os.path.exists(f"/proc/{pid}") for pid in pids):
        time.sleep(0.02)
    return not any(os.path.exists(f"/proc/{pid}") for pid in pids)


def processes(cluster):
    tasks = [(job, task) for job, of_job in cluster.addresses.items() for task in range(len(of_job))]
    return [cluster._launcher._process.pid, *(cluster.pid(*task) for task in tasks)]


def test_nothing_is_left_when_the_block_ends(stand_in):
    with local_cluster(workers=2, ps=1) as cluster:
        pids = processes(cluster)
        assert len(set(pids)) == 4
        assert all(os.path.exists(f"/proc/{pid}") for pid in pids)
        assert cluster.addresses.keys() == {"worker", "ps"}
        assert cluster.devices() == ["/job:worker/task:0", "/job:worker/task:1"]
        assert cluster.target("ps", 0) == f"grpc://{cluster.addresses['ps'][0]}"
    assert gone(*pids)


def test_nothing_is_left_when_the_block_fails(stand_in):
    pids = []

    def fails():
        with local_cluster(workers=1, ps=0) as cluster:
            pids.extend(processes(cluster))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails()
    assert len(pids) == 2
    assert gone(*pids)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_nothing_is_left_when_the_parent_is_stopped(stand_in, how):
    with subprocess.Popen([sys.executable, "-c", PARENT], cwd=ROOT, stdout=subprocess.PIPE, text=True) as parent:
        stand_in.delenv("PYTHONPATH")
        pids = [int(pid) for pid in parent.stdout.readline().split()]
        assert len(pids) == 4
        parent.send_signal(how)
    assert parent.returncode in (1, -how)
    assert gone(*pids)


def test_nothing_is_left_when_the_launcher_is_killed(stand_in):
    with local_cluster(workers=2, ps=0) as cluster:
        pids = processes(cluster)
        os.kill(pids[0], signal.SIGKILL)
        assert gone(*pids[1:])
        with pytest.raises(DeviceError, match="ended"):
            cluster.restart("worker", 0)


def test_a_task_is_killed_and_restarted_at_its_address(stand_in):
    with local_cluster(workers=2, ps=0) as cluster:
        first, other, target = cluster.pid("worker", 0), cluster.pid("worker", 1), cluster.target("worker", 0)
        cluster.kill("worker", 0)
        assert gone(first)
        assert not cluster.is_running("worker", 0)
        assert cluster.is_running("worker", 1)
        cluster.restart("worker", 0)
        assert cluster.pid("worker", 0) != first
        assert cluster.is_running("worker", 0)
        assert (cluster.pid("worker", 1), cluster.target("worker", 0)) == (other, target)
        os.kill(other, signal.SIGKILL)  # by hand
        while cluster.is_running("worker", 1):
            time.sleep(0.02)
        cluster.kill("worker", 1)  # nothing to do


def children():
    """The ids of the processes that this one has started."""
    tasks = pathlib.Path("/proc/self/task").iterdir()
    return {pid for task in tasks for pid in (task / "children").read_text().split()}


@pytest.mark.parametrize(
    ("manner", "says"),
    [("refuses", "no such device in this machine"), ("hangs", "within 1 s"), ("open", "listens on more than loopback")],
)
def test_a_server_that_does_not_start(stand_in, manner, says):
    stand_in.setenv("STAND_IN", manner)
    before = children()
    with pytest.raises(DeviceError, match=says), local_cluster(workers=1, ps=0, timeout=1):
        pass
    assert children() <= before


def test_a_launcher_that_does_not_start(stand_in):
    stand_in.setattr(sys, "executable", "/bin/false")
    with pytest.raises(DeviceError, match="has ended"), local_cluster():
        pass


def test_no_task_at_all():
    with pytest.raises(ValueError, match="at least one task"), local_cluster(workers=0, ps=0):
        pass


def listening(pids):
    """The local addresses of the listening sockets of processes, as /proc/net/tcp writes them, without the port."""
    sockets = set()
    for pid in pids:
        for handle in pathlib.Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(FileNotFoundError):  # closed meanwhile
                sockets.add(os.readlink(handle))
    tables = [pathlib.Path(f"/proc/net/{name}").read_text().splitlines()[1:] for name in ("tcp", "tcp6")]
    rows = [line.split() for table in tables for line in table]
    return [row[1].split(":")[0] for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in sockets]


def test_real_servers_listen_on_loopback_alone(cluster):
    found = listening(processes(cluster))
    assert len(found) == 3
    assert set(found) == {"0000000000000000FFFF00000100007F"}  # ::ffff:127.0.0.1
    with tf.Graph().as_default(), tf.Session(cluster.target()) as session:
        tasks = {device.name.split("/device:")[0] for device in session.list_devices()}
        assert tasks == {
            f"/job:{name}" for name in ("worker/replica:0/task:0", "worker/replica:0/task:1", "ps/replica:0/task:0")
        }
        assert session.run(tf.constant(2.0) * 3.0) == 6.0
    assert not {"00000000", "00000000000000000000000000000000"} & set(listening([os.getpid()]))
