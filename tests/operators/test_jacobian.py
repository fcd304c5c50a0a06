"""Jacobians: every mode and block size equal to central differences, in graphs that differ."""

import collections
import contextlib
import logging
import time

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from cases import CASES, v1_control_flow
from loops import LOOPS

import symgrad
from symgrad.errors import ControlFlowError, DisconnectedError, DtypeError, ShapeError
from symgrad.testing import numeric_jacobian

# Central differences of step 6e-6 leave some 1e-10 of smooth functions of size one; the cases go up to a hundred.
TOLERANCE = 1e-6
# Different orders of the same float64 sums.
ROUNDING = 1e-12

SETTINGS = [(mode, size) for mode in ("rows", "columns") for size in (1, 2, None)]

# Of the elementwise and linear-algebra cases a few: to the vectoriser they are all alike.
CHOSEN = [
    "where", "several_ys_and_xs", "x_upstream_of_x", "x_is_y", "norms", "cumulative", "gather_axis_1_and_nd",
    "top_k_and_sort", "conv2d", "conv2d_transpose_and_depthwise", "max_and_average_pool", "batch_norm_in_training",
    "unknown_shapes", "unknown_rank", "zero_size", "resource_and_reference_variables", "embedding_of_a_variable",
    "complex_fft", "real_of_complex", "cond_v1", "cond_v2", "function_call", "switch_case",
]  # fmt: skip


# Of the loops those whose V2 form has lists, branches, loops inside, or unknown shapes.
BY_V2 = ["array_read_twice", "cond_in_loop", "dynamic_rnn_with_lengths", "growing_shape", "loop_in_cond_in_loop",
         "zero_trips"]  # fmt: skip


def close(got, want, tolerance=TOLERANCE):
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance * max(1, np.max(np.abs(want), initial=0)))


@pytest.mark.parametrize("case", [c for c in CASES if c.name in CHOSEN], ids=lambda c: c.name)
def test_every_setting_equals_central_differences(case, session):
    ys, xs = case(np.random.default_rng(0))
    session.run(tf.global_variables_initializer())
    want = tf.nest.flatten(numeric_jacobian(ys, xs, session=session))
    # Rows one at a time are compared in the test below, and for every case by its Hessian.
    settings = [("rows", 2), ("rows", None), ("columns", 1), ("columns", 2)]
    built = {s: symgrad.jacobian(ys, xs, mode=s[0], block_size=s[1], disconnected="zero") for s in settings}
    for setting, got in session.run({s: tf.nest.flatten(j) for s, j in built.items()}).items():
        for g, w in zip(got, want, strict=True):
            assert g.shape == w.shape, setting
            close(g, w)


@pytest.mark.core
def test_every_setting_gives_the_same_numbers_by_another_graph(session, network):
    y, x = network
    graph = tf.get_default_graph()
    found, added = {}, {}
    for mode in ("rows", "columns", "auto"):
        for size in (1, 2, 3, 4, 7, 100, None):
            before = len(graph.get_operations())
            found[mode, size] = symgrad.jacobian(y, x, mode=mode, block_size=size)
            added[mode, size] = collections.Counter(op.type for op in graph.get_operations()[before:])
    values = session.run(found)
    for value in values.values():
        close(value, values["rows", 1], ROUNDING)
    loops = {setting: types["While"] + types["StatelessWhile"] for setting, types in added.items()}
    assert loops["rows", 1] == loops["rows", 2] == loops["rows", 4] == loops["columns", 1] == loops["columns", 3] == 1
    assert loops["rows", 7] == loops["rows", None] == loops["columns", 4] == loops["columns", None] == 0
    assert added["rows", None] != added["columns", None]
    assert added["auto", None] == added["columns", None]  # 4 columns, 7 rows


