"""Structures, variables of every kind, vectors, shapes and dtypes in; the same structures out; clear errors."""

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from worlds import eager

import symgrad
from symgrad import errors

pytestmark = pytest.mark.core

c = tf.constant
EAGER = tf.constant([1.0, 2.0])  # made outside of any graph


@pytest.mark.parametrize(
    ("operator", "theirs", "ours"),
    [
        ("Rop", "wrt", "xs"),
        ("Rop", "eval_points", "tangents"),
        ("Lop", "eval_points", "grad_ys"),
        ("hvp", "eval_points", "vectors"),
        ("Lop", "consider_constant", "stop_gradients"),
        ("jacobian", "disconnected_inputs", "disconnected"),
        ("jacobian", "expression", "ys"),
        ("hessian", "cost", "y"),
        ("gradients", "sources", "xs"),
    ],
)
def test_a_keyword_of_theanos_or_of_a_tape_is_told_ours(operator, theirs, ours):
    with pytest.raises(TypeError, match=rf"{operator}\(\) has no argument '{theirs}'; it is called '{ours}' here"):
        getattr(symgrad, operator)(**{theirs: None})


def test_a_keyword_that_nobody_has_is_pythons(graph):
    with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
        symgrad.Lop(c(1.0), c(1.0), 1.0, colour=1)
    with pytest.raises(TypeError, match="'consider_constant', and none that does the same"):
        symgrad.hessian(c(1.0), c(1.0), consider_constant=[])


def test_lop_has_the_structure_of_xs_and_rop_that_of_ys(run):
    a, b = c([1.0, 2.0]), c(3.0)
    ys = {"p": a * b, "q": (a + b,)}
    lop = symgrad.Lop(ys, [a, (b,)], {"p": [1.0, 1.0], "q": (None,)})
    rop = symgrad.Rop(ys, [a, (b,)], [None, (1.0,)])
    assert [type(lop), type(lop[1])] == [list, tuple]
    assert rop.keys() == ys.keys()
    got_lop, got_rop = run([lop, rop])
    np.testing.assert_array_equal(got_lop[0], [3.0, 3.0])  # d(a b)/da = b
    np.testing.assert_array_equal(got_lop[1][0], 3.0)  # the sum of a
    np.testing.assert_array_equal(got_rop["p"], [1.0, 2.0])
    np.testing.assert_array_equal(got_rop["q"][0], [1.0, 1.0])


def test_jacobian_of_a_list_of_ys_against_a_dict_of_xs(run):
    a, b = c([1.0, 2.0]), c(3.0)
    got = run(symgrad.jacobian([a * b, tf.sin(b)], {"a": a, "b": b}))
    np.testing.assert_array_equal(got[0]["a"], 3 * np.eye(2))
    np.testing.assert_array_equal(got[0]["b"], [1.0, 2.0])
    np.testing.assert_array_equal(got[1]["a"], [0.0, 0.0])  # a does not reach sin(b), but it reaches a * b
    np.testing.assert_allclose(got[1]["b"], np.cos(3.0), rtol=1e-6)  # float32


def test_jacobian_with_an_unknown_number_of_rows(run):
    x = tf.placeholder(tf.float64, [None, 2])
    w = c([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], tf.float64)
    jacobian = symgrad.jacobian(x @ w, x)
    assert jacobian.shape.as_list() == [None, 3, None, 2]
    got = run(jacobian, {x: np.ones((2, 2))})
    want = np.einsum("nm,jd->ndmj", np.eye(2), run(w))  # dy_nd/dx_mj = [n = m] w_jd
    np.testing.assert_array_equal(got, want)


def test_jacobian_of_0_size_tensors(run):
    x, e = tf.ones([2]), tf.ones([0])
    got = run(symgrad.jacobian([tf.concat([e, x], 0), e * 2], [x, e]))
    np.testing.assert_array_equal(got[0][0], np.eye(2))
    assert [b.shape for b in (got[0][1], got[1][0], got[1][1])] == [(2, 0), (0, 2), (0, 0)]


def test_jacobian_builds_the_backward_graph_once(graph):
    x = c(np.ones((20, 20)))
    y = tf.tanh(x @ x)
    before = len(graph.get_operations())
    symgrad.jacobian(y, x)
    assert len(graph.get_operations()) - before < 100  # 400 rows, so less than an op a row


def test_static_shapes_are_kept():
    x = tf.placeholder(tf.float32, [None, 3])
    y = tf.reduce_sum(x, 1)
    assert symgrad.Lop(y, x, tf.ones_like(y)).shape.as_list() == [None, 3]
    assert symgrad.Rop(y, x, tf.ones_like(x)).shape.as_list() == [None]
    assert symgrad.jacobian(y, x).shape.as_list() == [None, None, 3]


