"""`to_tensorboard`: what TensorBoard reads back from the folder."""

import pytest
import tensorflow.compat.v1 as tf

from symgrad.graph import build, to_tensorboard


@pytest.fixture(scope="module")
def live():
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 4], name="x")
        w = tf.get_variable("w", [4, 4], use_resource=False)
        y = tf.reduce_sum(tf.tanh(x @ w), name="y")
        (g,) = tf.gradients(y, x)
        tf.gradients(tf.reduce_sum(g), x)
        tf.train.GradientDescentOptimizer(0.1).minimize(y)
    return graph


def read_back(logdir):
    reader = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    accumulator = reader.EventAccumulator(str(logdir))
    accumulator.Reload()
    return accumulator


def test_tensorboard_reads_the_coloured_copy(live, tmp_path):
    graph = build(live)
    to_tensorboard(graph, tmp_path)
    read = read_back(tmp_path).Graph()
    assert {node.name for node in read.node} == set(graph)
    sides = {"backward": ("BACKWARD", b"backward"), "update": ("UPDATE", b"update")}
    for node in read.node:
        role, order = graph.nodes[node.name]["role"], graph.nodes[node.name]["order"]
        device, cluster = sides.get(role, ("FORWARD", b"forward"))
        assert node.device == f"/device:{device}:{order - 1 if role == 'backward' else 0}"
        assert node.attr["_XlaCluster"].s == cluster
        assert list(node.input) == list(live.get_operation_by_name(node.name).node_def.input)
    assert {node.device for node in read.node} >= {"/device:FORWARD:0", "/device:BACKWARD:0", "/device:BACKWARD:1"}
    assert next(node for node in read.node if node.name == "y").attr["Tidx"].type == tf.int32.as_datatype_enum


def test_the_copy_is_a_graph_that_tensorflow_takes(live, tmp_path):
    to_tensorboard(build(live), tmp_path)
    written = read_back(tmp_path).Graph().SerializeToString()  # TensorBoard has message classes of its own
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(tf.GraphDef.FromString(written), name="")
        assert graph.get_tensor_by_name("gradients/y_grad/Reshape:0").shape.rank == 2


def test_the_graph_itself_stays_as_it_is(live, tmp_path):
    before = live.as_graph_def()
    to_tensorboard(build(live), tmp_path)
    assert live.as_graph_def() == before


def test_run_metadata_goes_along(live, tmp_path):
    metadata = tf.RunMetadata()
    metadata.step_stats.dev_stats.add(device="/cpu:0").node_stats.add(node_name="y", all_end_rel_micros=7)
    to_tensorboard(build(live), tmp_path, run_metadata=metadata, tag="step 7")
    assert read_back(tmp_path).RunMetadata("step 7").SerializeToString() == metadata.SerializeToString()


def test_the_graphs_tab_offers_it(live, tmp_path):
    """TensorBoard's own data provider, as its Graphs tab asks it."""
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing import data_provider, plugin_event_multiplexer
    from tensorboard.context import RequestContext

    to_tensorboard(build(live), tmp_path / "run")
    multiplexer = plugin_event_multiplexer.EventMultiplexer()
    multiplexer.AddRunsFromDirectory(str(tmp_path))
    multiplexer.Reload()
    provider = data_provider.MultiplexerDataProvider(multiplexer, str(tmp_path))
    found = provider.read_blob_sequences(RequestContext(), experiment_id="", plugin_name="graphs", downsample=1)
    (datum,) = found["run"]["__run_graph__"]
    read = tf.GraphDef.FromString(provider.read_blob(RequestContext(), blob_key=datum.values[0].blob_key))
    assert any(node.device == "/device:BACKWARD:0" for node in read.node)


def test_a_graph_whose_source_is_gone_is_written_without_attributes(live, tmp_path):
    (tmp_path / "g.pb").write_bytes(live.as_graph_def().SerializeToString())
    graph = build(tmp_path / "g.pb")
    (tmp_path / "g.pb").unlink()
    to_tensorboard(graph, tmp_path / "logs")
    read = read_back(tmp_path / "logs").Graph()
    assert {node.name: list(node.input) for node in read.node} == {
        op.name: list(op.node_def.input) for op in live.get_operations()
    }