def test_a_small_budget_makes_blocks_that_are_written_in_place(session, network):
    y, x = network
    whole = symgrad.jacobian(y, x, mode="rows")
    before = len(tf.get_default_graph().get_operations())
    with symgrad.operators.limits(block_bytes=200):
        blocks = symgrad.jacobian(y, x, mode="rows")
        odd = symgrad.jacobian(y, x, mode="columns", block_size=3)  # the last block overlaps the first
    types = {op.type for op in tf.get_default_graph().get_operations()[before:]}
    assert types & {"While", "StatelessWhile"}
    assert "Empty" in types
    a, b, c = session.run([whole, blocks, odd])
    close(b, a, ROUNDING)
    close(c, a, ROUNDING)


def test_a_jacobian_in_a_loop_can_be_differentiated(session, rng):
    x = tf.constant(rng.standard_normal(3))
    norm = tf.reduce_sum(symgrad.jacobian(x**2, x, block_size=1) ** 2)  # sum of (2 x)^2
    close(session.run(symgrad.Lop(norm, x, 1.0)), session.run(8 * x), ROUNDING)


def test_through_a_loop(session):
    ys, xs = next(c for c in CASES if c.name == "while_loop_v2")(np.random.default_rng(0))
    want = numeric_jacobian(ys, xs, session=session)
    for mode, size in (("rows", 1), ("rows", None), ("columns", 1), ("columns", 2)):
        close(session.run(symgrad.jacobian(ys, xs, mode=mode, block_size=size)), want)


def loop(rng):
    x = tf.constant(rng.standard_normal((4, 3)))
    w = tf.get_variable("w", initializer=rng.standard_normal((5, 2)), use_resource=True)
    inputs = tf.TensorArray(tf.float64, 4).unstack(x)

    def body(t, h):
        return t + 1, tf.tanh(tf.concat([h, inputs.read(t)[tf.newaxis]], 1) @ w)

    return tf.while_loop(lambda t, h: t < 4, body, [0, tf.zeros([1, 2], tf.float64)])[1], [x, w]


def nested_loops(rng):
    x = tf.constant(rng.standard_normal(3))

    def inner(v):
        return tf.while_loop(lambda j, w: j < 2, lambda j, w: (j + 1, tf.sin(w) * x), [0, v])[1]

    return tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, inner(v)), [0, x])[1], x


def branch_in_a_loop(rng):
    x = tf.constant(rng.standard_normal(3))

    def body(i, v):
        return i + 1, tf.cond(i < 1, lambda: tf.sin(v) * x, lambda: v * x)

    return tf.while_loop(lambda i, v: i < 3, body, [0, x])[1], x


@pytest.mark.core
@pytest.mark.parametrize(
    ("build", "mode", "size"),
    [
        (loop, "rows", None), (loop, "rows", 1), (loop, "auto", 2), (loop, "columns", 1), (nested_loops, "rows", None),
        (nested_loops, "auto", None), (branch_in_a_loop, "rows", None), (branch_in_a_loop, "auto", None),
    ],
)  # fmt: skip
def test_through_v1_loops(session, rng, build, mode, size, caplog):
    with v1_control_flow():
        ys, xs = build(rng)
    session.run(tf.global_variables_initializer())
    want = tf.nest.flatten(numeric_jacobian(ys, xs, session=session))
    with caplog.at_level(logging.INFO, logger="symgrad"):
        got = session.run(tf.nest.flatten(symgrad.jacobian(ys, xs, mode=mode, block_size=size)))
    for g, w in zip(got, want, strict=True):
        close(g, w)
    assert len(caplog.records) == (build in (branch_in_a_loop, nested_loops) and mode == "rows")


# Loops whose copies would be wrong if arrays, stacks, what waits for them, or what lives in a branch were shared.
COPIED = ["array_read_twice", "cond_and_case", "cond_in_loop", "dynamic_rnn_with_lengths", "growing_shape",
          "loop_in_branch_not_taken", "loop_in_cond", "nested", "nested_cond_in_loop", "split_array"]  # fmt: skip


