"""`symgrad._files`: what is read, and what each foreign or damaged file is told to be."""

import gzip
import json
import pickle
import zipfile

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from google.protobuf import text_format

from symgrad import _files
from symgrad._tf import SavedModel
from symgrad.errors import LoadError


def small_graph_def():
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        w = tf.Variable(tf.ones([3, 2]), name="w", use_resource=False)
        loss = tf.reduce_sum(tf.tanh(x @ w), name="loss")
        tf.gradients(loss, [w])
        return graph.as_graph_def()


def meta_graph():
    meta = tf.MetaGraphDef()
    meta.meta_info_def.meta_graph_version = "v1"
    meta.meta_info_def.tags.append("serve")
    meta.graph_def.CopyFrom(small_graph_def())
    return meta


def saved_model(*tags):
    model = SavedModel(saved_model_schema_version=1)
    for tag in tags:
        meta = meta_graph()
        meta.meta_info_def.ClearField("tags")
        meta.meta_info_def.tags.append(tag)
        model.meta_graphs.append(meta)
    return model


MESSAGES = {"GraphDef": small_graph_def, "MetaGraphDef": meta_graph, "SavedModel": lambda: saved_model("serve")}


@pytest.mark.parametrize("kind", MESSAGES)
@pytest.mark.parametrize("form", ["binary", "text"])
def test_reads_each_kind_in_each_form(kind, form):
    message = MESSAGES[kind]()
    data = message.SerializeToString() if form == "binary" else text_format.MessageToString(message).encode()
    file = _files.read(data)
    assert file.kind == kind
    assert [n.name for n in file.graph_def.node] == [n.name for n in small_graph_def().node]
    assert _files.read_graph_def(data) == file.graph_def


def test_wiring_has_every_edge_of_the_graph():
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [4], name="x")
        a, b = tf.split(x, 2, name="halves")
        with tf.control_dependencies([tf.no_op(name="first")]):
            tf.add(b, a, name="sum")
    wires = _files.read(graph.as_graph_def().SerializeToString()).wiring
    edges = {
        (wires.names[s], wires.names[t], int(o), int(i))
        for s, t, o, i in zip(wires.source, wires.target, wires.output, wires.slot, strict=True)
    }
    want = {(t.op.name, op.name, t.value_index, i) for op in graph.get_operations() for i, t in enumerate(op.inputs)}
    want |= {(c.name, op.name, -1, -1) for op in graph.get_operations() for c in op.control_inputs}
    assert edges == want
    assert ("halves", "sum", 1, 0) in edges
    assert ("first", "sum", -1, -1) in edges


def test_ends_are_placeholders_and_unconsumed_results():
    wires = _files.read(small_graph_def().SerializeToString()).wiring
    data = wires.output >= 0
    inputs, outputs = _files.ends(wires.types, wires.source[data], wires.target[data])
    assert [wires.names[i] for i in inputs] == ["x"]
    assert "loss" in [wires.names[i] for i in outputs]
    assert "w/Assign" not in [wires.names[i] for i in outputs]


def test_saved_model_tags():
    data = saved_model("serve", "train").SerializeToString()
    assert list(_files.read(data).meta_graph.meta_info_def.tags) == ["serve"]
    assert list(_files.read(data, tags="train").meta_graph.meta_info_def.tags) == ["train"]
    with pytest.raises(LoadError, match=r"no MetaGraph is tagged \['gpu'\].*\['serve'\] or \['train'\]"):
        _files.read(data, tags=["gpu"])
    with pytest.raises(LoadError, match="choose one by tags="):
        _files.read(saved_model("a", "b").SerializeToString())


