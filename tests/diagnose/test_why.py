"""why_none names cause, op and path; the same for graphs from files; and builds nothing."""

import contextlib
import re

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from cases import CASES
from diagnose.situations import SITUATIONS
from worlds import control_flow, eager

import symgrad
from symgrad import _tf, errors
from symgrad.diagnose import why_none
from symgrad.rules import Cut

pytestmark = pytest.mark.core

EAGER = tf.constant(1.0)


@pytest.fixture
def built(control_flow_v2):
    """A context in which a situation is built in the default graph; gives ys and xs."""

    @contextlib.contextmanager
    def build(case):
        with tf.Graph().as_default(), control_flow_v2(case.v2):
            yield case.build()

    return build


def check(findings, case, name=str):
    """The findings of a row, in any order; an expected path that is empty is left open; `name` is applied to names."""
    found = {(f.cause, f.op and name(f.op)): f for f in findings}
    assert set(found) == {(cause, op) for cause, op, _ in case.found}
    assert len(found) == len(findings)
    for cause, op, path in case.found:
        finding = found[cause, op]
        assert tuple(map(name, finding.path)) == path or not path
        assert len(finding.within) == len(case.within)
        assert all(part in told for part, told in zip(case.within, finding.within, strict=True))


def unnumbered(name):
    """The name of an op of a function body without the number that it gets when the body is stored."""
    return re.sub(r"_0$", "", name)


@pytest.mark.parametrize("case", SITUATIONS, ids=lambda s: s.name)
def test_cause_op_path_and_line(case, built):
    with built(case) as (ys, xs):
        graph = tf.get_default_graph()
        before = graph.as_graph_def(), graph.version
        findings = why_none(ys, xs)
        check(findings, case)
        assert (graph.as_graph_def(), graph.version) == before
        for finding in findings:
            assert (finding.where is None) == (finding.op is None)
            assert finding.where is None or "situations.py:" in finding.where
            assert str(finding).startswith(f"{finding.x}: {finding.cause.value}")


@pytest.mark.parametrize("case", [s for s in SITUATIONS if not s.not_from_file], ids=lambda s: s.name)
def test_the_same_for_a_graph_from_a_file(case, built):
    with built(case) as (ys, xs):
        names = ys.name, getattr(xs, "handle", xs).name
        stored = tf.get_default_graph().as_graph_def().SerializeToString()
    graph = symgrad.loaders.load(stored).graph
    findings = why_none(*map(graph.get_tensor_by_name, names))
    check(findings, case, unnumbered if case.within else str)
    assert all(finding.where is None for finding in findings)


@pytest.mark.parametrize("case", [s for s in SITUATIONS if not s.not_from_file], ids=lambda s: s.name)
def test_tensorflow_gives_no_gradient(case, built):
    with built(case) as (ys, xs):
        if case.raises:
            with pytest.raises(case.raises):
                tf.gradients(ys, xs)
        elif case.zeros:
            (grad,) = tf.gradients(ys, xs)
            with tf.Session() as session:
                np.testing.assert_array_equal(session.run(grad, {xs: [1.0, 2.0, 3.0]}), np.zeros(3))
        else:
            assert tf.gradients(ys, xs) == [None]


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_nothing_is_wrong_with_a_connected_x(case):
    with tf.Graph().as_default() as graph:
        ys, xs = case(np.random.default_rng(0))
        before = graph.version
        assert why_none(ys, xs) == []
        assert graph.version == before


def test_each_x_has_its_own_findings():
    with tf.Graph().as_default():
        a, b, c = (tf.placeholder(tf.float32, [], name=name) for name in "abc")
        y = a * tf.stop_gradient(b)
        assert [(f.x, f.cause) for f in why_none({"y": y}, [a, {"b": b, "c": c}])] == [
            ("b:0", Cut.STOP_GRADIENT),
            ("c:0", Cut.NO_PATH),
        ]


def test_one_path_that_is_open_is_enough():
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [3])
        assert why_none([tf.floor(x), tf.stop_gradient(x) * x], x) == []