@pytest.mark.core
@pytest.mark.parametrize("row", [r for r in LOOPS if r.name in COPIED], ids=lambda row: row.name)
def test_many_blocks_through_v1_loops_are_copies_of_one(row, monkeypatch):
    monkeypatch.setattr("symgrad._jacobians._through_frames._FEW", 0)
    with row.build().as_default() as graph, tf.Session() as session:
        x, y = graph.get_tensor_by_name("x:0"), graph.get_tensor_by_name("y:0")
        want = numeric_jacobian(y, x, session=session, feed_dict={x: row.point})
        built = [symgrad.jacobian(y, x, mode=mode, block_size=size) for mode, size in (("rows", 2), ("columns", 1))]
        assert any("While" in op.type for op in graph.get_operations())
        for got in session.run(built, {x: row.point}):
            close(got, want)


@pytest.mark.parametrize("row", [r for r in LOOPS if r.name in COPIED], ids=lambda row: row.name)
def test_many_columns_of_the_gradient_of_v1_loops_are_copies_of_one(row, monkeypatch):
    monkeypatch.setattr("symgrad._jacobians._through_frames._FEW", 0)
    with row.build().as_default() as graph, tf.Session() as session:
        x, y = graph.get_tensor_by_name("x:0"), graph.get_tensor_by_name("y:0")
        scalar = tf.reduce_sum(y**2)
        gradient = symgrad.Lop(scalar, x, 1.0)
        want = numeric_jacobian(gradient, x, session=session, feed_dict={x: row.point})
        close(session.run(symgrad.hessian(scalar, x), {x: row.point}), want)


def test_a_small_budget_makes_blocks_through_v1_loops(session):
    x = tf.constant([0.7, 1.1, 0.9], tf.float64)
    with v1_control_flow():
        y = tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, tf.sin(v) * x), [0, x])[1]
    y = tf.concat([y, y**2, y**3, y**4], 0)
    for mode in ("rows", "columns"):
        whole = symgrad.jacobian(y, x, mode=mode)
        before = len(tf.get_default_graph().get_operations())
        with symgrad.operators.limits(block_bytes=600):
            blocks = symgrad.jacobian(y, x, mode=mode)
        new = tf.get_default_graph().get_operations()[before:]
        assert any("While" in op.type for op in new) == (mode == "rows")  # three columns are few
        close(*session.run([blocks, whole]), ROUNDING)


def chain(v, x):
    return tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, tf.cumsum(v) * x), [0, v])[1]


@pytest.mark.parametrize("v2", [False, True])
def test_several_results_of_one_loop_share_the_backward_loop(session, rng, v2):
    x = tf.constant(rng.uniform(0.5, 1, 3))
    with contextlib.nullcontext() if v2 else v1_control_flow():
        a, b = tf.while_loop(
            lambda i, v, w: i < 4, lambda i, v, w: (i + 1, tf.sin(w) * x, v + w), [0, x, x**2], name="both"
        )[1:]
    ys = {"a": a * 2.0, "b": tf.reduce_sum(b), "c": tf.stack([a, b])}
    graph = tf.get_default_graph()

    def loops(build):
        before = len(graph.get_operations())
        found = build()
        return found, sum(op.type in ("LoopCond", "While", "StatelessWhile") for op in graph.get_operations()[before:])

    together, few = loops(lambda: symgrad.jacobian(ys, x, mode="rows"))
    apart, many = loops(lambda: {k: symgrad.jacobian(y, x, mode="rows") for k, y in ys.items()})
    assert few < many / 2
    found, same = session.run([together, apart])
    for k, y in ys.items():
        close(found[k], numeric_jacobian(y, x, session=session))
        close(found[k], same[k], ROUNDING)


