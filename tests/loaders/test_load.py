"""`symgrad.loaders.load`: what was saved comes back and computes the same numbers."""

import re

import numpy as np
import pytest
import tensorflow as tf2
import tensorflow.compat.v1 as tf
from cases import v1_control_flow

import symgrad
from symgrad.errors import LoadError

X = np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)
W = np.arange(6, dtype=np.float32).reshape(3, 2) / 7
Y = np.tanh(X @ W)


def linear_model(*, resource):
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    w = tf.get_variable("w", initializer=tf.zeros([3, 2]), use_resource=resource)
    y = tf.tanh(x @ w, name="y")
    return x, w, y


@pytest.mark.parametrize("resource", [False, True], ids=["reference", "resource"])
@pytest.mark.parametrize("as_text", [False, True], ids=["binary", "text"])
def test_bare_graph_def(resource, as_text, tmp_path):
    name = "model.pbtxt" if as_text else "model.pb"
    with tf.Graph().as_default() as graph:
        linear_model(resource=resource)
        tf.train.write_graph(graph, str(tmp_path), name, as_text=as_text)
    model = symgrad.loaders.load(tmp_path / name)
    assert [v.name for v in model.variables] == ["w:0"]
    assert list(model.inputs) == ["x"]
    assert "y" in model.outputs
    with tf.Session(graph=model.graph) as session:
        session.run(model.variables[0].initializer)
        assert session.run(model.variables[0]).tolist() == [[0, 0], [0, 0], [0, 0]]
        with model.graph.as_default():
            session.run(tf.assign(model.variables[0], W))
        # float32 matmul and tanh of numbers near 1: a few units in the last place
        np.testing.assert_allclose(session.run(model.outputs["y"], {model.inputs["x"]: X}), Y, rtol=1e-6)
        with pytest.raises(LoadError, match="a bare GraphDef names no checkpoint, and the graph has 1 variables"):
            model.restore(session)


@pytest.mark.parametrize("resource", [False, True], ids=["reference", "resource"])
def test_meta_graph_with_checkpoint(resource, tmp_path):
    with tf.Graph().as_default(), tf.Session() as session:
        _, w, y = linear_model(resource=resource)
        train = tf.train.MomentumOptimizer(0.1, 0.9).minimize(tf.reduce_sum(y))
        session.run(tf.global_variables_initializer())
        session.run(tf.assign(w, W))
        prefix = tf.train.Saver().save(session, str(tmp_path / "model.ckpt"), global_step=7)
    assert train.name
    model = symgrad.loaders.load(prefix + ".meta")
    before = len(model.graph.get_operations())
    assert sorted(v.op.name for v in model.variables) == ["w", "w/Momentum"]
    with tf.Session(graph=model.graph) as session:
        model.restore(session)
        np.testing.assert_array_equal(session.run(model.variables[0]), W)
        np.testing.assert_allclose(session.run(model.graph.get_tensor_by_name("y:0"), {"x:0": X}), Y, rtol=1e-6)
    assert len(model.graph.get_operations()) == before, "restoring adds no ops"


def test_bare_graph_def_with_a_checkpoint_given(tmp_path):
    with tf.Graph().as_default() as graph, tf.Session() as session:
        _, w, _ = linear_model(resource=False)
        tf.train.write_graph(graph, str(tmp_path), "model.pb", as_text=False)
        session.run(tf.assign(w, W))
        prefix = tf.train.Saver().save(session, str(tmp_path / "values"))
    model = symgrad.loaders.load(tmp_path / "model.pb")
    with tf.Session(graph=model.graph) as session:
        model.restore(session, prefix)
        np.testing.assert_array_equal(session.run(model.variables[0]), W)


def test_meta_graph_without_its_checkpoint(tmp_path):
    with tf.Graph().as_default():
        linear_model(resource=False)
        tf.train.export_meta_graph(str(tmp_path / "alone.meta"))
    model = symgrad.loaders.load(tmp_path / "alone.meta")
    with tf.Session(graph=model.graph) as session, pytest.raises(LoadError, match=r"no checkpoint at .*alone"):
        model.restore(session)
    with tf.Session(graph=tf.Graph()) as session, pytest.raises(LoadError, match="another graph"):
        model.restore(session)


