"""A graph's packed plan, and where Python puts its boxes and lines: the viewer must put them at the same places."""

import tensorflow.compat.v1 as tf

from symgrad._picture._coordinates import place
from symgrad._picture._layout import plan
from symgrad._picture._lines import wires
from symgrad._picture._page_data import pack
from symgrad._picture._svg import to_open
from symgrad.graph import build


def network():
    """Scopes in scopes, a series, constants, a loop, second order and updates."""
    with tf.Graph().as_default() as graph:
        h = tf.placeholder(tf.float32, [None, 4], name="x")
        for i in range(6):
            with tf.variable_scope(f"layer_{i}"):
                w = tf.get_variable("w", [4, 4], use_resource=False)
                with tf.name_scope("inside"):
                    h = tf.tanh(h @ w) + 0.5
        with tf.name_scope("branch"):
            h = tf.sin(h) * tf.cos(h)
        loss = tf.reduce_sum(h, name="loss")
        (first,) = tf.gradients(loss, h)
        tf.gradients(tf.reduce_sum(first**2), h)
        tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    return graph


def placed(graph, full, *, constants, depth):
    """Boxes by what they show, [name, column, open, x, y, w, h], and lines; `opened` are positions in the full plan."""
    picture = plan(graph, constants=constants)
    chosen = to_open(picture, depth, aside=constants)
    found = place(picture, chosen)
    wanted = {(picture.groups[at].kind, picture.groups[at].name) for at in chosen}
    opened = [i for i, group in enumerate(full.groups) if i and (group.kind, group.name) in wanted]
    boxes = [
        [
            picture.ops[box.op].name if box.op >= 0 else picture.groups[box.group].name,
            box.column,
            int(box.open),
            *(round(value, 3) for value in (box.x, box.y, box.w, box.h)),
        ]
        for box in found.boxes
    ]
    return {
        "name": f"{'everything' if depth == 99 else 'some' if depth is None else 'nothing'} open, "
        f"{'with' if constants else 'without'} constants",
        "asides": ["constant", "initializer", "dead"] if constants else [],
        "opened": opened,
        "boxes": sorted(boxes),
        "width": found.width,
        "height": found.height,
        "paths": sorted(wire.path for wire in wires(picture, found)),
    }


def fixture():
    graph = build(network())
    graph.graph["source"] = None  # attributes differ between versions of TensorFlow
    picture = plan(graph, constants=True)
    cases = [(constants, depth) for constants in (False, True) for depth in (None, 0, 99)]
    return {
        "data": pack(graph, picture, to_open(picture, None)),
        "cases": [placed(graph, picture, constants=constants, depth=depth) for constants, depth in cases],
    }