def test_the_same_x_twice_is_two_inputs(run):
    x = c([1.0, 2.0])
    lop = symgrad.Lop(x * x, [x, x], [1.0, 1.0])
    rop = symgrad.Rop(x * x, [x, x], [[1.0, 0.0], [0.0, 10.0]])
    got_lop, got_rop = run([lop, rop])
    np.testing.assert_array_equal(got_lop, [[2.0, 4.0], [2.0, 4.0]])
    np.testing.assert_array_equal(got_rop, [2.0, 40.0])


def test_x_upstream_of_another_x_gives_total_derivatives(run):
    a = c(2.0)
    b = a * a
    y = b * a
    assert run(symgrad.Lop(y, [a, b], 1.0)) == [12.0, 2.0]  # d a^3/da, dy/db
    assert run(symgrad.Rop(y, [a, b], [1.0, 10.0])) == 12.0 + 20.0
    assert run(symgrad.Lop(y, [a, b], 1.0, stop_gradients=b)) == [4.0, 2.0]


def test_x_itself_in_ys(run):
    x = c([1.0, 2.0])
    np.testing.assert_array_equal(run(symgrad.jacobian(x, x)), np.eye(2))
    np.testing.assert_array_equal(run(symgrad.Rop([x, x * 2], x, [1.0, 3.0])), [[1.0, 3.0], [2.0, 6.0]])


def test_an_identity_with_an_overridden_gradient_counts_by_its_override(run):
    tf.RegisterGradient("SymgradTestTripled")(lambda op, dy: 3 * dy)
    x = c([1.0, 2.0])
    with tf.get_default_graph().gradient_override_map({"Identity": "SymgradTestTripled"}):
        y = tf.identity(x)
    np.testing.assert_array_equal(run(symgrad.Lop(y, x, [1.0, 1.0])), [3.0, 3.0])
    np.testing.assert_array_equal(run(symgrad.Rop(y, x, [1.0, 1.0])), [3.0, 3.0])


def test_variables_of_every_kind(run):
    resource = tf.get_variable("a", initializer=[1.0, 2.0], use_resource=True)
    reference = tf.get_variable("b", initializer=[3.0, 4.0], use_resource=False)
    y = resource * reference
    xs = [resource, reference]
    np.testing.assert_array_equal(run(symgrad.Lop(y, xs, [1.0, 1.0])), [[3.0, 4.0], [1.0, 2.0]])
    np.testing.assert_array_equal(run(symgrad.Rop(y, xs, [[1.0, 1.0], None])), [3.0, 4.0])
    jacobian = run(symgrad.jacobian(y, xs))
    np.testing.assert_array_equal(jacobian, [np.diag([3.0, 4.0]), np.diag([1.0, 2.0])])
    np.testing.assert_array_equal(run(symgrad.gradients(y, xs)), [[3.0, 4.0], [1.0, 2.0]])


@pytest.mark.parametrize("library", ["tf_keras", "keras"])
def test_keras_variables(library, run):
    keras = pytest.importorskip(library)
    layer = keras.layers.Dense(2, use_bias=False)
    y = layer(tf.ones([3, 2]))
    variable = layer.trainable_variables[0]
    lop = symgrad.Lop(y, [variable], tf.ones([3, 2]))
    rop = symgrad.Rop(y, {"kernel": variable}, {"kernel": tf.ones([2, 2])})
    np.testing.assert_array_equal(run(lop)[0], np.full((2, 2), 3.0))  # x^T v with ones
    np.testing.assert_array_equal(run(rop), np.full((3, 2), 2.0))


@pytest.mark.parametrize("dtype", [tf.float16, tf.bfloat16, tf.float32, tf.float64, tf.complex64, tf.complex128])
def test_dtypes(dtype, run):
    x = tf.cast([1.0, 2.0], dtype)
    results = symgrad.Lop(x * x, x, [1.0, 1.0]), symgrad.Rop(x * x, x, [1.0, 1.0]), symgrad.jacobian(x * x, x)
    assert all(r.dtype == dtype for r in results)
    lop, rop, jacobian = (np.asarray(r, np.complex128) for r in run(results))
    np.testing.assert_array_equal(lop, [2.0, 4.0])  # small integers are exact in every dtype
    np.testing.assert_array_equal(rop, [2.0, 4.0])
    np.testing.assert_array_equal(jacobian, np.diag([2.0, 4.0]))


def test_complex_lop_conjugates_and_jacobian_does_not(run):
    z = c([1.0 + 2.0j])
    lop, rop, jacobian = run(
        [f(z * z, z, *v) for f, v in ((symgrad.Lop, [[1.0]]), (symgrad.Rop, [[1.0]]), (symgrad.jacobian, []))]
    )
    np.testing.assert_array_equal(lop, [2.0 - 4.0j])
    np.testing.assert_array_equal(rop, [2.0 + 4.0j])
    np.testing.assert_array_equal(jacobian, [[2.0 + 4.0j]])