def make_zip(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("config.json", "{}")


FOREIGN = {
    "empty": (lambda p: p.write_bytes(b""), "empty"),
    "hdf5": (lambda p: p.write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(100)), "HDF5"),
    "zip": (make_zip, "zip archive"),
    "gzip": (lambda p: p.write_bytes(gzip.compress(b"node {}")), "gzip archive"),
    "pickle": (lambda p: p.write_bytes(pickle.dumps({"a": 1})), "pickle"),
    "npy": (lambda p: np.save(p.open("wb"), np.ones(3)), "NumPy array"),
    "tflite": (lambda p: p.write_bytes(b"\x1c\x00\x00\x00TFL3" + bytes(64)), "TensorFlow Lite"),
    "json": (lambda p: p.write_text(json.dumps({"nodes": []})), "JSON"),
    "html": (lambda p: p.write_text("<!DOCTYPE html><html>404</html>"), "HTML"),
    "lfs": (lambda p: p.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\n"), "git lfs pull"),
    "state": (lambda p: p.write_text('model_checkpoint_path: "m-1"\n'), "`checkpoint` state file"),
    "prose": (lambda p: p.write_text("Dear reader,\nthis is no graph.\n"), "a text file"),
    "noise": (lambda p: p.write_bytes(np.random.default_rng(0).bytes(500)), "neither a TensorFlow graph"),
    "text cut": (lambda p: p.write_text('node {\n  name: "x"\n  op: "Placehol'), "text of a GraphDef, damaged"),
    "text typo": (lambda p: p.write_text('node { nmae: "x" }'), r"1:8 .*nmae"),
    "text nested": (lambda p: p.write_text("node { attr { value { func {" * 3000), "text of a GraphDef, damaged"),
    "no op": (lambda p: p.write_text("versions { producer: 27 }"), "without a single op"),
    "directory": (lambda p: p.mkdir(), "without saved_model.pb"),
    "no model": (lambda p: (p / "variables").mkdir(parents=True), "saved_model.pb is missing"),
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_foreign_files_are_named(kind, tmp_path):
    write, message = FOREIGN[kind]
    path = tmp_path / "model.pb"
    write(path)
    with pytest.raises(LoadError, match=message) as caught:
        _files.read(path)
    assert str(path) in str(caught.value)


def test_checkpoint_files_are_named(tmp_path):
    with tf.Graph().as_default(), tf.Session() as session:
        w = tf.Variable([1.0], name="w", use_resource=False)
        session.run(w.initializer)
        prefix = tf.train.Saver([w]).save(session, str(tmp_path / "m"))
    with pytest.raises(LoadError, match="index of a TensorFlow checkpoint"):
        _files.read(prefix + ".index")
    with pytest.raises(LoadError, match=r"prefix of a checkpoint; give its graph, m\.meta"):
        _files.read(prefix)
    with pytest.raises(LoadError, match=r"checkpoint directory, not a SavedModel.*m\.meta"):
        _files.read(tmp_path)
    assert _files.read(prefix + ".meta").checkpoint == prefix


def test_events_file_is_named(tmp_path):
    with tf.Graph().as_default() as graph:
        tf.summary.FileWriter(str(tmp_path), graph).close()
    (events,) = tmp_path.glob("events*")
    with pytest.raises(LoadError, match="TensorBoard event file"):
        _files.read(events)


@pytest.mark.parametrize("source", ["no/such/file.pb", "nul\0byte", 7, None])
def test_what_is_no_file(source):
    with pytest.raises(LoadError, match=r"no such file|cannot be read|expected a path or bytes"):
        _files.read(source)


def node(name, op, *inputs):
    return tf.NodeDef(name=name, op=op, input=inputs)


BROKEN = {
    "duplicate": ([node("a", "Const"), node("a", "Abs")], "two nodes are named 'a'"),
    "missing": ([node("a", "Abs", "b:1")], "node 'a' reads 'b:1', which no node makes"),
    "missing control": ([node("a", "NoOp", "^b")], r"reads '\^b'"),
    "huge index": ([node("a", "Const"), node("b", "Abs", "a:" + "9" * 5000)], "which no node makes"),
    "no name": ([node("a", "Const"), node("", "Abs")], "node 1 has no name"),
    "no type": ([node("a", "Const"), node("b", "")], "node 1 has no op type"),
    "self loop": ([node("a", "Abs", "a")], "'a' reads its own output"),
    "cycle": ([node("a", "Abs", "c"), node("b", "Abs", "a"), node("c", "Abs", "b")], "3 nodes form a cycle"),
    "control cycle": ([node("a", "NoOp", "^b"), node("b", "NoOp", "^a")], "'a', 'b'"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_broken_graphs_are_named(kind):
    nodes, message = BROKEN[kind]
    with pytest.raises(LoadError, match=message):
        _files.read(tf.GraphDef(node=nodes).SerializeToString())


def test_a_v1_loop_is_no_cycle():
    with tf.Graph().as_default() as graph:
        from tensorflow.compat.v1 import while_loop

        was_v2 = tf.control_flow_v2_enabled()
        tf.disable_control_flow_v2()
        try:
            while_loop(lambda i: i < 3, lambda i: i + 1, [tf.constant(0)])
        finally:
            if was_v2:
                tf.enable_control_flow_v2()
    file = _files.read(graph.as_graph_def().SerializeToString())
    assert "NextIteration" in file.wiring.types


def test_truncated_binary_is_called_truncated():
    data = small_graph_def().SerializeToString()
    with pytest.raises(LoadError, match=r"truncated or damaged: after .* whole records"):
        _files.read(data[:-40])


def test_what_is_scattered_into_a_tensor_is_an_output():
    with tf.Graph().as_default() as graph:
        tf.scatter_nd(tf.placeholder(tf.int32, [1, 1], "x"), [1.0], [4], name="scattered")
    wires = _files.read(graph.as_graph_def().SerializeToString()).wiring
    data = wires.output >= 0
    _, outputs = _files.ends(wires.types, wires.source[data], wires.target[data])
    assert [wires.names[i] for i in outputs] == ["scattered"]