def test_checkpoint_of_another_model(tmp_path):
    with tf.Graph().as_default(), tf.Session() as session:
        other = tf.get_variable("other", initializer=[1.0], use_resource=False)
        session.run(other.initializer)
        prefix = tf.train.Saver().save(session, str(tmp_path / "m"))
    with tf.Graph().as_default() as graph:
        linear_model(resource=False)
        tf.train.write_graph(graph, str(tmp_path), "model.pb", as_text=False)
    model = symgrad.loaders.load(tmp_path / "model.pb")
    with tf.Session(graph=model.graph) as session, pytest.raises(LoadError, match="does not fit the graph"):
        model.restore(session, prefix)


def test_saved_model_of_tf1_with_signatures_and_a_vocabulary(tmp_path):
    vocabulary = tmp_path / "words.txt"
    vocabulary.write_text("zero\none\n")
    with tf.Graph().as_default(), tf.Session() as session:
        x, w, y = linear_model(resource=True)
        words = tf.placeholder(tf.string, [None], name="words")
        asset = tf.constant(str(vocabulary))
        tf.add_to_collection(tf.GraphKeys.ASSET_FILEPATHS, asset)
        table = tf.lookup.StaticVocabularyTable(
            tf.lookup.TextFileInitializer(asset, tf.string, tf.lookup.TextFileIndex.WHOLE_LINE,
                                          tf.int64, tf.lookup.TextFileIndex.LINE_NUMBER), 1)  # fmt: skip
        ids = table.lookup(words)
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        session.run(tf.assign(w, W))
        define = tf.saved_model.signature_def_utils.predict_signature_def
        builder = tf.saved_model.Builder(str(tmp_path / "saved"))
        signatures = {"score": define({"in": x}, {"out": y}), "ids": define({"words": words}, {"ids": ids})}
        builder.add_meta_graph_and_variables(
            session,
            ["serve"],
            signatures,
            assets_collection=tf.get_collection(tf.GraphKeys.ASSET_FILEPATHS),
            main_op=tf.tables_initializer(),
        )
        builder.save()
    vocabulary.unlink()
    with pytest.raises(LoadError, match="choose one of its signatures by signature=: 'ids', 'score'"):
        symgrad.loaders.load(tmp_path / "saved")
    with pytest.raises(LoadError, match="no signature 'nope'"):
        symgrad.loaders.load(tmp_path / "saved", signature="nope")
    model = symgrad.loaders.load(tmp_path / "saved", signature="score", tags="serve")
    by_id = symgrad.loaders.load(tmp_path / "saved", signature="ids")
    with tf.Session(graph=model.graph) as session:
        model.restore(session)
        np.testing.assert_allclose(session.run(model.outputs["out"], {model.inputs["in"]: X}), Y, rtol=1e-6)
    with tf.Session(graph=by_id.graph) as session:
        by_id.restore(session)
        assert session.run(by_id.outputs["ids"], {by_id.inputs["words"]: ["one", "zero"]}).tolist() == [1, 0]


def test_saved_model_of_tf2(tmp_path):
    class Linear(tf2.Module):
        def __init__(self):
            self.w = tf2.Variable(W, name="w")

        @tf2.function(input_signature=[tf2.TensorSpec([None, 3], tf2.float32, name="x")])
        def __call__(self, x):
            return {"y": tf2.tanh(x @ self.w)}

    tf2.saved_model.save(Linear(), str(tmp_path))
    model = symgrad.loaders.load(tmp_path)
    assert (list(model.inputs), list(model.outputs)) == (["x"], ["y"])
    y, (w,) = model.outputs["y"], model.variables
    with model.graph.as_default():
        gradient = symgrad.Lop(y, w, tf.ones_like(y))
    with tf.Session(graph=model.graph) as session:
        model.restore(session)
        got = session.run([y, w.value(), gradient], {model.inputs["x"]: X})
    for a, b in zip(got, [Y, W, np.transpose(X) @ (1 - np.square(Y))], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)  # float32


