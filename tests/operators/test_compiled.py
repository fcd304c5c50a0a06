"""Compiled tensors equal plain ones, also differentiated; what may differ stays outside."""

import concurrent.futures
import subprocess
import sys

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from worlds import control_flow

import symgrad
from symgrad._compiled import _bounds, _plan
from symgrad.errors import CompileError, GraphMismatchError

pytestmark = pytest.mark.core

# Sums of a few numbers of size 1 in float64; XLA orders and fuses them otherwise.
TOLERANCE = {"rtol": 1e-12, "atol": 1e-12}
RNG = np.random.default_rng(0)


def calls(graph):
    return [op for op in graph.get_operations() if op.type in ("PartitionedCall", "XlaLaunch")]


@pytest.fixture
def graph():
    with tf.Graph().as_default() as made:
        yield made


def loop(x, turns, v2):
    with control_flow(v2=v2):
        return tf.while_loop(lambda i, h: i < turns, lambda i, h: (i + 1, tf.tanh(h * 1.5)), (0, x))[1]


def test_values_and_derivatives_at_two_batch_sizes(graph):
    x = tf.placeholder(tf.float64, [None, 3])
    w = tf.Variable(RNG.normal(size=(3, 2)), use_resource=True)
    y = tf.tanh(x @ w.read_value()) ** 2
    plain = [y, *tf.gradients(y, [x, w]), symgrad.hvp(tf.reduce_sum(y), x, tf.ones_like(x))]
    fast = symgrad.compiled(plain)
    once = symgrad.compiled(y, x)
    of_fast = [*tf.gradients(once, [x, w]), symgrad.hvp(tf.reduce_sum(once), x, tf.ones_like(x))]
    pushed = [symgrad.Rop(t, x, tf.ones_like(x)) for t in (y, once)]
    assert len(calls(graph)) >= 2
    with tf.Session() as session:
        session.run(w.initializer)
        for size in (1, 4):
            want, got, again, along = session.run((plain, fast, of_fast, pushed), {x: RNG.normal(size=(size, 3))})
            for a, b in zip(want, got, strict=True):
                np.testing.assert_allclose(b, a, **TOLERANCE)
            for a, b in zip(want[1:], again, strict=True):
                np.testing.assert_allclose(b, a, **TOLERANCE)
            np.testing.assert_allclose(along[1], along[0], **TOLERANCE)


def _nested(x):
    def inner(h):
        return tf.while_loop(lambda j, k: j < 2, lambda j, k: (j + 1, tf.sin(k) * h), (0, h))[1]

    return tf.while_loop(lambda i, h: i < 3, lambda i, h: (i + 1, inner(h)), (0, x))[1]


def _branching(x):
    return tf.while_loop(lambda i, h: i < 3, lambda i, h: (i + 1, _branch(h)), (0, x))[1]


def _branch(x):
    return tf.cond(x[0, 0] > 0.2, lambda: tf.sin(x), lambda: x * x)


def _recurrent(x):
    return tf.while_loop(lambda i, h: i < 4, lambda i, h: (i + 1, tf.tanh(h @ WEIGHTS + x)), (0, x))[1]


def _once_a_row(x):
    """As often as there are rows, which only the shapes of a run tell."""
    return tf.while_loop(lambda i, h: i < tf.shape(x)[0], lambda i, h: (i + 1, tf.tanh(1.5 * h)), (0, x))[1]


def _counted_down(x):
    """With no bound that the loop itself tells."""
    return tf.while_loop(lambda i, h: i > 0, lambda i, h: (i - 1, tf.tanh(1.5 * h)), (3, x))[1]


