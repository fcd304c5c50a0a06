"""What private copies of V2 bodies hold: variables read at any depth, tables, checks; what must not run twice."""

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

import symgrad
from symgrad import _tf
from symgrad._control_flow._side_effects import REPEATABLE, is_repeatable
from symgrad.errors import ControlFlowError, MissingRuleError

D = tf.float64


def loop(step, start, turns=2):
    """A V2 loop, whatever the world is: functions have no other."""
    return tf.function(lambda a: tf.while_loop(lambda i, a: i < turns, lambda i, a: (i + 1, step(a)), [0, a])[1])(start)


def branch(step, start):
    return tf.function(lambda a: tf.cond(tf.reduce_all(a > -9), lambda: step(a), lambda: a))(start)


def case(step, start):
    return tf.function(lambda a: tf.switch_case(tf.constant(1), [lambda: a, lambda: step(a)]))(start)


def call(step, start):
    return tf.function(step)(start)


NESTS = {
    "loop in loop": (loop, loop, 4),
    "branch in loop": (loop, branch, 2),
    "case in loop": (loop, case, 2),
    "loop in branch": (branch, loop, 2),
    "branch in call in loop": (loop, lambda f, a: call(lambda b: branch(f, b), a), 2),
    "loop in call in case": (case, lambda f, a: call(lambda b: loop(f, b), a), 2),
    "loop in call in loop": (loop, lambda f, a: call(lambda b: loop(f, b), a), 4),
}


@pytest.mark.parametrize(("nest", "read"), [*((nest, "value") for nest in NESTS), ("loop in loop", "row")])
def test_a_variable_read_inside_of_nested_bodies_has_its_derivative(graph, run, nest, read):
    """y = 3 w^n; each derivative by hand."""
    outer, inner, n = NESTS[nest]
    w = tf.get_variable("w", initializer=np.array([0.5]), use_resource=True)
    step = (lambda a: a * w[0]) if read == "value" else (lambda a: a * tf.reshape(tf.gather(w, [0]), []))
    y = outer(lambda a: inner(step, a), tf.constant(3.0, D))
    first, second = 3 * n * 0.5 ** (n - 1), 3 * n * (n - 1) * 0.5 ** (n - 2)
    before = run(y)
    v = np.ones(1)
    found = {
        "Lop": symgrad.Lop(y, w, 1.0),
        "gradients": tf.convert_to_tensor(symgrad.gradients(y, w)[0]),
        "Rop": symgrad.Rop(y, w, v),
        "double_vjp": symgrad.Rop(y, w, v, method="double_vjp"),
    }
    for name, value in run(found).items():
        np.testing.assert_allclose(np.sum(value), first, rtol=1e-12, err_msg=name)
    np.testing.assert_allclose(run(symgrad.hvp(y, w, v)), [second], rtol=1e-12)
    np.testing.assert_array_equal(run(y), before)  # in the session that had run it


@pytest.mark.parametrize("place", [loop, branch, case, call])
def test_what_checks_prints_or_looks_up_may_be_in_a_body(graph, run, place):
    """y = (2 a)^k, where each step doubles by a table and squares."""

    def step(a):
        table = tf.lookup.StaticHashTable(
            tf.lookup.KeyValueTensorInitializer([1], [2.0], key_dtype=tf.int64, value_dtype=D), 0.0
        )
        with tf.control_dependencies(
            [tf.Assert(tf.reduce_all(a > 0), [a]), tf.print(output_stream="file:///dev/null")]
        ):
            return tf.debugging.check_numerics(a, "finite") * table.lookup(tf.constant(1, tf.int64))

    x = tf.constant([0.3, 0.7], D)
    y = place(step, x)
    slope = 4.0 if place is loop else 2.0
    np.testing.assert_allclose(run(symgrad.Lop(y, x, [1.0, 3.0])), [slope, 3 * slope], rtol=1e-12)
    np.testing.assert_allclose(run(symgrad.Rop(y, x, [1.0, 3.0])), [slope, 3 * slope], rtol=1e-12)


@pytest.mark.parametrize("place", [loop, branch, case, call])
@pytest.mark.parametrize("operator", [symgrad.Lop, symgrad.Rop])
def test_random_numbers_in_a_body_are_refused_and_nothing_is_left_behind(graph, place, operator):
    x = tf.constant([0.3, 0.7], D)
    y = place(lambda a: a * tf.random.uniform([2], dtype=D), x)
    vector = tf.ones([2], D)
    with pytest.raises(ControlFlowError, match="RandomUniform"):
        operator(y, x, vector)


def test_what_may_run_twice_is_stateful_by_name_and_nothing_writes_or_draws():
    """Every entry of the table is an op that TensorFlow knows as stateful; what changes something is not among them."""
    known = {op_type for op_type in REPEATABLE if _tf.op_def_registry.get(op_type) is not None}
    assert known >= {"Assert", "CheckNumerics", "ResourceGather", "VariableShape", "VarIsInitializedOp"}
    assert [op_type for op_type in known if not _tf.is_stateful(op_type)] == ["Placeholder"]
    for op_type in ("RandomUniform", "AssignAddVariableOp", "ResourceScatterAdd", "LookupTableInsertV2", "Timestamp"):
        assert not is_repeatable(op_type)
    for op_type in ("IteratorGetNext", "QueueDequeueV2", "StatefulUniform", "WriteSummary", "Multinomial"):
        assert not is_repeatable(op_type)


def test_eigenvalues_alone_in_a_loop(graph, run):
    """The eigenvalues of diag(a) are a, sorted; eigenvectors that were not computed are not accumulated."""
    x = tf.constant([0.4, 0.9], D)
    y = loop(lambda a: tf.ensure_shape(tf.linalg.eigvalsh(tf.linalg.diag(a)) * 0.5, [2]), x)
    np.testing.assert_allclose(run(symgrad.Lop(y, x, [1.0, 2.0])), [0.25, 0.5], rtol=1e-12)


def test_a_colocated_op_of_a_call_is_exported(graph, run):
    """Copies of ops of a body are colocated with copies, and not with names that the graph does not have."""

    def body(a):
        b = tf.sin(a, name="lead")
        with tf.get_default_graph().colocate_with(b.op):
            return b * a

    x = tf.constant(0.5, D)
    y = tf.function(body)(x)
    found = symgrad.Lop(y, x, 1.0)
    meta = tf.train.export_meta_graph(graph=graph)
    with tf.Graph().as_default(), tf.Session() as session:
        tf.train.import_meta_graph(meta)
        want = np.sin(0.5) + 0.5 * np.cos(0.5)
        np.testing.assert_allclose(session.run(found.name), want, rtol=1e-12)


def test_gradients_refuses_a_rule_of_ours_that_knows_a_part_only(graph):
    """The gradient of `LRNGrad` has a rule for its incoming gradient; TensorFlow has none for the others."""
    w = tf.placeholder(tf.float32, [1, 1, 1, 4])
    inner = tf.gradients(tf.reduce_sum(tf.nn.lrn(w, 2) ** 2), w)[0]
    penalty = tf.reduce_sum(inner**2)
    before = len(graph.get_operations())
    with pytest.raises(MissingRuleError, match="LRNGrad"):
        symgrad.gradients(penalty, w)
    assert len(graph.get_operations()) == before