def test_many_rows_one_at_a_time_through_a_v1_loop(session, rng):
    x = tf.constant(rng.uniform(0.5, 1, 100))
    with v1_control_flow():
        y = chain(tf.identity(x), x)
    by_columns = symgrad.jacobian(y, x, mode="columns")
    before = len(tf.get_default_graph().get_operations())
    for size in (1, 7):
        close(*session.run([symgrad.jacobian(y, x, mode="rows", block_size=size), by_columns]), ROUNDING)
    assert len(tf.get_default_graph().get_operations()) - before < 600


def test_many_rows_of_an_unknown_number_through_a_v1_loop(session, rng):
    x = tf.placeholder(tf.float64, [None])
    with v1_control_flow():
        y = chain(tf.identity(x), x)
    value = rng.uniform(0.5, 1, 11)
    want = numeric_jacobian(y, x, session=session, feed_dict={x: value})
    for mode, size in (("rows", 1), ("rows", 4), ("rows", None), ("columns", 4), ("columns", None)):
        close(session.run(symgrad.jacobian(y, x, mode=mode, block_size=size), {x: value}), want)


def test_random_numbers_in_a_v1_loop_are_drawn_once_or_the_jacobian_is_refused(session, caplog):
    x = tf.constant([1.0, 2.0, 3.0] * 4, tf.float64)
    with v1_control_flow():
        y = tf.while_loop(
            lambda i, v: i < 3, lambda i, v: (i + 1, v * tf.random.uniform([12], 0.5, 1.0, tf.float64)), [0, x]
        )[1]
    for size in (None, 5, 1):
        found, value, at = session.run([symgrad.jacobian(y, x, mode="rows", block_size=size), y, x])
        close(found, np.diag(value / at), ROUNDING)
    many = tf.concat([y] * 6, 0)
    with pytest.raises(ControlFlowError, match="RandomUniform"):
        symgrad.jacobian(many, x, mode="rows", block_size=1)


@pytest.mark.parametrize("mode", ["rows", "columns"])
def test_copies_of_a_branch_that_goes_on_behind_a_loop_or_branch_and_is_not_taken(session, monkeypatch, mode):
    monkeypatch.setattr("symgrad._jacobians._through_frames._FEW", 0)
    x, taken = tf.constant([0.3, 0.7, 0.9], tf.float64), tf.placeholder(tf.bool, [])

    def branch():
        behind_loop = tf.sin(chain(x, x))
        behind_branch = tf.cos(tf.cond(x[0] > 0, lambda: x**2, lambda: x**3))
        return chain(behind_loop * behind_branch, x) * behind_loop

    with v1_control_flow():
        y = tf.cond(taken, branch, lambda: x**2)
    found = symgrad.jacobian(y, x, mode=mode, block_size=2)
    for value in (False, True):
        want = numeric_jacobian(y, x, session=session, feed_dict={taken: value})
        close(session.run(found, {taken: value}), want)


@pytest.mark.parametrize("mode", ["rows", "columns"])
def test_copies_wait_for_what_the_loop_waits_for(session, monkeypatch, mode):
    monkeypatch.setattr("symgrad._jacobians._through_frames._FEW", 0)
    x, start, stop, one = tf.constant([1.0, 2.0, 3.0], tf.float64), tf.constant(0), tf.constant(3), tf.constant(1)
    w = tf.get_variable("w", initializer=tf.constant(1.0, tf.float64), use_resource=True)
    session.run(w.initializer)
    late = tf.numpy_function(lambda: (time.sleep(0.05), 1.0)[1], [], tf.float64)
    with v1_control_flow(), tf.control_dependencies([w.assign_add(tf.ensure_shape(late, []))]):
        # The constants of the loop are made before, or the loop of the copies would wait for them by chance.
        y = tf.while_loop(lambda i, v: i < stop, lambda i, v: (i + one, v * w.read_value()), [start, x])[1]
    found = symgrad.jacobian(y, x, mode=mode, block_size=1)
    for value in (2.0, 3.0):
        close(session.run(found), value**3 * np.eye(3), ROUNDING)


