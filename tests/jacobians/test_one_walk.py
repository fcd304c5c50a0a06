"""The paths between xs and ys are walked once a call; those of parts of a problem are looked for among them."""

import pytest
import tensorflow.compat.v1 as tf

import symgrad
from symgrad import _walk

pytestmark = pytest.mark.core


@pytest.fixture
def walks(monkeypatch):
    """The names of ys of every walk from x over all that they are computed from."""
    seen, walked = [], _walk.between

    def between(ys, xs, stop=(), *, within=None, **options):
        if within is None and [x.op.name for x in xs] == ["x"]:
            seen.append([y.op.name for y in ys])
        return walked(ys, xs, stop, within=within, **options)

    monkeypatch.setattr(_walk, "between", between)
    return seen


@pytest.fixture
def network():
    """ys = (wide, narrow) of x by a linear last layer."""
    x = tf.placeholder(tf.float64, [4, 8], "x")
    h = tf.tanh(tf.matmul(x, tf.ones([8, 3], tf.float64)), name="h")
    return tf.matmul(h, tf.ones([3, 600], tf.float64), name="y"), tf.reduce_sum(h, name="z"), x


@pytest.mark.parametrize("options", [{}, {"mode": "rows"}, {"mode": "columns"}, {"devices": ["CPU:0"]}], ids=str)
def test_a_jacobian_walks_once(network, walks, options):
    y, z, x = network
    symgrad.jacobian([y, z], x, **options)
    assert walks == [["y", "z"]]


@pytest.mark.parametrize("operator", ["Lop", "Rop", "batch_jacobian"])
def test_products_walk_once(network, walks, operator):
    y, _, x = network
    arguments = {"Lop": [tf.ones_like(y)], "Rop": [tf.ones_like(x)], "batch_jacobian": []}[operator]
    getattr(symgrad, operator)(y, x, *arguments)
    assert walks == [["y"]]


def test_a_hessian_walks_once_to_y_and_once_to_its_gradient(network, walks):
    _, z, x = network
    symgrad.hessian(z, x)
    assert walks[0] == ["z"]
    assert len(walks) == 2