WEIGHTS = RNG.normal(size=(3, 3))
BODIES = {
    "recurrent": _recurrent,
    "nested": _nested,
    "branch": _branch,
    "branch in a loop": _branching,
    "once a row": _once_a_row,
    "counted down": _counted_down,
    "map_fn": lambda x: tf.map_fn(lambda row: tf.sin(row) * tf.reduce_sum(row), x),
    "scan": lambda x: tf.scan(lambda a, row: tf.sin(row) * a + row, x),
}


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("v2", [False, True], ids=["V1", "V2"])
def test_loops_and_branches_forward_and_in_reverse(graph, v2, body):
    x = tf.placeholder(tf.float64, [None, 3])
    with control_flow(v2=v2):
        y = BODIES[body](x)
    ones = tf.ones_like(x)
    plain = [y, symgrad.Lop(y, x, ones), symgrad.Rop(y, x, ones), symgrad.hvp(tf.reduce_sum(y), x, ones)]
    plain = [2.0 * t for t in plain]
    fast = [symgrad.compiled(t) for t in plain]
    with tf.Session() as session:
        for size in (1, 4):
            want, got = session.run((plain, fast), {x: RNG.normal(size=(size, 3))})
            for a, b in zip(want, got, strict=True):
                np.testing.assert_allclose(b, a, **TOLERANCE)


@pytest.mark.parametrize("v2", [False, True], ids=["V1", "V2"])
def test_derivatives_of_what_is_compiled(graph, v2):
    x = tf.placeholder(tf.float64, [2, 3])
    w = tf.Variable(WEIGHTS, use_resource=True)
    with control_flow(v2=v2):
        read = w.read_value()
        inner = tf.sin(x)
        y = tf.while_loop(lambda i, h: i < 3, lambda i, h: (i + 1, tf.tanh(h @ read + inner)), (0, inner))[1]
    loss = tf.reduce_sum(y * y)
    fast, from_inner = symgrad.compiled(loss), symgrad.compiled(loss, inner)
    v = np.ones_like(WEIGHTS)
    derivatives = [
        lambda loss, x: symgrad.Lop(loss, [x, w], 1.0),
        lambda loss, x: [symgrad.Rop(loss, [x, w], [np.ones((2, 3)), v])],
        lambda loss, x: symgrad.hvp(loss, [x, w], [np.ones((2, 3)), v]),
    ]
    of_two = [
        lambda loss, xs: symgrad.Lop(loss, xs, 1.0),
        lambda loss, xs: symgrad.Rop(loss, xs, [np.ones((2, 3))] * 2),
    ]
    plain = [f(loss, x) for f in derivatives]
    of_fast = [f(fast, x) for f in derivatives]
    both = [[f(loss, [x, inner]) for f in of_two], [f(symgrad.compiled(loss, [x, inner]), [x, inner]) for f in of_two]]
    inside = [f(loss, inner) for f in derivatives], [f(from_inner, inner) for f in derivatives]
    with pytest.raises(GraphMismatchError, match="inputs="):
        symgrad.Lop(fast, inner, 1.0, disconnected="zero")
    with tf.Session() as session:
        session.run(w.initializer)
        for wanted, got in ((plain, of_fast), inside, both):
            want, found = session.run((wanted, got), {x: RNG.normal(size=(2, 3))})
            for a, b in zip(tf.nest.flatten(want), tf.nest.flatten(found), strict=True):
                np.testing.assert_allclose(b, a, **TOLERANCE)


@pytest.mark.parametrize("v2", [False, True], ids=["V1", "V2"])
def test_as_often_as_is_fed(graph, v2):
    """Forward the loop is compiled; in reverse it stays, as how much it keeps is not known."""
    x, turns = tf.placeholder(tf.float64, [None]), tf.placeholder(tf.int32, [])
    y = loop(tf.sin(x), turns, v2)
    plain = [tf.exp(y), symgrad.Rop(y, x, tf.ones_like(x)) * 2.0, tf.gradients(y, x)[0] * 2.0]
    fast = symgrad.compiled(plain)
    with pytest.raises(CompileError, match="how many there are"):
        symgrad.compiled(plain[2], strict=True)
    pushed = symgrad.compiled(plain[1], strict=True)
    with tf.Session() as session:
        for n, size in ((0, 2), (3, 2), (3, 5)):
            want, got, alone = session.run((plain, fast, pushed), {x: RNG.normal(size=size), turns: n})
            for a, b in zip([*want, want[1]], [*got, alone], strict=True):
                np.testing.assert_allclose(b, a, **TOLERANCE)