def test_what_may_have_a_state_is_not_copied(session):
    x = tf.constant(np.ones(70))
    w = tf.get_variable("w", initializer=tf.constant(2.0, tf.float64), use_resource=False)
    session.run(w.initializer)

    def through(factor):
        with v1_control_flow():
            return tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, v * factor()), [0, x])[1]

    def function(stateful):
        return lambda: tf.ensure_shape(tf.py_func(lambda: 2.0, [], tf.float64, stateful=stateful), [])

    for factor, message in ((function(True), "stateful=False"), (w.read_value, "use resource variables")):
        y = through(factor)
        with pytest.raises(ControlFlowError, match=message):
            symgrad.jacobian(y, x, mode="rows", block_size=1)
        some = symgrad.jacobian(y[:8], x, mode="rows", block_size=1)
        close(session.run(some), 8 * np.eye(8, 70), ROUNDING)

    @tf.custom_gradient
    def twice(v):
        return 2 * v, lambda g: tf.ensure_shape(tf.py_func(lambda g: 2 * g, [g], tf.float64), [70])

    y = twice(through(function(False)))  # a gradient by py_func runs once for each row anyway
    close(session.run(symgrad.jacobian(y, x, mode="rows", block_size=1)), 16 * np.eye(70), ROUNDING)


def test_blocks_through_v1_control_flow_have_no_derivative_and_few_rows_have(session):
    x = tf.constant([0.3, 0.7], tf.float64)
    with v1_control_flow():
        y = tf.cond(x[0] > 1, lambda: tf.sin(x) * x, lambda: x**3 * x[1])
    few = tf.reduce_sum(symgrad.jacobian(y, x, mode="rows") ** 2)
    close(session.run(symgrad.Lop(few, x, 1.0)), numeric_jacobian(few, x, session=session))
    many = tf.reduce_sum(symgrad.jacobian(tf.concat([y] * 5, 0), x, mode="rows") ** 2)
    for derivative in (lambda: symgrad.Lop(many, x, 1.0), lambda: symgrad.Rop(many, x, tf.ones_like(x))):
        with pytest.raises(ControlFlowError, match="V1 control flow in its body"):
            derivative()


@pytest.mark.parametrize("row", LOOPS, ids=lambda row: row.name)
def test_columns_through_v1_loops_are_pushed_together(row, caplog):
    with row.build().as_default() as graph, tf.Session() as session:
        pushed_together(graph, row, session, caplog)


@pytest.mark.parametrize("row", [r for r in LOOPS if r.name in BY_V2], ids=lambda row: row.name)
def test_columns_through_v2_loops_are_pushed_together(row, caplog, session):
    graph = tf.get_default_graph()
    tf.identity(row.function(tf.placeholder(tf.float64, row.point.shape, name="x")), name="y")
    pushed_together(graph, row, session, caplog)
    lists = [op for op in graph.get_operations() if op.name.startswith("columns") and op.type == "TensorListPushBack"]
    assert not lists


def pushed_together(graph, row, session, caplog):
    x, y = graph.get_tensor_by_name("x:0"), graph.get_tensor_by_name("y:0")
    want = numeric_jacobian(y, x, session=session, feed_dict={x: row.point})
    with caplog.at_level(logging.INFO, logger="symgrad"):
        got = symgrad.jacobian(y, x, mode="columns", name="columns")
    close(session.run(got, {x: row.point}), want)
    told = [r for r in caplog.records if r.name == "symgrad"]
    assert len(told) == (row.name == "split_array")  # an array that is split has no stacked form


@pytest.mark.core
def test_rows_through_dynamic_rnn():
    row = next(r for r in LOOPS if r.name == "dynamic_rnn_with_lengths")
    with row.build().as_default() as graph, tf.Session() as session:
        x, y = graph.get_tensor_by_name("x:0"), graph.get_tensor_by_name("y:0")
        want = numeric_jacobian(y, x, session=session, feed_dict={x: row.point})
        close(session.run(symgrad.jacobian(y, x, mode="rows"), {x: row.point}), want)