def test_none_is_a_zero_vector(run):
    a, b = c([1.0, 2.0]), c([3.0, 4.0])
    np.testing.assert_array_equal(run(symgrad.Rop(a * b, [a, b], [None, [1.0, 1.0]])), [1.0, 2.0])
    np.testing.assert_array_equal(run(symgrad.Lop([a * b, a], a, [None, [5.0, 6.0]])), [5.0, 6.0])
    np.testing.assert_array_equal(run(symgrad.Lop(a * b, a, None)), [0.0, 0.0])


def test_rop_of_square_of_matmul_with_nothing_fed_but_x(run):
    x = tf.placeholder(tf.float64, [None, 2])
    a = c([[1.0, 2.0], [3.0, 4.0]], tf.float64)
    v = np.array([[1.0, -1.0]])
    at = np.array([[2.0, 1.0]])
    got = run(symgrad.Rop(tf.square(x @ a), x, v), {x: at})
    np.testing.assert_allclose(got, 2 * (at @ run(a)) * (v @ run(a)), rtol=1e-15)  # float64


WRONG = {
    "shape": (lambda y, x: symgrad.Rop(y, x, np.ones(3)), errors.ShapeError, r"tangents\[0\].*\(3,\).*\(2,\).*xs\[0\]"),
    "structure": (lambda y, x: symgrad.Rop(y, [x], np.ones(2)), errors.ShapeError, "tangents must have the structure"),
    "dtype": (lambda y, x: symgrad.Lop(y, x, tf.ones(2)), errors.DtypeError, r"grad_ys\[0\].*float32.*float64.*y:0"),
    "complex": (lambda y, x: symgrad.Lop(y, x, np.ones(2) * 1j), errors.DtypeError, "complex128"),
    "string": (lambda y, x: symgrad.Lop(y, x, ["a", "b"]), errors.DtypeError, "does not convert to float64"),
    "integer x": (lambda y, x: symgrad.Lop(y, tf.argmax(x), y), errors.DtypeError, r"xs\[0\] \(ArgMax:0\).*int64"),
    "integer y": (lambda y, x: symgrad.Lop(tf.argmax(y), x, 1), errors.DtypeError, r"ys\[0\] \(ArgMax:0\).*int64"),
    "number x": (lambda y, x: symgrad.Lop(y, 1.0, y), errors.DtypeError, r"xs\[0\] is a float"),
    "number y": (lambda y, x: symgrad.Lop(1.0, x, 1.0), errors.DtypeError, r"ys\[0\] is a float"),
    "no ys": (lambda y, x: symgrad.Lop([], x, []), errors.ShapeError, "ys is empty"),
    "no xs": (lambda y, x: symgrad.Rop(y, [], []), errors.ShapeError, "xs is empty"),
    "policy": (lambda y, x: symgrad.Lop(y, x, y, disconnected="zeros"), ValueError, "'raise', 'zero', 'none'"),
    "method": (lambda y, x: symgrad.Rop(y, x, x, method="fast"), ValueError, "double_vjp"),
    "complex jacobian": (
        lambda y, x: symgrad.jacobian(tf.complex(x, x), x), errors.DtypeError, "split it into real and imaginary",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments_are_named(name):
    call, error, message = WRONG[name]
    x = tf.constant([1.0, 2.0], tf.float64, name="x")
    y = tf.multiply(x, x, name="y")
    with pytest.raises(error, match=message):
        call(y, x)


def test_a_vector_of_the_wrong_shape_stops_the_run_when_shapes_are_unknown(run):
    x = tf.placeholder(tf.float32, [None])
    rop = symgrad.Rop(x * x, x, tf.placeholder_with_default([1.0], [None]))
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"tangents\[0\] must have the shape of"):
        run(rop, {x: [1.0, 2.0]})


@eager
def test_eager_tensors_are_refused():
    x = c([1.0, 2.0])
    y = x * x
    for call in (
        lambda: symgrad.Lop(EAGER, x, x),
        lambda: symgrad.gradients(y, EAGER),
        lambda: symgrad.Lop(y, x, EAGER),
    ):
        with pytest.raises(errors.GraphMismatchError, match="eager tensor"):
            call()


def test_other_graphs_and_finalized_graphs_are_refused(graph):
    x = c([1.0, 2.0])
    y = x * x
    with tf.Graph().as_default():
        elsewhere = c([1.0, 2.0])
    with pytest.raises(errors.GraphMismatchError, match=r"xs\[0\].*another graph"):
        symgrad.Lop(y, elsewhere, y)
    with pytest.raises(errors.GraphMismatchError, match=r"ys\[1\].*another graph"):
        symgrad.Lop([y, elsewhere], x, [y, y])
    with pytest.raises(errors.GraphMismatchError, match=r"tangents\[0\] belongs to another graph"):
        symgrad.Rop(y, x, elsewhere)
    graph.finalize()
    for call in (lambda: symgrad.Lop(y, x, y), lambda: symgrad.gradients(y, x), lambda: symgrad.jacobian(y, x)):
        with pytest.raises(errors.GraphMismatchError, match="finalized"):
            call()
