"""Draws the pictures of the documentation into docs/pictures.

    python scripts/make_pictures.py [NAME ...]

The picture of the README comes from `symgrad demo`, which is run for it.
"""

import shutil
import sys
import tempfile
from pathlib import Path

import tensorflow.compat.v1 as tf

from symgrad.cli import main as symgrad
from symgrad.graph import build, to_svg

FOLDER = Path(__file__).parent.parent / "docs" / "pictures"


def dense(name, x, units, activation=tf.nn.relu):
    with tf.variable_scope(name):
        w = tf.get_variable("kernel", [x.shape[-1], units])
        b = tf.get_variable("bias", [units])
        return activation(tf.nn.bias_add(x @ w, b))


def conv(name, x, filters):
    with tf.variable_scope(name):
        w = tf.get_variable("kernel", [3, 3, x.shape[-1], filters])
        return tf.nn.relu(tf.nn.conv2d(x, w, strides=1, padding="SAME"))


def mlp():
    x = tf.placeholder(tf.float32, [None, 784], name="images")
    h = dense("first", x, 256)
    scores = dense("second", h, 10, tf.identity)
    loss = tf.reduce_mean(tf.square(scores), name="loss")
    tf.train.GradientDescentOptimizer(0.1).minimize(loss)


def conv_net():
    x = tf.placeholder(tf.float32, [None, 28, 28, 1], name="images")
    h = conv("conv1", x, 32)
    h = tf.nn.max_pool2d(h, 2, 2, "SAME", name="pool1")
    h = conv("conv2", h, 64)
    h = tf.nn.max_pool2d(h, 2, 2, "SAME", name="pool2")
    scores = dense("scores", tf.reshape(h, [-1, 7 * 7 * 64], name="flat"), 10, tf.identity)
    loss = tf.reduce_mean(tf.square(scores), name="loss")
    tf.gradients(loss, tf.trainable_variables())


def rnn():
    """A loop of V1 control flow: Enter, Merge, Switch, NextIteration, Exit, and the loop that runs it backwards."""
    x = tf.placeholder(tf.float32, [20, None, 8], name="sequence")
    with tf.variable_scope("cell"):
        w = tf.get_variable("kernel", [24, 16])
    state = tf.zeros([tf.shape(x)[1], 16], name="start")

    def step(t, h):
        return t + 1, tf.tanh(tf.concat([x[t], h], axis=1) @ w)

    _, state = tf.while_loop(lambda t, h: t < 20, step, [0, state], name="steps")
    loss = tf.reduce_mean(tf.square(state), name="loss")
    tf.gradients(loss, w)


def resnet50():
    import tf_keras

    tf_keras.backend.set_learning_phase(1)
    model = tf_keras.applications.ResNet50(weights=None)
    loss = tf.reduce_mean(tf.square(model.output), name="loss")
    tf.gradients(loss, model.trainable_weights)


def adam():
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    w = tf.get_variable("w", [3, 1])
    tf.train.AdamOptimizer(0.01).minimize(tf.reduce_mean(tf.square(x @ w), name="loss"))


def demo():
    """The demo's own pictures, which the README shows."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            symgrad(["demo", "--out", folder])
        except SystemExit as end:
            if end.code:
                raise
        for name in ("gradient_graph.svg", "gradient_graph.html", "jacobian.png"):
            shutil.copy(Path(folder) / name, FOLDER / name)


# name: what makes the graph, options of the picture
DRAWN = {
    "mlp": (mlp, {"title": "Two dense layers and a step of gradient descent"}),
    "conv_net": (conv_net, {"title": "A convolutional net"}),
    "conv_net_path": (conv_net, {"title": "", "ys": "loss", "xs": "images", "fold": 0}),
    "rnn": (rnn, {"title": "A recurrent net: a V1 loop, and the loop that runs it backwards"}),
    "resnet50": (resnet50, {"title": "ResNet50 of tf_keras"}),
    "adam": (adam, {"title": "One step of Adam", "fold": 1}),
}


def draw(name):
    make, options = DRAWN[name]
    with tf.Graph().as_default() as graph, tf.variable_scope("", use_resource=False):
        tf.disable_control_flow_v2()
        make()
    to_svg(build(graph), FOLDER / f"{name}.svg", **options)


def main(names):
    FOLDER.mkdir(exist_ok=True)
    for name in names or [*DRAWN, "demo"]:
        if name == "demo":
            demo()
        else:
            draw(name)
        print(name)


if __name__ == "__main__":
    main(sys.argv[1:])