@pytest.mark.core
@pytest.mark.parametrize("method", ["bilinear", "nearest", "bicubic"])
def test_through_a_resized_image(session, method):
    x = tf.zeros([1, 2, 3, 1])
    y = tf.compat.v2.image.resize(x, [3, 4], method)
    pixels = tf.compat.v2.image.resize(tf.reshape(tf.eye(6), [6, 2, 3, 1]), [3, 4], method)  # what is linear is so
    want = session.run(tf.reshape(tf.transpose(tf.reshape(pixels, [6, 12])), [1, 3, 4, 1, 1, 2, 3, 1]))
    for got in session.run([symgrad.jacobian(y, x, mode=mode, block_size=size) for mode, size in SETTINGS]):
        np.testing.assert_allclose(got, want, atol=1e-6)  # of numbers of size one in float32


def test_known_static_shapes_stay_known(session):
    x = tf.placeholder(tf.float32, [None, 3])
    y = tf.reduce_sum(tf.sin(x), 0)
    for mode, size in SETTINGS:
        assert symgrad.jacobian(y, x, mode=mode, block_size=size).shape.as_list() == [3, None, 3]


def test_empty_at_run_time(session):
    x = tf.placeholder(tf.float32, [None])
    for mode, size in SETTINGS:
        assert session.run(symgrad.jacobian(x**2, x, mode=mode, block_size=size), {x: []}).shape == (0, 0)


@pytest.mark.core
def test_one_dropout_mask_for_all_rows_and_columns(session):
    x = tf.ones([200], tf.float64)
    mask = tf.cast(tf.random.uniform([200]) > 0.5, tf.float64)
    for mode, size in SETTINGS:
        drawn, got = session.run([mask, symgrad.jacobian(x * mask, x, mode=mode, block_size=size)])
        np.testing.assert_array_equal(got, np.diag(drawn))


@pytest.mark.core
def test_py_func_goes_one_row_at_a_time(session, rng):
    def gradient(op, dy):
        return tf.py_func(lambda v, d: 3 * v**2 * d, [op.inputs[0], dy], tf.float64)

    tf.RegisterGradient("SymgradTestCube")(gradient)
    x = tf.constant(rng.standard_normal(3))
    with tf.get_default_graph().gradient_override_map({"PyFunc": "SymgradTestCube"}):
        y = tf.py_func(lambda v: v**3, [x], tf.float64)
    y.set_shape([3])
    close(session.run(symgrad.jacobian(y, x, mode="rows")), np.diag(3 * session.run(x) ** 2), ROUNDING)


def test_what_does_not_vectorise_is_named_in_the_log(session, caplog):
    x = tf.constant([[1.0, 3.0, 2.0]])
    with caplog.at_level(logging.INFO, logger="symgrad"):
        symgrad.jacobian(tf.nn.top_k(x, 2).values, x, mode="rows")
    (record,) = caplog.records
    assert "one vector at a time" in record.message
    assert "ScatterNd" in record.message


@pytest.mark.parametrize("mode", ["rows", "columns"])
def test_a_block_off_the_diagonal_is_zero(session, mode):
    a, b = tf.constant([1.0, 2.0]), tf.constant([[3.0]])
    got = session.run(symgrad.jacobian({"f": a**2, "g": b**3}, [a, b], mode=mode))
    np.testing.assert_array_equal(got["f"][0], [[2, 0], [0, 4]])
    np.testing.assert_array_equal(got["f"][1], np.zeros((2, 1, 1)))
    np.testing.assert_array_equal(got["g"][0], np.zeros((1, 1, 2)))
    np.testing.assert_array_equal(got["g"][1], [[[[27]]]])


