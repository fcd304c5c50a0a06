"""nan_origin names the op at which NaN or infinity begins, and finds nothing in the repaired twin."""

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from cases import CASES

import symgrad
from symgrad import errors
from symgrad.diagnose import Birth, nan_origin
from symgrad.diagnose._private_run import PrivateRun

pytestmark = pytest.mark.core


def grad_of_sqrt(x, repaired):
    return tf.gradients(tf.sqrt(x + 1e-12 if repaired else x, name="root"), x)


def grad_of_norm(x, repaired):
    squares = tf.reduce_sum(x**2)
    ok = squares > 0.0
    safe = tf.where(ok, tf.sqrt(tf.where(ok, squares, tf.ones_like(squares))), tf.zeros_like(squares))
    return tf.gradients(safe if repaired else tf.sqrt(squares, name="root"), x)


def grad_of_log_not_taken(x, repaired):
    safe = tf.where(x > 0.0, x, tf.ones_like(x)) if repaired else x
    return tf.gradients(tf.where(x > 0.0, tf.log(safe, name="log"), tf.zeros_like(x)), x)


def zero_over_zero(x, repaired):
    return tf.reduce_sum(tf.math.divide_no_nan(x, x) if repaired else tf.divide(x, x, name="ratio"))


def cross_entropy_by_hand(x, repaired):
    labels = tf.constant([0.0, 1.0, 0.0])
    log = tf.nn.log_softmax(1e4 * x) if repaired else tf.log(tf.nn.softmax(1e4 * x), name="log")
    return tf.gradients(-tf.reduce_sum(labels * log), x)


def exp_in_half(x, repaired):
    return tf.reduce_sum(tf.exp(tf.cast(12.0 * x, tf.float32 if repaired else tf.float16), name="exp"))


def fractional_power(x, repaired):
    return tf.gradients(tf.pow(x + 1e-6 if repaired else x, 0.5, name="power"), x)


def loop(x, repaired):
    """In iteration 1 the logarithm of -0.5 is taken; that of 0 in iteration 0 is not."""

    def turn(i, h):
        return i + 1, tf.where(h > -0.1, h - 0.5, tf.abs(h) if repaired else tf.log(h, name="log"))

    return tf.while_loop(lambda i, h: i < 5, turn, [0, x], name="loop")[1]


def grad_of_loop(x, repaired):
    """The last turn takes a root of x * 0."""

    def turn(i, h):
        return i + 1, tf.sqrt(h * tf.cast(2 - i, tf.float32) + (1e-6 if repaired else 0.0), name="root")

    return tf.gradients(tf.while_loop(lambda i, h: i < 3, turn, [0, x + 1.0], name="loop")[1], x)


def grad_of_map(x, repaired):
    return tf.gradients(tf.map_fn(lambda v: tf.sqrt(v + 1e-6 if repaired else v, name="root"), x, name="map"), x)


def inside_a_branch(x, repaired):
    return tf.cond(x[0] < 1.0, lambda: tf.log(x + 1e-6 if repaired else x, name="log"), lambda: x, name="branch")


def grad_of_a_branch(x, repaired):
    return tf.gradients(tf.cond(x[0] < 1.0, lambda: tf.sqrt(x + 1e-6 if repaired else x), lambda: x, name="branch"), x)


def loop_in_a_branch(x, repaired):
    return tf.cond(x[0] < 1.0, lambda: loop(x, repaired), lambda: x, name="branch")


def function(x, repaired):
    inner = tf.function(lambda v: tf.log(v + 1e-6 if repaired else v, name="log"))
    return tf.function(lambda v: inner(v) * 2.0)(x)


# build, birth, op type, index of the first offending element, name of the forward op of a backward one
SITUATIONS = [
    (grad_of_sqrt, Birth.INFINITY, "SqrtGrad", (0,), "root"),
    (grad_of_norm, Birth.INFINITY, "SqrtGrad", (), "root"),
    (grad_of_log_not_taken, Birth.INFINITY, "Reciprocal", (0,), "log"),
    (zero_over_zero, Birth.NAN, "RealDiv", (0,), None),
    (cross_entropy_by_hand, Birth.INFINITY, "Reciprocal", (0,), "log"),
    (exp_in_half, Birth.INFINITY, "Exp", (1,), None),
    (fractional_power, Birth.INFINITY, "Pow", (0,), "power"),
]
LOOPS = [
    (loop, Birth.NAN, "Log", (0,), None, 1),
    (grad_of_loop, Birth.INFINITY, "SqrtGrad", (0,), "root", 0),
    (grad_of_map, Birth.INFINITY, "SqrtGrad", (), "root", 2),
    (inside_a_branch, Birth.INFINITY, "Log", (0,), None, None),
    (grad_of_a_branch, Birth.INFINITY, "SqrtGrad", (0,), "Sqrt", None),
    (loop_in_a_branch, Birth.NAN, "Log", (0,), None, 1),
    (function, Birth.INFINITY, "Log", (0,), None, None),
]
# Only the norm is not finite at zero alone; the other functions are fed this.
FED = {grad_of_norm: [0.0, 0.0, 0.0]}


