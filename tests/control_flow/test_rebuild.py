"""`loaders.rebuild`: the contexts made from the dataflow are those that TensorFlow had."""

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from cases import v1_control_flow
from loops import LOOPS, repeat

import symgrad
from symgrad._control_flow import rebuild
from symgrad.errors import ControlFlowError


def bare(graph, *names):
    """The part of the graph that the ops need, imported from a GraphDef without contexts."""
    definition = tf.graph_util.extract_sub_graph(graph.as_graph_def(), list(names))
    with tf.Graph().as_default() as imported:
        tf.import_graph_def(definition, name="")
    return imported


def contexts_of(op):
    """The contexts around an op, the innermost first; a predicate without the Identities after it."""
    context, found = op._get_control_flow_context(), []
    while context is not None:
        if context.IsCondContext():
            predicate = context.pred
            while predicate.op.type == "Identity":
                predicate = predicate.op.inputs[0]
            found.append((predicate.name, context.branch))
        else:
            found.append((context.pivot.name, context._pivot_for_pred.name))
        context = context.outer_context
    return found


@pytest.mark.parametrize("loop", LOOPS, ids=lambda loop: loop.name)
def test_contexts_are_those_of_tensorflow(loop):
    graph = loop.build()
    imported = bare(graph, "y")
    assert rebuild(imported) > 0
    names = {op.name for op in graph.get_operations()}
    for op in imported.get_operations():
        if op.name in names:
            assert contexts_of(op) == contexts_of(graph.get_operation_by_name(op.name)), op.name
    assert rebuild(imported) == 0, "a second time there is nothing to do"


def test_nothing_to_do_where_tensorflow_made_the_contexts():
    graph = next(loop for loop in LOOPS if loop.name == "nested_cond_in_loop").build()
    with graph.as_default(), v1_control_flow():
        tf.gradients(graph.get_tensor_by_name("y:0"), graph.get_tensor_by_name("x:0"))
    before = [contexts_of(op) for op in graph.get_operations()]
    assert rebuild(graph) == 0
    assert [contexts_of(op) for op in graph.get_operations()] == before


def test_contexts_made_beside_contexts_that_exist():
    nested = next(loop for loop in LOOPS if loop.name == "nested")
    with tf.Graph().as_default() as other, v1_control_flow():
        x = tf.placeholder(tf.float64, [3], name="x")
        tf.identity(repeat(3, lambda i, a: [a * x], [x], name="another")[0], name="y")
    graph = nested.build()
    old = {op: op._get_control_flow_context() for op in graph.get_operations()}
    with graph.as_default(), tf.Session() as session:
        x = graph.get_tensor_by_name("x:0")
        y = tf.import_graph_def(other.as_graph_def(), {"x": x}, ["y:0"], name="again")[0]
        lop = symgrad.Lop(y + graph.get_tensor_by_name("y:0"), x, np.ones(3))
        alone = symgrad.Lop(graph.get_tensor_by_name("y:0"), x, np.ones(3))
        assert all(op._get_control_flow_context() is context for op, context in old.items())
        both, one = session.run([lop, alone], {x: nested.point})
        # the other loop is x ** 4
        np.testing.assert_allclose(both, one + 4 * nested.point**3, rtol=1e-12)


def test_two_loops_of_one_frame():
    graph = LOOPS[0].build()
    with graph.as_default():
        x = graph.get_tensor_by_name("x:0")
        y = tf.import_graph_def(graph.as_graph_def(), {"x": x}, ["y:0"], name="again")[0]
        with pytest.raises(ControlFlowError, match="frame 'while/while_context' of another loop"):
            symgrad.Lop(y, x, np.ones(3))


def test_a_switch_that_both_branches_share():
    """Optimisers merge equal ops: one Switch of x then feeds both branches."""
    with tf.Graph().as_default(), v1_control_flow():
        x = tf.constant([0.5, 2.0], tf.float64, name="x")
        y = tf.map_fn(lambda e: tf.cond(e > 1, lambda: tf.sin(e), lambda: e * e), x, name="map")
        definition = tf.identity(y, name="y").graph.as_graph_def()
    switches = [node for node in definition.node if node.op == "Switch" and "/cond/" in node.name]
    kept, dropped = next((a, b) for a in switches for b in switches if a is not b and a.input[0] == b.input[0])
    for node in definition.node:
        inputs = [name.replace(dropped.name, kept.name) for name in node.input]
        node.ClearField("input")
        node.input.extend(inputs)
    definition.node.remove(dropped)
    with tf.Graph().as_default() as graph, tf.Session() as session:
        x, y = tf.import_graph_def(definition, return_elements=["x:0", "y:0"], name="")
        with pytest.raises(ControlFlowError, match=r"merged or removed ops.*loaders\.rebuild"):
            symgrad.Lop(y, x, [1.0, 1.0])
        rebuild(graph)
        got = session.run([y, symgrad.Lop(y, x, [1.0, 1.0])])
    np.testing.assert_allclose(got, [[0.25, np.sin(2.0)], [1.0, np.cos(2.0)]], rtol=1e-12)


