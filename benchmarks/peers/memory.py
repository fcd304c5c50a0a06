"""Peak memory and time of a Jacobian of 10,000 x 1,000 elements, float32; each candidate in a process of its own."""

import resource
import time

import numpy as np

from . import models

N, M, H = 10_000, 1_000, 256
MIB = 2**20
RUNS = 5


def memory_of(candidate):
    """MiB above what was there before the computation was compiled, at the peak; and the lower quartile of ms."""
    prepare = MEMORY[candidate]
    compile_, close = prepare()
    _forget_peak()
    before = _resident()
    run = compile_()
    taken = []
    for i in range(RUNS):
        begin = time.perf_counter()
        run()
        taken.append(1e3 * (time.perf_counter() - begin))
        if i == 0:
            peak = _peak()
    close()
    result = N * M * 4 / MIB
    return {"above_baseline": (peak - before), "result": result, "ms": float(np.quantile(taken[1:], 0.25))}


def _resident():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * resource.getpagesize() / MIB


def _peak():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024


def _forget_peak():
    """Let the peak begin anew, so that it is not that of the imports."""
    with open("/proc/self/clear_refs", "w") as refs:
        refs.write("5")


def _tensorflow(make):
    def prepare():
        import tensorflow.compat.v1 as tf

        from .rows import _callable

        graph = tf.Graph()
        with graph.as_default():
            w = models.variables(models.weights(models.mlp_shapes(N, M, H)))
            x = tf.Variable(models.point(1, M), use_resource=True) + 0.0
            y = models.tf_mlp(x, w)
            result = make(y, x)
            session = tf.Session()
            session.run(tf.global_variables_initializer())
            session.run(y)
        return (lambda: _callable(session, result)), session.close

    return prepare


def _pfor(y, x):
    from .rows import pfor_jacobian

    return pfor_jacobian(y, x)


def _symgrad(**options):
    def make(y, x):
        import symgrad

        return symgrad.jacobian(y, x, **options)

    return _tensorflow(make)


MEMORY = {
    "symgrad auto": _symgrad(),
    "symgrad rows": _symgrad(mode="rows"),
    "symgrad columns": _symgrad(mode="columns"),
    "symgrad rows, one at a time": _symgrad(mode="rows", block_size=1),
    "pfor": _tensorflow(_pfor),
}