@pytest.mark.parametrize("mode", ["rows", "columns"])
def test_disconnected(session, mode):
    a, b = tf.constant([1.0, 2.0]), tf.constant([3.0])
    for ys, xs in (([a**2], [a, b]), ([a**2, tf.identity(b)], [a])):
        with pytest.raises(DisconnectedError, match="no path"):
            symgrad.jacobian(ys, xs, mode=mode)
    assert symgrad.jacobian([a**2], [a, b], mode=mode, disconnected="none")[0][1] is None
    zero = symgrad.jacobian([a**2], [a, b], mode=mode, disconnected="zero")[0][1]
    np.testing.assert_array_equal(session.run(zero), np.zeros((2, 1)))


@pytest.mark.parametrize("mode", ["rows", "columns"])
def test_stop_gradients(session, mode):
    x = tf.constant([2.0, 3.0])
    h = x * 1.0
    got = symgrad.jacobian(h * x, x, stop_gradients=h, mode=mode)
    np.testing.assert_array_equal(session.run(got), [[2, 0], [0, 3]])


def test_a_result_too_large_is_refused_with_its_size():
    with tf.Graph().as_default():
        x = tf.zeros([100_000])
        with pytest.raises(ShapeError, match=r"38,147 MiB of float32; the limit is 4,096 MiB.*jacobian_blocks"):
            symgrad.jacobian(tf.sin(x), x)
        small = x[:20]
        with symgrad.operators.limits(result_bytes=1000), pytest.raises(ShapeError, match="limits"):
            symgrad.jacobian(tf.sin(small), small)
    with pytest.raises(ValueError, match="block_bytes=0"), symgrad.operators.limits(block_bytes=0):
        pass


@pytest.mark.core
@pytest.mark.parametrize("mode", ["rows", "columns"])
def test_holomorphic(session, mode):
    z = tf.constant([1 + 2j, 3 - 1j])
    got = session.run(symgrad.jacobian(z**2, z, mode=mode))
    np.testing.assert_allclose(got, np.diag([2 + 4j, 6 - 2j]), rtol=1e-14)


@pytest.mark.parametrize(
    ("function", "cause"),
    [
        (tf.math.conj, "conjugates"),
        (lambda z: tf.complex(tf.abs(z), tf.abs(z)), "between complex and real"),
        (lambda z: tf.matmul(z, z, adjoint_b=True), "conjugates"),
        (tf.abs, "no complex derivative"),
    ],
)
def test_what_is_not_holomorphic_is_refused(function, cause):
    with tf.Graph().as_default():
        z = tf.constant([[1 + 2j, 3 - 1j]])
        with pytest.raises(DtypeError, match=f"{cause}.*[Ss]plit"):
            symgrad.jacobian(function(z), z)


def test_half_precision(session):
    for dtype in (tf.float16, tf.bfloat16):
        x = tf.constant([1.0, 2.0], dtype)
        for mode, size in SETTINGS:
            got = session.run(tf.cast(symgrad.jacobian(x**2, x, mode=mode, block_size=size), tf.float32))
            np.testing.assert_array_equal(got, [[2, 0], [0, 4]])


def test_bad_arguments(session):
    x = tf.constant([1.0])
    for size in (0, -1, 2.5, True):
        with pytest.raises(ShapeError, match="block_size"):
            symgrad.jacobian(x * 2, x, block_size=size)
    with pytest.raises(ValueError, match="mode='sideways'"):
        symgrad.jacobian(x * 2, x, mode="sideways")


def test_inside_a_function(rng):
    start = rng.standard_normal(3)

    @tf.function
    def f(x):
        return [
            symgrad.jacobian(tf.sin(x) * x[0], x, mode=m, block_size=b) for m, b in (("rows", 2), ("columns", None))
        ]

    with tf.Graph().as_default(), tf.Session() as session:
        want = np.diag(np.cos(start) * start[0])
        want[:, 0] += np.sin(start)
        for got in session.run(f(tf.constant(start))):
            close(got, want, ROUNDING)
