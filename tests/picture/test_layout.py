"""The layout: nothing overlaps, all is inside its frame, halves share rows, and it is the same every time."""

import json

import pytest
import tensorflow.compat.v1 as tf
from hypothesis import given
from hypothesis import strategies as st

from symgrad._picture._coordinates import place
from symgrad._picture._layering import WIDEST_ROW, arrange
from symgrad._picture._layout import plan
from symgrad._picture._svg import to_open
from symgrad.graph import build


def residual_net():
    """Branches, nested scopes, a long series, an optimizer."""
    with tf.Graph().as_default() as graph:
        h = tf.placeholder(tf.float32, [None, 4], name="x")
        for _ in range(7):
            with tf.variable_scope(None, default_name="block"):
                with tf.variable_scope("inner"):
                    w = tf.get_variable("w", [4, 4], use_resource=False)
                    branch = tf.tanh(h @ w)
                h = tf.nn.relu(h + branch) * tf.sigmoid(branch)
        tf.train.AdamOptimizer().minimize(tf.reduce_sum(h, name="loss"))
    return graph


def second_order():
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [3], name="x")
        with tf.name_scope("f"):
            y = tf.sin(tf.exp(x) * x)
        (g,) = tf.gradients(y, x)
        tf.gradients(g, x)
    return graph


def loop():
    was_v2 = tf.control_flow_v2_enabled()
    tf.disable_control_flow_v2()
    try:
        with tf.Graph().as_default() as graph:
            w = tf.get_variable("w", [3, 3], use_resource=False)
            _, s = tf.while_loop(lambda i, _: i < 3, lambda i, s: (i + 1, tf.tanh(s @ w)), [0, tf.ones([2, 3])])
            tf.gradients(tf.reduce_sum(s), w)
    finally:
        if was_v2:
            tf.enable_control_flow_v2()
    return graph


GRAPHS = {"residual": residual_net, "second order": second_order, "loop": loop}


@pytest.fixture(scope="module")
def built():
    return {name: build(make()) for name, make in GRAPHS.items()}


def overlap(a, b):
    return a.x < b.x + b.w and b.x < a.x + a.w and a.y < b.y + b.h and b.y < a.y + a.h


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("fold", [0, 1, 2, 9, None])
@pytest.mark.parametrize("constants", [False, True])
def test_boxes(built, name, fold, constants):
    picture = plan(built[name], constants=constants)
    opened = to_open(picture, fold)
    placed = place(picture, opened)
    closed = [box for box in placed.boxes if not box.open]
    for i, a in enumerate(closed):
        assert a.w > 0
        assert a.h > 0
        assert not any(overlap(a, b) for b in closed[i + 1 :])
    frames = {(box.group, box.column): box for box in placed.boxes if box.open}
    for box in placed.boxes:
        at = box.group if (box.group, box.column) in frames and not box.open else picture.groups[box.group].parent
        frame = frames.get((at, box.column))
        if frame is not None:
            assert frame.x <= box.x
            assert box.x + box.w <= frame.x + frame.w + 1e-6
            assert frame.y <= box.y
            assert box.y + box.h <= frame.y + frame.h + 1e-6
    middles = {}
    for box in placed.boxes:
        if box.op < 0 or picture.groups[box.group].counts[box.column] == 1:
            middles.setdefault(box.group, set()).add(round(box.y + box.h / 2, 3))
    assert all(len(ys) == 1 for ys in middles.values()), "all columns of a group are in one row"


@pytest.mark.parametrize("name", GRAPHS)
def test_every_op_has_one_place(built, name):
    picture = plan(built[name], constants=True)
    assert [op.name for op in picture.ops] == list(built[name])
    listed = [op for group in picture.groups for rows in group.cells for row in rows for op in row]
    assert sorted(listed) == list(range(len(picture.ops)))
    for group in picture.groups:
        for row in group.rows:
            assert len(row) <= WIDEST_ROW
    for op in picture.ops:
        assert op.column == (
            built[name].nodes[op.name]["order"] if op.role == "backward" else 0 if op.role != "update" else op.column
        )
        if op.pair is not None:
            mate = next(other for other in picture.ops if other.name == op.pair)
            assert op.group == mate.group, "a backward op lives with its forward op"


def test_the_plan_is_the_same_every_time_and_is_json(built):
    for name, make in GRAPHS.items():
        first, second = plan(built[name]).as_dict(), plan(build(make())).as_dict()
        assert json.dumps(first) == json.dumps(second)


def test_forward_edges_lead_down(built):
    picture = plan(built["residual"], series=False)
    row_of = {child: i for group in picture.groups for i, row in enumerate(group.rows) for child in row}
    for source, target, _ in picture.edges:
        a, b = picture.ops[source], picture.ops[target]
        if a.column == b.column == 0 and picture.groups[a.group].parent == picture.groups[b.group].parent:
            assert row_of[a.group] < row_of[b.group] or a.group == b.group


EDGES = st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)), max_size=40)


@given(edges=EDGES, weak=EDGES)
def test_arrange_keeps_every_member_once(edges, weak):
    rows = arrange(range(12), edges, weak)
    assert sorted(member for row in rows for member in row) == list(range(12))
    assert rows == arrange(range(12), edges, weak)


@given(edges=EDGES)
def test_arrange_points_down_where_there_is_no_cycle(edges):
    edges = [(a, b) for a, b in edges if a < b]
    rows = arrange(range(12), edges, [])
    row_of = {member: i for i, row in enumerate(rows) for member in row}
    assert all(row_of[a] < row_of[b] for a, b in edges)


def test_flat_names_that_spell_out_a_hierarchy_become_blocks():
    with tf.Graph().as_default() as graph:
        h = tf.placeholder(tf.float32, [2], name="x")
        for stage in (2, 3):
            for block in (1, 2, 3):
                for make in (tf.sin, tf.tanh, tf.exp):
                    h = make(h, name=f"conv{stage}_block{block}_{make.__name__}")
        tf.identity(h, name="y")
    picture = plan(build(graph))
    by_name = {group.name: group for group in picture.groups}
    assert [picture.groups[child].label for row in picture.groups[0].rows for child in row] == [
        "x", "conv2", "conv3", "y",
    ]  # fmt: skip
    assert by_name["conv2"].counts[0] == 9
    blocks = [picture.groups[child].label for row in by_name["conv2"].rows for child in row]
    assert len(blocks) == 9, "nine siblings are few enough to stand side by side"
    flat = plan(build(graph), series=False)
    assert len(flat.groups[0].rows) == 20