def test_stop_gradients_cut_behind_a_tensor_and_not_at_an_x():
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [3], name="x")
        h = tf.sin(x, name="h")
        y = tf.exp(h, name="y")
        (finding,) = why_none(y, x, stop_gradients=h)
        assert (finding.cause, finding.op, finding.path) == (Cut.STOPPED, "h", ("x", "h", "y"))
        assert why_none(y, [h], stop_gradients=[h, x]) == []
        assert tf.gradients(y, x, stop_gradients=h) == [None]


def test_two_ops_of_one_type_are_judged_each_by_itself(control_flow_v2):
    def loop(start, name, **options):
        body = lambda i, v: (i + 1, tf.sin(v))  # noqa: E731
        return tf.while_loop(lambda i, v: i < 3, body, [0, start], name=name, **options)[1]

    with tf.Graph().as_default(), control_flow_v2(False):
        x = tf.placeholder(tf.float32, [3])
        shut = loop(x, "shut", back_prop=False)
        opened = loop(tf.identity(shut), "opened")
        assert [(f.cause, f.op) for f in why_none(opened, x)] == [(Cut.NO_BACK_PROP, "shut/Exit_1")]
        assert why_none(loop(tf.identity(opened) + x, "third"), x) == []
    with tf.Graph().as_default():
        x, image = tf.placeholder(tf.float32, [2]), tf.ones([1, 2, 2, 2])
        train = tf.raw_ops.FusedBatchNormV3(
            x=image, scale=tf.ones([2]), offset=tf.ones([2]), mean=x, variance=tf.ones([2]), is_training=True
        )
        infer = tf.raw_ops.FusedBatchNormV3(
            x=train.y, scale=tf.ones([2]), offset=tf.ones([2]), mean=x, variance=tf.ones([2]), is_training=False
        )
        causes = {f.op_type: f.cause for f in why_none(train.y, x)}, {f.op: f.cause for f in why_none(infer.y, x)}
        assert causes[0] == {"FusedBatchNormV3": Cut.ZERO}
        assert causes[1] == {train.y.op.name: Cut.ZERO, infer.y.op.name: Cut.UNANSWERED}


@pytest.mark.parametrize(("first", "second"), [(tf.float16, tf.float32), (tf.float32, tf.float16)])
def test_inputs_of_another_width_are_judged_each_by_itself(first, second):
    with tf.Graph().as_default():
        xs = [tf.placeholder(dtype, [1, 2, 2, 1]) for dtype in (first, second)]
        y = tf.add_n([tf.raw_ops.ResizeBicubic(images=x, size=[3, 3]) for x in xs])
        half = xs[0 if first is tf.float16 else 1]
        assert [(f.x, f.cause, f.op_type) for f in why_none(y, xs)] == [(half.name, Cut.UNANSWERED, "ResizeBicubic")]
        assert [g is None for g in tf.gradients(y, xs)] == [x is half for x in xs]


def test_a_registered_gradient_of_the_user_may_look_at_the_op(monkeypatch):
    monkeypatch.setattr(_tf.gradient_registry, "_registry", dict(_tf.gradient_registry._registry))
    tf.RegisterGradient("Bitcast")(lambda op, grad: grad if op.inputs[0].shape.rank else None)
    with tf.Graph().as_default():
        xs = [tf.placeholder(tf.float32, shape) for shape in ([2], [], [2])]
        y = tf.add_n([tf.bitcast(x, tf.float32, name=f"bits{i}") * tf.ones(2) for i, x in enumerate(xs)])
        assert [(f.x, f.cause, f.op) for f in why_none(y, xs)] == [(xs[1].name, Cut.UNANSWERED, "bits1")]


def _queue(x):
    queue = tf.FIFOQueue(2, [tf.float32], [[]], name="state")
    queue.enqueue(tf.square(x), name="write")
    return queue.dequeue()


def _iterator(x):
    iterator = tf.data.make_initializable_iterator(tf.data.Dataset.from_tensors(x), shared_name="state")
    return iterator.get_next()


@pytest.mark.parametrize(("build", "writer"), [(_queue, "QueueEnqueueV2"), (_iterator, "MakeIterator")])
def test_what_is_filled_with_x_passes_no_derivative(build, writer):
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [])
        (finding,) = why_none(build(x), x)
        assert (finding.cause, finding.op_type) == (Cut.ASSIGNED, writer)
        assert finding.advice == "Let ys read the value itself"