def test_a_body_without_the_identities():
    """Optimisers take Identities out: then several ops read a loop variable from its Switch."""
    with tf.Graph().as_default(), v1_control_flow():
        x = tf.constant([0.5, 2.0], tf.float64, name="x")
        y = repeat(3, lambda i, a: [tf.sin(a) * a + x], [x])[0]
        definition = tf.identity(y, name="y").graph.as_graph_def()
    taken = {node.name: node.input[0] for node in definition.node if node.name.startswith("while/Identity_")}
    for node in definition.node:
        inputs = [taken.get(name, name) for name in node.input]
        node.ClearField("input")
        node.input.extend(inputs)
    with tf.Graph().as_default() as graph, tf.Session() as session:
        x, y = tf.import_graph_def(definition, return_elements=["x:0", "y:0"], name="")
        with pytest.raises(ControlFlowError, match=r"merged or removed ops.*loaders\.rebuild"):
            symgrad.Lop(y, x, [1.0, 1.0])
        rebuild(graph)
        slope = np.ones(2)
        a = at = np.array([0.5, 2.0])
        for _ in range(3):
            a, slope = np.sin(a) * a + at, (np.cos(a) * a + np.sin(a)) * slope + 1
        np.testing.assert_allclose(session.run([y, symgrad.Lop(y, x, [1.0, 1.0])]), [a, slope], rtol=1e-12)


def test_a_frame_that_is_no_loop():
    with tf.Graph().as_default() as graph:
        inner = tf.raw_ops.Enter(data=tf.constant(1.0), frame_name="odd")
        y = tf.raw_ops.Exit(data=inner * 2.0)
    with pytest.raises(ControlFlowError, match=r"frame 'odd'.*0 LoopCond ops and 0 loop variables"):
        rebuild(graph)
    assert y.graph is graph


def test_lop_of_a_frozen_file_with_an_lstm(tmp_path):
    lstm = next(loop for loop in LOOPS if loop.name == "lstm")
    with tf.Graph().as_default() as graph, v1_control_flow(), tf.Session() as session:
        x = tf.placeholder(tf.float64, lstm.point.shape, name="x")
        w = tf.get_variable("w", initializer=np.full((2, 2), 0.3), use_resource=True)
        y = tf.identity(lstm.function(tf.tensordot(x, w, 1)), name="y")
        session.run(w.initializer)
        want = session.run(tf.gradients(y, x)[0], {x: lstm.point})
        frozen = tf.graph_util.convert_variables_to_constants(session, graph.as_graph_def(), ["y"])
    (tmp_path / "frozen.pb").write_bytes(frozen.SerializeToString())
    model = symgrad.loaders.load(tmp_path / "frozen.pb")
    assert rebuild(model.graph) == 0, "loading has made the contexts"
    x, y = model.inputs["x"], model.outputs["y"]
    lop = symgrad.Lop(y, x, np.ones(y.shape.as_list()) if y.shape.is_fully_defined() else tf.ones_like(y))
    with tf.Session(graph=model.graph) as session:
        np.testing.assert_allclose(session.run(lop, {x: lstm.point}), want, rtol=1e-12)


def test_tensor_arrays_of_forward_ops_that_bear_the_name_of_gradients():
    """TensorFlow finds the accumulator of a pass by the last part of a name that begins with "gradients"."""
    point = np.array([[0.5, 1.0], [1.5, 2.0]])
    with tf.Graph().as_default(), v1_control_flow(), tf.Session() as session:
        x = tf.constant(point)
        with tf.name_scope("gradients_of_mine"):
            array = tf.TensorArray(tf.float64, 2, element_shape=[2]).unstack(x)
        first = repeat(2, lambda i, a: [a * tf.sin(array.read(i))], [tf.ones([2], tf.float64)])[0]
        got = session.run(symgrad.Lop(first, x, [1.0, 1.0]))
    np.testing.assert_allclose(got, np.cos(point) * np.sin(point[::-1]), rtol=1e-12)


@pytest.mark.parametrize("source", ["python", "bare"])
def test_the_gradient_of_a_loop_is_not_taken_in_reverse(source):
    graph = LOOPS[0].build()
    with graph.as_default(), v1_control_flow():
        tf.identity(tf.gradients(graph.get_tensor_by_name("y:0"), graph.get_tensor_by_name("x:0"))[0], name="g")
    graph = bare(graph, "g") if source == "bare" else graph
    g, x = graph.get_tensor_by_name("g:0"), graph.get_tensor_by_name("x:0")
    for operator in (lambda: symgrad.Lop(g, x, np.ones(3)), lambda: symgrad.gradients(g, x)):
        with pytest.raises(ControlFlowError, match=r"gradient of a V1 loop.*symgrad\.Rop"):
            operator()