def test_dropout_keeps_its_mask_and_py_func_its_derivative(graph):
    x = tf.placeholder(tf.float64, [50])
    dropped = tf.nn.dropout(tf.sin(x), rate=0.5)
    fast = symgrad.compiled(tf.exp(dropped))
    inner = tf.cos(x)
    # The road through the gather stays whole: inner is needed inside and by an op outside.
    mixed = tf.exp(inner) * tf.py_func(np.sign, [inner], tf.float64) * tf.reduce_max(inner)
    both = [mixed, tf.identity(symgrad.compiled(mixed))]
    slopes = [tf.gradients(t, inner)[0] for t in both]
    with tf.Session() as session:
        feed = {x: RNG.normal(size=50)}
        want, got = session.run((tf.exp(dropped), fast), feed)
        np.testing.assert_allclose(got, want, **TOLERANCE)
        values, gradients = session.run((both, slopes), feed)
        np.testing.assert_allclose(values[1], values[0], **TOLERANCE)
        np.testing.assert_allclose(gradients[1], gradients[0], **TOLERANCE)


def test_checks_still_stop_a_run(graph):
    x = tf.placeholder(tf.float64, [2])
    with tf.control_dependencies([tf.debugging.assert_positive(x, message="not positive")]):
        y = tf.exp(tf.sin(x))
    with tf.Session() as session:
        fast = symgrad.compiled(tf.cos(y))
        np.testing.assert_allclose(session.run(fast, {x: [1.0, 2.0]}), np.cos(np.exp(np.sin([1.0, 2.0]))), **TOLERANCE)
        with pytest.raises(tf.errors.InvalidArgumentError, match="not positive"):
            session.run(fast, {x: [1.0, -2.0]})


def test_xla_runs(graph):
    """A shape that a loop computes is one of the few things that XLA cannot compile and a session can run."""
    x, n = tf.placeholder(tf.float64, [4]), tf.placeholder(tf.int32, [])
    with control_flow(v2=True):
        size = tf.while_loop(lambda i: i * i < n, lambda i: i + 1, (0,))
    y = tf.reshape(x * 2.0, [size, -1])
    fast = symgrad.compiled(y)
    with tf.Session() as session:
        assert session.run(y, {x: np.ones(4), n: 3}).shape == (2, 2)
        with pytest.raises(tf.errors.InvalidArgumentError, match="compile-time constant"):
            session.run(fast, {x: np.ones(4), n: 3})


def _grown(x):
    with control_flow(v2=True):
        return tf.TensorArray(x.dtype, 1, dynamic_size=True).write(2, x).stack()


DIFFERENT = {
    "an inverse, of whose singularity nothing is said": (tf.linalg.inv, "MatrixInverse.*differently"),
    "a gradient without its conjugate": (
        lambda x: _complex_slope(tf.math.reciprocal, x),
        "ReciprocalGrad.*differently",
    ),
    "0 times the slope of a square root at 0": (lambda x: tf.gradients(tf.sqrt(x), x)[0], "SqrtGrad.*differently"),
    "an array that grows": (_grown, "grows"),
    "other random numbers": (lambda x: x * tf.random_uniform([], dtype=x.dtype), "other numbers"),
    "other random numbers of a seed": (
        lambda x: loop(x, 2, v2=False) * tf.random.stateless_uniform(tf.shape(x), [1, 2], dtype=x.dtype),
        "other numbers",
    ),
    "another one of equal elements": (lambda x: tf.nn.top_k(x, 1).values, "TopK.*differently"),
    "a colour out of range": (
        lambda x: tf.cast(tf.image.adjust_hue(tf.cast(tf.stack([x, x, -x], -1), tf.float32), 0.3), x.dtype),
        "AdjustHue.*differently",
    ),
    "a check that is dropped": (lambda x: tf.debugging.check_numerics(x, "m"), "CheckNumerics.*differently"),
    "what ends the process where a dimension is 0": (
        lambda x: tf.signal.irfft(tf.complex(x, x), [2]),
        "IRFFT.*process",
    ),
    "no kernel": (lambda x: tf.math.segment_sum(x, [0, 1]), "no kernel"),
}


def _complex_slope(function, x):
    z = tf.complex(x, x)
    return tf.math.real(tf.gradients(function(z), z, z)[0])