def test_reading_a_variable_at_x_is_no_assignment(control_flow_v2):
    with tf.Graph().as_default(), control_flow_v2(False):
        x, w = tf.placeholder(tf.float32, []), tf.get_variable("w", [3], use_resource=True)
        tf.gather(w, tf.cast(x, tf.int32))
        tf.cond(x > 0, lambda: w * 2.0, lambda: w * 3.0)
        (finding,) = why_none(tf.square(w), x)
        assert (finding.cause, finding.op) == (Cut.NO_PATH, None)


@pytest.mark.usefixtures("v2_control_flow")
@pytest.mark.parametrize(("answers", "causes"), [(False, [(Cut.CUSTOM_NONE, "choice")]), (True, [])])
def test_a_users_gradient_of_a_branch_stands_for_those_of_its_bodies(answers, causes):
    name = f"BranchOf{answers}"
    with contextlib.suppress(KeyError):  # registered by a run of this test before
        tf.RegisterGradient(name)(lambda op, *grads: [None, *(g if answers else None for g in grads)])
    with tf.Graph().as_default() as graph:
        x, p = tf.placeholder(tf.float32, [3]), tf.placeholder(tf.bool, [])
        with graph.gradient_override_map({"If": name, "StatelessIf": name}):
            y = tf.cond(p, lambda: tf.sin(x), lambda: x * 2.0, name="choice")
        assert [(f.cause, f.op) for f in why_none(y, x)] == causes
        assert (tf.gradients(y, x)[0] is None) == bool(causes)


def test_comparisons_after_a_cut_are_not_blamed():
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [3])
        h = tf.stop_gradient(x, name="stop")
        for _ in range(3):
            h = tf.where(h > 0, h, 0.1 * h)
        assert [f.op for f in why_none(h, x)] == ["stop"]


def test_a_registered_gradient_that_only_refuses_is_named():
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [3], name="x")
        y = 2.0 * tf.raw_ops.PreventGradient(input=tf.sin(x), message="no second derivative", name="barred")
        (finding,) = why_none(y, x)
        assert (finding.cause, finding.op) == (Cut.FAILS, "barred")
        assert "no second derivative" in str(finding)


def test_inside_a_traced_function():
    seen = []

    @tf.function
    def step(a):
        seen.extend(why_none(tf.stop_gradient(a) + tf.floor(v), [a, v]))
        return a

    with tf.Graph().as_default():
        v = tf.Variable([1.0, 2.0], use_resource=True, name="v")
        step(tf.placeholder(tf.float32, [2]))
    assert [(f.x, f.cause) for f in seen] == [("a:0", Cut.STOP_GRADIENT), ("v:0", Cut.ZERO)]


def test_an_eager_variable_belongs_to_no_graph():
    v = tf.Variable([1.0], use_resource=True)
    with tf.Graph().as_default():
        (finding,) = why_none(tf.placeholder(tf.float32, [1]) * 2.0, v)
    assert finding.cause is Cut.OTHER_GRAPH


def test_keras_variables():
    keras = pytest.importorskip("tf_keras")
    with tf.Graph().as_default():
        layer = keras.layers.Dense(2)
        y = tf.stop_gradient(layer(tf.placeholder(tf.float32, [1, 3])))
        assert [f.cause for f in why_none(y, layer.trainable_weights)] == [Cut.STOP_GRADIENT] * 2


@pytest.mark.parametrize(
    ("ys", "xs", "error"),
    [
        (lambda x: x, lambda x: [], errors.ShapeError),
        (lambda x: [], lambda x: x, errors.ShapeError),
        (lambda x: x, lambda x: 3.0, errors.DtypeError),
        pytest.param(lambda x: EAGER, lambda x: x, errors.GraphMismatchError, marks=eager),
    ],
)
def test_wrong_arguments(ys, xs, error):
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [])
        with pytest.raises(error):
            why_none(ys(x), xs(x))


def test_a_disconnected_error_says_it():
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [3], name="x")
        y = tf.square(tf.stop_gradient(x, name="stop"))
        with pytest.raises(errors.DisconnectedError, match=r"StopGradient 'stop', made at .*test_why\.py:"):
            symgrad.Lop(y, x, tf.ones(3))