def diagnosed(build, repaired, stored=False):
    """The findings, after a check that graph and session are as before."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [3], name="x")
        fetches = build(x, repaired)
        if stored:
            graph = symgrad.loaders.load(graph.as_graph_def().SerializeToString()).graph
        fetches = [graph.get_tensor_by_name(t.name) for t in tf.nest.flatten(fetches)]
        version = graph.version
        with tf.Session(graph=graph) as session:
            feed = {"x:0": FED.get(build, [0.0, 1.0, 2.0])}
            findings = nan_origin(fetches, session=session, feed_dict=feed)
            assert graph.version == version
            values = session.run(fetches, feed)
    assert bool(findings) != all(np.isfinite(v).all() for v in values)
    return findings


@pytest.mark.parametrize("stored", [False, True], ids=["live", "from a file"])
@pytest.mark.parametrize("row", SITUATIONS, ids=lambda row: row[0].__name__)
def test_birth_op_place_and_forward_op(row, stored):
    build, birth, op_type, index, forward = row
    found = diagnosed(build, repaired=False, stored=stored)
    assert [(f.cause, f.op_type, f.indices[0], f.forward) for f in found] == [(birth, op_type, index, forward)]
    assert (found[0].where is None) == stored
    assert found[0].path[0] == found[0].op
    assert found[0].advice
    assert not np.isfinite(found[0].values).any()
    assert np.isfinite(found[0].inputs).all()
    assert diagnosed(build, repaired=True, stored=stored) == []


@pytest.mark.parametrize("stored", [False, True], ids=["live", "from a file"])
@pytest.mark.parametrize("v2", [False, True], ids=["V1", "V2"])
@pytest.mark.parametrize("row", LOOPS, ids=lambda row: row[0].__name__)
def test_inside_of_control_flow(row, v2, stored, control_flow_v2):
    build, birth, op_type, index, forward, turn = row
    with control_flow_v2(v2):
        (found,) = diagnosed(build, repaired=False, stored=stored)
        assert (found.cause, found.op_type, found.indices[0]) == (birth, op_type, index)
        assert forward is None or found.forward.split("/")[-1] == forward
        assert [t for _, t in found.iterations] == ([] if turn is None else [turn])
        assert diagnosed(build, repaired=True, stored=stored) == []


def run_nan(build, **options):
    """The findings for what `build` gives: fetches and a feed_dict."""
    with tf.Graph().as_default() as graph:
        fetches, feed = build()
        with tf.Session() as session:
            session.run([v.initializer for v in tf.global_variables()])
            version = graph.version
            found = nan_origin(fetches, session=session, feed_dict=feed)
            assert graph.version == version
    return found


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_the_private_run_gives_what_the_session_gives(case):
    with tf.Graph().as_default() as graph:
        ys, xs = case(np.random.default_rng(0))
        fetches = [graph.as_graph_element(y) for y in tf.nest.flatten(ys)]
        grads = symgrad.gradients(fetches, tf.nest.flatten(xs), [tf.ones_like(y) for y in fetches])
        fetches += [g for g in grads if isinstance(g, tf.Tensor)]
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for there, here in zip(session.run(fetches), PrivateRun(fetches, session, None).results, strict=True):
                np.testing.assert_allclose(here, there, rtol=1e-6, atol=1e-9)  # Grappler may reorder sums
            assert nan_origin(ys, session=session) == []


def test_what_was_fed():
    def build():
        x = tf.placeholder(tf.float32, [2, 2], name="x")
        return tf.reduce_sum(x), {x: [[1.0, np.nan], [2.0, 3.0]]}

    (found,) = run_nan(build)
    assert (found.cause, found.op, found.indices) == (Birth.FED, "x", ((0, 1),))
    assert found.path == ("x", "Sum")


def test_a_feed_that_hides_what_else_is_fed():
    def build():
        x = tf.placeholder(tf.float32, [2], name="x")
        root = tf.sqrt(x, name="root")
        return tf.square(root), {x: [0.0, 1.0], root: [1.0, np.inf]}

    (found,) = run_nan(build)
    assert (found.cause, found.op, found.op_type, found.indices) == (Birth.FED, "root", "Sqrt", ((1,),))


def test_a_reference_variable_that_is_fed():
    def build():
        v = tf.get_variable("v", initializer=[1.0, 1.0], use_resource=False)
        return tf.log(v, name="log"), {v: [1.0, 0.0]}

    (found,) = run_nan(build)
    assert (found.cause, found.op, found.indices) == (Birth.INFINITY, "log", ((1,),))


def test_sparse_feeds_and_fetches():
    def build():
        x = tf.sparse_placeholder(tf.float32)
        y = tf.SparseTensor(x.indices, tf.log(x.values, name="log"), x.dense_shape)
        return y, {x: tf.SparseTensorValue([[0, 0]], [0.0], [2, 2])}

    (found,) = run_nan(build)
    assert (found.cause, found.op_type, found.indices) == (Birth.INFINITY, "Log", ((0,),))


def test_the_first_turn_is_named_where_an_op_fails_in_several(control_flow_v2):
    def build():
        turn = lambda i, total: (i + 1, total + tf.log(tf.cast(2 - i, tf.float32)))  # noqa: E731
        return tf.while_loop(lambda i, _: i < 5, turn, [0, 0.0])[1], {}

    for v2 in (False, True):
        with control_flow_v2(v2):
            (found,) = run_nan(build)
        assert (found.cause, [turn for _, turn in found.iterations]) == (Birth.INFINITY, [2])


@pytest.mark.parametrize("use_resource", [False, True])
def test_a_variable_that_is_spoilt(use_resource):
    def build():
        v = tf.get_variable("v", initializer=[1.0, np.inf], use_resource=use_resource)
        return {"loss": tf.reduce_sum(v * 2.0)}, {}

    (found,) = run_nan(build)
    assert (found.cause, found.op, found.indices, found.values) == (Birth.VARIABLE, "v", ((1,),), (np.inf,))


def test_infinities_that_are_meant_and_turn_into_nan():
    def build():
        x = tf.placeholder(tf.float32, [2, 2])
        mask = tf.constant([[0.0, -np.inf], [-np.inf, -np.inf]])
        return tf.nn.softmax(x + mask, name="softmax"), {x: np.ones((2, 2))}

    (found,) = run_nan(build)
    assert (found.cause, found.op, found.indices[0]) == (Birth.MIXED, "softmax", (1, 0))


def test_infinities_that_do_not_reach_the_result():
    def build():
        x = tf.placeholder(tf.float32, [3], name="x")
        away = tf.where(x > 0.0, tf.log(x, name="hidden"), tf.zeros(3)) + 1.0 / tf.exp(1e3 + x, name="huge")
        return [away + tf.divide(0.0, x, name="ratio"), away], {x: [0.0, 1.0, 2.0]}

    assert [f.op for f in run_nan(build)] == ["ratio"]


def test_an_infinity_beside_the_nan_is_not_blamed():
    def build():
        x = tf.placeholder(tf.float32, [2], name="x")
        high = tf.maximum(tf.log(x, name="low"), [0.0, 0.0])  # -inf at 0 loses against 0
        return high + tf.sqrt(x - 1.5, name="root"), {x: [2.0, 0.0]}

    assert [(f.op, f.indices) for f in run_nan(build)] == [("root", ((1,),))]


@pytest.mark.parametrize("use_resource", [False, True])
def test_a_write_in_the_same_step_is_seen_and_not_kept(use_resource):
    with tf.Graph().as_default():
        v = tf.get_variable("v", initializer=1.0, use_resource=use_resource)
        with tf.control_dependencies([tf.assign_sub(v, 1.0)]):
            y = tf.log(v.read_value() if use_resource else tf.identity(v), name="log")
        with tf.Session() as session:
            session.run(v.initializer)
            (found,) = nan_origin(y, session=session)
            assert (found.op, found.inputs) == ("log", ((0.0,),))
            assert session.run(v) == 1.0


def test_loops_inside_of_loops_name_the_turn_of_each():
    def inner(j, h):
        return j + 1, tf.where(h > 30.0, tf.log(-h, name="log"), h * 2.0)

    def build():
        x = tf.placeholder(tf.float32, [2])
        outer = lambda i, h: (i + 1, tf.while_loop(lambda j, _: j < 2, inner, [0, h], name="inner")[1])  # noqa: E731
        return tf.while_loop(lambda i, _: i < 4, outer, [0, x], name="outer")[1], {x: [1.0, 2.0]}

    (found,) = run_nan(
        build
    )  # the second element is 2, 4, 8, 16, 32: above 30 in iteration 0 of the inner loop's third time
    assert [turn for _, turn in found.iterations] == [2, 0]
    assert found.inputs[0][1] == -32.0


@pytest.mark.parametrize("use_resource", [False, True])
def test_a_training_step_is_looked_at_and_not_made(use_resource):
    with tf.Graph().as_default():
        v = tf.get_variable("v", initializer=[0.0, 1.0], use_resource=use_resource)
        step = tf.train.get_or_create_global_step()
        train = tf.train.AdamOptimizer().minimize(tf.reduce_sum(tf.sqrt(v, name="root")), global_step=step)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            before = session.run(tf.global_variables())
            (found,) = nan_origin(train, session=session)
            assert (found.op_type, found.forward, found.x) == ("SqrtGrad", "root", train.name)
            for old, new in zip(before, session.run(tf.global_variables()), strict=True):
                np.testing.assert_array_equal(old, new)


def test_random_numbers_are_those_of_the_session():
    with tf.Graph().as_default():
        noise = tf.random.normal([1000], name="noise")
        y = tf.log(noise, name="log")
        with tf.Session() as session:
            (found,) = nan_origin([y, noise], session=session)
        assert (found.op, found.cause) == ("log", Birth.NAN)
        assert all(value < 0 for value in found.inputs[0])


def test_python_functions_and_datasets_run_in_the_session_only():
    calls = []

    def root(v):
        calls.append(v)
        with np.errstate(invalid="ignore"):
            return np.sqrt(v)

    with tf.Graph().as_default():
        data = tf.data.make_one_shot_iterator(tf.data.Dataset.from_tensor_slices([[4.0], [-1.0]])).get_next()
        y = 2.0 * tf.numpy_function(root, [data], tf.float32, name="root")
        with tf.Session() as session:
            assert nan_origin(y, session=session) == []
            (found,) = nan_origin(y, session=session)
    assert (found.op, found.cause, found.inputs) == ("root", Birth.NAN, ((-1.0,),))
    assert [list(v) for v in calls] == [[4.0], [-1.0]]


def test_through_what_ran_in_the_session_only():
    def build():
        x = tf.placeholder(tf.float32, [2])
        handed_on = tf.reshape(tf.log(x, name="log"), [2])
        return tf.py_func(lambda a: a, [handed_on], tf.float32), {x: [0.0, 1.0]}

    assert [f.op for f in run_nan(build)] == ["log"]


@pytest.mark.parametrize("fetch", ["update", "checked"])
def test_checks_of_the_user_do_not_end_the_search(fetch):
    def build():
        x = tf.placeholder(tf.float32, [2])
        y = tf.log(x, name="log")
        with tf.control_dependencies([tf.debugging.assert_greater(x, 0.0)]):
            checked = tf.debugging.check_numerics(y, "no")
        update = tf.assign_add(tf.get_variable("v", initializer=[0.0, 0.0]), checked)
        return {"update": update.op, "checked": checked}[fetch], {x: [0.0, 1.0]}

    assert [f.op for f in run_nan(build)] == ["log"]


def test_wrong_fetches_and_feeds():
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [])
        with tf.Graph().as_default():
            other = tf.placeholder(tf.float32, [])
        with tf.Session() as session:
            with pytest.raises(errors.GraphMismatchError, match=r"fetches\[0\]"):
                nan_origin(other, session=session)
            with pytest.raises(errors.GraphMismatchError, match="feed_dict"):
                nan_origin(x, session=session, feed_dict={other: 1.0})
            with pytest.raises(errors.DtypeError, match="float"):
                nan_origin(1.0, session=session)
            with pytest.raises(errors.DtypeError, match="is a tensor"):
                nan_origin(x, session=session, feed_dict={x: tf.constant(1.0)})
            with pytest.raises(errors.DtypeError, match="complex"):
                nan_origin(x, session=session, feed_dict={x: 1j})
            with pytest.raises(errors.ShapeError, match="fed an array"):
                nan_origin(x, session=session, feed_dict={x: [1.0]})
            with pytest.raises(tf.errors.InvalidArgumentError, match="feed"):
                nan_origin(x + 1.0, session=session)


@pytest.mark.parametrize("session", [None, "session", tf.Graph()], ids=["none", "text", "graph"])
def test_what_is_no_session_is_refused(session):
    with tf.Graph().as_default():
        y = tf.log(tf.placeholder(tf.float32, [2]))
    with pytest.raises(errors.GraphMismatchError, match=r"wanted an open tf\.Session"):
        nan_origin(y, session=session)


def test_fetches_and_feeds_of_odd_kinds_are_refused():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [2])
        y = tf.log(x)
        with pytest.raises(errors.ShapeError, match="fetches is empty"):
            nan_origin([], session=session)
        with pytest.raises(errors.DtypeError, match="feed_dict is a list"):
            nan_origin(y, session=session, feed_dict=[(x, [1.0, 2.0])])
        with pytest.raises(errors.ShapeError, match="is fed rows of different lengths"):
            nan_origin(y, session=session, feed_dict={x: [[1.0], [1.0, 2.0]]})