@pytest.mark.parametrize("kind", DIFFERENT)
def test_what_differs_stays_outside(graph, kind):
    function, reason = DIFFERENT[kind]
    x = tf.placeholder(tf.float64, [2, 2])
    y = tf.exp(function(x)) * 2.0
    before = len(graph.get_operations())
    with pytest.raises(CompileError, match=reason):
        symgrad.compiled(y, strict=True)
    assert len(graph.get_operations()) == before
    fast = symgrad.compiled(y)
    with tf.Session() as session:
        want, got = session.run((y, fast), {x: [[2.0, 0.5], [0.1, 1.0]]})
        np.testing.assert_allclose(got, want, **TOLERANCE)


@pytest.mark.parametrize("v2", [False, True], ids=["V1", "V2"])
def test_a_bound_that_is_too_small_would_be_seen(graph, monkeypatch, v2):
    """XLA drops what does not fit onto a stack: the bound is what these tests have to hold."""
    x = tf.placeholder(tf.float64, [2])
    slope = tf.gradients(loop(x, 4, v2), x)[0]
    fast = symgrad.compiled(slope)
    monkeypatch.setattr(
        _plan, "bound", lambda op, inside: (2,) if op.type in _bounds.LIMITED else _bounds.bound(op, inside)
    )
    wrong = symgrad.compiled(slope)
    with tf.Session() as session:
        want, got, lost = session.run((slope, fast, wrong), {x: [0.5, -1.0]})
    np.testing.assert_allclose(got, want, **TOLERANCE)
    assert np.max(np.abs(lost - want)) > 1e-3


def test_refusals_leave_the_graph_alone(graph):
    x = tf.placeholder(tf.float64, [2], name="x")
    y = tf.py_func(np.sin, [x], tf.float64)
    before = len(graph.get_operations())
    with pytest.raises(CompileError, match="nothing is left"):
        symgrad.compiled(y)
    with pytest.raises(CompileError, match="PyFunc"):
        symgrad.compiled(y, strict=True)
    graph.finalize()
    with pytest.raises(GraphMismatchError, match="finalized"):
        symgrad.compiled(y)
    assert len(graph.get_operations()) == before


def test_why_not_compiled_names_ops_and_lines(graph):
    x = tf.placeholder(tf.float64, [2], name="x")
    y = tf.exp(tf.py_func(np.sin, [tf.cos(x)], tf.float64, name="python"))
    (finding,) = symgrad.diagnose.why_not_compiled(y)
    assert (finding.op, finding.op_type, finding.cause.name) == ("python", "PyFunc", "STATE")
    assert "test_compiled.py" in str(finding)
    assert symgrad.diagnose.why_not_compiled(tf.exp(x)) == []


def test_several_threads(graph):
    x = tf.placeholder(tf.float64, [3])
    with control_flow(v2=False):
        y = loop(x, 5, v2=False)
    fast = symgrad.compiled(symgrad.Lop(y, x, np.ones(3)))
    points = RNG.normal(size=(8, 3))
    with tf.Session() as session, concurrent.futures.ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda point: session.run(fast, {x: point}), points))
        for point, got in zip(points, found, strict=True):
            slope = session.run(tf.ones(3, tf.float64)) * _slope_of_loop(point)
            np.testing.assert_allclose(got, slope, **TOLERANCE)


def _slope_of_loop(h):
    slope = np.ones_like(h)
    for _ in range(5):
        h = np.tanh(1.5 * h)
        slope *= 1.5 * (1 - h * h)
    return slope


NEW_PROCESS = """
import sys
import tensorflow.compat.v1 as tf
tf.disable_v2_behavior()
with tf.Graph().as_default() as graph, tf.Session() as session:
    tf.train.import_meta_graph(sys.argv[1])
    x, fast = graph.get_tensor_by_name("x:0"), graph.get_collection("fast")[0]
    print(*session.run(fast, {x: [0.3, -0.7]}))
    try:
        tf.gradients(fast, x)
    except LookupError as error:
        print("LookupError")
"""