def test_findings_as_plain_values():
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [3], name="x")
        (finding,) = why_none(tf.floor(x, name="floor"), x)
    said = finding.to_dict()
    assert (said["cause"], said["op"], said["path"]) == ("zero", "floor", ["x", "floor"])
    assert said["message"] == str(finding)


def test_a_long_chain_with_many_variables():
    with tf.Graph().as_default():
        variables = [tf.get_variable(f"w{i}", [], use_resource=True) for i in range(20)]
        h = tf.ones([])
        for i in range(4_000):
            h = tf.sin(h) if i % 200 else h * variables[i // 200]
        assert why_none(h, variables) == []
        findings = why_none(tf.stop_gradient(h, name="stop") * 2.0, variables)
        assert [(f.x, f.op) for f in findings] == [(v.name, "stop") for v in variables]
        assert len(findings[0].path) > 4_000


def test_a_loop_variable_is_not_to_be_differentiated_by_the_decision_of_its_loop(control_flow_v2):
    asked = []

    def body(i, a, b):  # b does not depend on a within one turn; both began as x
        asked.extend(why_none(b, a))
        return i + 1, b, b * b

    with tf.Graph().as_default(), control_flow_v2(False):
        x = tf.placeholder(tf.float32, [3], name="x")
        tf.while_loop(lambda i, a, b: i < 3, body, [0, x, x])
    assert [(f.cause, f.op) for f in asked] == [(Cut.BYPASSED, "x")]


def test_sparse_xs_and_ys_by_their_values_ragged_ones_refused():
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [3], name="x")
        h = tf.sin(x)
        sparse = tf.SparseTensor(tf.constant([[0, 0], [1, 1], [2, 2]], tf.int64), h, [3, 3])
        ragged = tf.RaggedTensor.from_row_splits(x, [0, 1, 3])
        y = tf.square(h)
        assert why_none(tf.sparse.reduce_sum(sparse), sparse) == []
        assert why_none(sparse, x) == []
        assert [f.cause for f in why_none(y, x, stop_gradients=sparse)] == [Cut.STOPPED]
        with pytest.raises(errors.DtypeError, match=r"xs\[0\] is a RaggedTensor; .* give its flat_values"):
            why_none(y, ragged)


def test_a_path_through_the_shape_alone_is_named_if_there_is_no_other(graph):
    """The mask of a dropout is computed from the shape of what it masks; argmax is what cuts the values."""
    x = tf.placeholder(tf.float32, [None, 3])
    kept = tf.nn.dropout(x, rate=0.5, name="dropout")
    best = tf.cast(tf.argmax(kept, 1, name="best"), tf.float32)
    assert [f.op for f in why_none(tf.nn.dropout(best, rate=0.5), x)] == ["best"]
    mask = tf.cast(tf.random_uniform(tf.shape(x)) >= 0.5, tf.float32)
    assert Cut.SHAPE in {f.cause for f in why_none(mask, x)}


def test_of_a_comparison_the_sentence_does_not_say_that_x_is_an_integer(graph):
    x = tf.placeholder(tf.float32, [3], name="x")
    (finding,) = why_none(tf.cast(x > 0.5, tf.float32), x)
    assert str(finding).startswith(
        "x:0: from this op on the values are integers, booleans or strings (Greater 'Greater'"
    )


@pytest.mark.parametrize("v2", [False, True], ids=["V1 array", "V2 list"])
def test_a_write_whose_result_is_dropped_is_named(graph, v2):
    x = tf.constant([1.0, 2.0, 3.0])
    with control_flow(v2=v2):
        array = tf.TensorArray(tf.float32, 2, element_shape=[3]).write(0, tf.zeros([3]))
        with tf.name_scope("lost"):
            array.write(1, x).mark_used()
        y = array.read(0)
    (finding,) = why_none(y, x)
    assert finding.cause is Cut.NO_PATH
    assert finding.op.startswith("lost/")
    assert "array = array.write" in finding.advice
    kept = tf.TensorArray(tf.float32, 1, element_shape=[3]).write(0, x)
    assert why_none(kept.read(0), x) == []
