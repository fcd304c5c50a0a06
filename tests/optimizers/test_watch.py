"""What TensorBoard is given: hyperparameters, norms of gradients and of updates, distributions."""

import glob

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from symgrad.optimizers import Momentum, watch

tf2 = tf.compat.v2


def scalars(summary):
    """Tag to value of a serialized summary; a histogram by the sum of its numbers."""
    values = tf.Summary.FromString(summary).value
    return {v.tag: v.histo.sum if v.HasField("histo") else v.simple_value for v in values}


WANT = {
    # Momentum on sum(x^2) + row 1 of the table twice, after the second step: x = 0.8 * (3, 4), momentum = 2 x_0.
    "Momentum/learning_rate": 0.1,
    "Momentum/momentum": 0.5,
    "Momentum/gradient_norm/x": 8.0,
    "Momentum/update_norm/x": 0.1 * (0.5 * 10 + 8.0),
    "Momentum/gradient_norm/table": np.sqrt(8.0),
    "Momentum/update_norm/table": 0.1 * 1.5 * np.sqrt(8.0),
    "Momentum/gradient/x": 2 * 0.8 * 7,
    "Momentum/gradient/table": 4.0,
}


@pytest.mark.parametrize("use_resource", [True, False], ids=["resource", "reference"])
def test_summaries_of_a_graph(use_resource, graph, session):
    x = tf.Variable([3.0, 4.0], name="x", use_resource=use_resource)
    table = tf.Variable(tf.zeros([3, 2]), name="table", use_resource=use_resource)
    loss = tf.reduce_sum(x * x) + tf.reduce_sum(tf.gather(table, [1, 1]))
    step = Momentum(0.1, 0.5, transforms=[watch(histograms=True)]).minimize(loss)
    merged = tf.summary.merge_all()
    session.run(tf.global_variables_initializer())
    assert scalars(session.run(merged))["Momentum/update_norm/x"] == 0.0  # no step yet
    session.run(step)
    summary, _ = session.run([merged, step])
    before = session.run([x, table])
    # The gradients are those of the second step; fetching the summaries again takes no step.
    got = scalars(summary) | {k: v for k, v in scalars(session.run(merged)).items() if "update_norm" in k}
    assert got.keys() == WANT.keys()
    for tag, value in WANT.items():
        assert got[tag] == pytest.approx(value, rel=1e-5), tag
    for ours, value in zip(session.run([x, table]), before, strict=True):
        np.testing.assert_array_equal(ours, value)


@pytest.mark.parametrize("wrap", [lambda f: f, tf.function], ids=["eager", "function"])
def test_summaries_of_eager_code(wrap, tmp_path):
    x, table = tf2.Variable([3.0, 4.0], name="x"), tf2.Variable(tf.zeros([3, 2]), name="table")
    optimizer = Momentum(0.1, 0.5, transforms=[watch(histograms=True)])

    def loss():
        return tf.reduce_sum(x * x) + tf.reduce_sum(tf.gather(table, [1, 1]))

    step = wrap(lambda: optimizer.minimize(loss, [x, table]))
    writer = tf2.summary.create_file_writer(str(tmp_path))
    with writer.as_default():
        step(), step()
    writer.close()
    got = {}
    (path,) = glob.glob(str(tmp_path / "events*"))
    for event in tf.train.summary_iterator(path):
        if event.HasField("summary"):
            got |= {(event.step, k): v for k, v in scalars(event.summary.SerializeToString()).items()}
    second = {tag: value for (step, tag), value in got.items() if step == 1}
    assert second.keys() == WANT.keys()
    for tag, value in WANT.items():
        assert second[tag] == pytest.approx(value, rel=1e-5), tag