def test_a_meta_graph_in_a_new_process_runs_and_has_no_derivative(graph, tmp_path):
    x = tf.placeholder(tf.float64, [2], name="x")
    fast = symgrad.compiled(symgrad.Lop(loop(x, 5, v2=False), x, np.ones(2)))
    tf.add_to_collection("fast", fast)
    tf.train.export_meta_graph(str(tmp_path / "graph.meta"))
    argv = [sys.executable, "-c", NEW_PROCESS, str(tmp_path / "graph.meta")]
    values, derivative = subprocess.run(argv, capture_output=True, text=True, check=True).stdout.splitlines()[-2:]
    np.testing.assert_allclose(np.float64(values.split()), _slope_of_loop(np.array([0.3, -0.7])), **TOLERANCE)
    assert derivative == "LookupError"


def test_bare_graphs_and_a_branch_with_what_stays(graph):
    """Of a GraphDef nobody knows the loops and branches but by their ops; a dead tensor must not go in."""
    x = tf.placeholder(tf.float64, [2], name="x")
    with control_flow(v2=False):
        branch = tf.cond(x[0] > 0, lambda: tf.py_func(np.sin, [x], tf.float64), lambda: x * x)
        y = tf.identity(tf.exp(branch) + loop(tf.sin(x), 3, v2=False), name="y")
    with tf.Graph().as_default() as bare, tf.Session() as session:
        (given,) = tf.import_graph_def(graph.as_graph_def(), return_elements=["y:0"], name="")
        fast = symgrad.compiled(given)
        for value in ([1.0, 2.0], [-1.0, 2.0]):
            want, got = session.run((given, fast), {bare.get_tensor_by_name("x:0"): value})
            np.testing.assert_allclose(got, want, **TOLERANCE)
    assert y.graph is graph


def test_reference_variables_are_read_anew(graph):
    w = tf.get_variable("w", initializer=tf.constant([0.5, 2.0], tf.float64), use_resource=False)
    y = tf.tanh(w * w)
    fast = symgrad.compiled([y, symgrad.Lop(y, w, np.ones(2))])
    with tf.Session() as session:
        session.run(w.initializer)
        for _ in range(2):
            value, slope = session.run(fast)
            now = session.run(w)
            np.testing.assert_allclose(value, np.tanh(now**2), **TOLERANCE)
            np.testing.assert_allclose(slope, 2 * now * (1 - np.tanh(now**2) ** 2), **TOLERANCE)
            session.run(tf.assign(w, [0.1, -1.0]))


# At these numbers XLA computes many op types otherwise; not so those that loops and attention layers are made of.
SPECIAL = [np.nan, 0.0, np.inf, -np.inf, -0.0, 1.0, -1.0, 1e30, -1e30, 0.5, 1e-40, 3.0]
UNARY = (tf.sin, tf.math.expm1, tf.tanh, tf.exp, tf.log1p, tf.sigmoid, tf.sqrt, tf.math.rsqrt, tf.square,
         tf.nn.softmax, tf.nn.softplus, tf.abs, tf.sign, tf.floor, tf.reduce_sum, tf.reduce_prod)  # fmt: skip
BINARY = (tf.add, tf.multiply, tf.divide, tf.pow, tf.atan2, tf.math.floormod, tf.math.squared_difference, tf.math.xdivy)


def test_what_goes_in_is_the_same_at_special_numbers_too(graph):
    """One program for all, with fed xs: of constants an optimiser would fold both roads."""
    a, b = (tf.placeholder(tf.float64, [len(SPECIAL)], name=name) for name in "ab")
    ys = [f(a) for f in UNARY] + [f(a, b) for f in BINARY]
    slopes = [tf.gradients(y, x)[0] for y in ys for x in (a, b)]
    plain = [*ys, *(g for g in slopes if g is not None)]
    fast = symgrad.compiled(plain)
    assert sum(new is not old for new, old in zip(fast, plain, strict=True)) > len(plain) // 2
    with tf.Session() as session, np.errstate(all="ignore"):
        for shift in range(0, len(SPECIAL), 5):
            want, got = session.run((plain, fast), {a: SPECIAL, b: np.roll(SPECIAL, shift)})
            for old, x, y in zip(plain, want, got, strict=True):
                np.testing.assert_allclose(y, x, rtol=1e-12, atol=1e-12, err_msg=old.name)