def test_outputs_are_what_a_session_gives_out(tmp_path):
    """A branch inside of a V1 loop ends in ops of the frame that nothing reads."""
    with tf.Graph().as_default() as graph, v1_control_flow():
        x = tf.placeholder(tf.float32, [3], name="x")
        tf.map_fn(lambda t: tf.cond(t > 0.0, lambda: t * 2.0, lambda: -t), x, name="y")
    model = symgrad.loaders.load(graph.as_graph_def().SerializeToString())
    with tf.Session(graph=model.graph) as session:
        found = session.run(model.outputs, {"x:0": [1.0, -2.0, 3.0]})
    assert any(np.array_equal(value, [2.0, 2.0, 6.0]) for value in found.values())


def test_every_unknown_op_is_named(tmp_path):
    nodes = [
        tf.NodeDef(name="a", op="ContribThing"),
        tf.NodeDef(name="b", op="OtherThing", input=["a"]),
        tf.NodeDef(name="c", op="NoOp", input=["^b"]),
    ]
    with pytest.raises(LoadError, match=r"2 op type\(s\).*ContribThing \('a'\), OtherThing \('b'\).*load_op_library"):
        symgrad.loaders.load(tf.GraphDef(node=nodes).SerializeToString())


def test_what_tensorflow_refuses_is_a_load_error():
    bad = tf.GraphDef(node=[tf.NodeDef(name="a", op="Placeholder"), tf.NodeDef(name="b", op="MatMul", input=["a"])])
    with pytest.raises(LoadError, match="cannot import this GraphDef"):
        symgrad.loaders.load(bad.SerializeToString())


def test_a_function_that_calls_itself_is_a_load_error():
    """TensorFlow's import would end the process."""
    with tf.Graph().as_default() as graph:
        tf2.function(lambda x: x * x)(tf.placeholder(tf.float32, [3]))
    graph_def = graph.as_graph_def()
    (function,) = graph_def.library.function
    (call,) = (node for node in graph_def.node if node.op.endswith("PartitionedCall"))
    again = function.node_def.add()
    again.CopyFrom(call)
    again.name, again.input[:] = "again", [function.signature.input_arg[0].name]
    with pytest.raises(LoadError, match="calls itself"):
        symgrad.loaders.load(graph_def.SerializeToString())


@tf.RegisterGradient("TwiceTheGradientOfSquare")
def _twice(op, dy):
    return 4 * op.inputs[0] * dy


@pytest.mark.parametrize("stored", ["graph_def", "saved_model"])
def test_a_gradient_override_map_around_the_call_holds_for_what_is_loaded(stored, tmp_path):
    with tf.Graph().as_default() as graph, tf.Session() as session:
        x = tf.placeholder(tf.float32, [], name="x")
        y = tf.square(x, name="y")
        tf.saved_model.simple_save(session, str(tmp_path / "saved"), {"x": x}, {"y": y})
    source = graph.as_graph_def().SerializeToString() if stored == "graph_def" else tmp_path / "saved"
    for overrides, want in (
        ({"Square": "TwiceTheGradientOfSquare"}, 12.0),
        ({"square": "TwiceTheGradientOfSquare"}, 6.0),
    ):
        with tf.Graph().as_default() as around, around.gradient_override_map(overrides):
            model = symgrad.loaders.load(source)
        with model.graph.as_default(), tf.Session() as session:
            x, y = (model.graph.get_tensor_by_name(name) for name in ("x:0", "y:0"))
            assert session.run(symgrad.gradients(y, x)[0], {x: 3.0}) == want


def test_a_model_says_in_a_line_what_it_is_and_names_no_file_of_its_saver(tmp_path):
    with tf.Graph().as_default(), tf.Session() as session:
        linear_model(resource=True)
        tf.placeholder(tf.float32, [], name="a>b")
        session.run(tf.global_variables_initializer())
        tf.train.Saver().save(session, str(tmp_path / "model"))
    model = symgrad.loaders.load(tmp_path / "model.meta")
    assert sorted(model.inputs) == ["a>b", "x"]
    assert re.fullmatch(r"<Model of \S*model.meta: [\d,]+ ops; inputs x, a>b; outputs y; 1 variables>", repr(model))
    shown = model._repr_html_()
    assert "<td>a&gt;b</td><td>float32</td><td>()</td>" in shown
    assert "<td>variable</td><td>w:0</td><td>float32</td><td>(3, 2)</td>" in shown
