"""Transforms for some variables only, with numbers that follow a schedule; clipping in proportion to the weights."""

import logging

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from symgrad import optimizers
from symgrad.errors import OptimizerError
from symgrad.optimizers import SGD

KERNEL, BIAS = np.array([[3.0, -4.0], [1.0, 2.0]]), np.array([3.0, 4.0])


@pytest.fixture
def layer(graph):
    """Variables in a scope and beside it, and gradients that equal their values."""
    kernel, bias = tf.Variable(KERNEL, name="head/kernel"), tf.Variable(BIAS, name="body/head/bias")
    return [(tf.constant(KERNEL), kernel), (tf.constant(BIAS), bias)]


TRANSFORMS = {
    "clip_by_value": lambda when: optimizers.clip_by_value(-0.5, 0.5, when),
    "clip_by_norm": lambda when: optimizers.clip_by_norm(0.5, when),
    "clip_by_global_norm": lambda when: optimizers.clip_by_global_norm(0.5, when),
    "clip_adaptively": lambda when: optimizers.clip_adaptively(0.1, when=when),
    "centralize": optimizers.centralize,
    "l2_decay": lambda when: optimizers.l2_decay(0.5, when),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_others_pass_as_they_are(name, layer, session):
    """Whatever says which variable: that one is as if it were alone, the other untouched."""
    (_, kernel), _ = layer
    session.run(tf.global_variables_initializer())
    (alone,) = session.run([grad for grad, _ in TRANSFORMS[name](None)(layer[:1])])
    assert not np.array_equal(alone, KERNEL)
    for when in (lambda var: var is kernel, "head/", [kernel], ["head/kernel"], ("head/kernel:0",)):
        first, second = session.run([grad for grad, _ in TRANSFORMS[name](when)(layer)])
        np.testing.assert_array_equal(first, alone)
        np.testing.assert_array_equal(second, BIAS)


def test_freeze_and_decoupled_decay_take_the_same(layer, session):
    (_, kernel), (_, bias) = layer
    for when in ("head/", [kernel], ["head/kernel"]):
        assert [var for _, var in optimizers.freeze(when)(layer)] == [bias]
        step = SGD(0.1, transforms=[optimizers.decoupled_decay(0.5, when)]).apply_gradients(layer)
        session.run(tf.global_variables_initializer())
        session.run(step)
        # The rate is float32, so that 0.1 is known to 1e-7.
        np.testing.assert_allclose(session.run(kernel), KERNEL * (1 - 0.1 * 0.5 - 0.1), rtol=1e-6)
        np.testing.assert_allclose(session.run(bias), BIAS * 0.9, rtol=1e-6)


@pytest.mark.parametrize("when", [3, "(", [3], [None]])
def test_what_chooses_nothing_is_refused(when):
    for make in (*TRANSFORMS.values(), optimizers.freeze):
        with pytest.raises(OptimizerError, match="when is"):
            make(when)


def test_a_pattern_that_fits_nothing_is_logged(layer, caplog):
    with caplog.at_level(logging.WARNING, "symgrad"):
        optimizers.clip_by_norm(1.0, when="tail/")(layer)
    assert "fits none of the variables of this step: head/kernel, body/head/bias" in caplog.text


def test_schedules_and_variables_steer_a_transform(graph, session):
    """|g| = 5 in each: what is taken off is what the clip leaves, at every step."""
    x, y = tf.Variable(BIAS), tf.Variable(BIAS)
    longest = tf.Variable(2.0, trainable=False)
    falling = optimizers.clip_by_norm(lambda step: 1.0 / tf.cast(step + 1, tf.float32), when=[x])
    settable = optimizers.clip_by_norm(longest, when=[y])
    gradients = [(tf.constant(BIAS), x), (tf.constant(BIAS), y)]
    step = SGD(1.0, transforms=[falling, settable]).apply_gradients(gradients)
    session.run(tf.global_variables_initializer())
    for t, length in enumerate([2.0, 2.0, 4.0], 1):
        longest.load(length, session)
        before = session.run([x, y])
        session.run(step)
        taken = [np.linalg.norm(old - new) for old, new in zip(before, session.run([x, y]), strict=True)]
        np.testing.assert_allclose(taken, [1.0 / t, length], rtol=1e-6)  # 1 / t and 0.5 are float32


def clipped_by_units(x, g, ratio, floor):
    """Brock et al., section 4, unit by unit."""
    result = g.copy()
    for unit in np.ndindex(x.shape[-1:] if x.ndim > 1 else (1,)):
        at = (..., *unit) if x.ndim > 1 else ...
        longest, length = ratio * max(np.linalg.norm(x[at]), floor), np.linalg.norm(g[at])
        if length > longest:
            result[at] = g[at] * longest / length
    return result


def test_clip_adaptively_is_the_papers(graph, session):
    generator = np.random.default_rng(5)
    xs = [generator.normal(size=shape) for shape in [(), (4,), (3, 4), (2, 2, 3, 4)]]
    gs = [generator.normal(size=x.shape) * 0.3 for x in xs]
    xs[2][:, 1] = 0.0  # the floor counts
    variables = [tf.Variable(x) for x in xs]
    pairs = [(tf.constant(g), var) for g, var in zip(gs, variables, strict=True)]
    rows = tf.IndexedSlices(tf.constant(gs[2][[0, 2, 0]]), tf.constant([0, 2, 0]), tf.constant([3, 4]))
    found = optimizers.clip_adaptively(0.2, 0.01)([*pairs, (rows, variables[2])])
    session.run(tf.global_variables_initializer())
    written_out = gs[2] * np.array([[2.0], [0.0], [1.0]])
    wanted = zip([*xs, xs[2]], [*gs, written_out], session.run([grad for grad, _ in found]), strict=True)
    for x, g, value in wanted:
        np.testing.assert_allclose(value, clipped_by_units(np.asarray(x), np.asarray(g), 0.2, 0.01), rtol=1e-12)


def test_clip_adaptively_hides_nothing_that_is_not_finite(layer, session):
    (grad, kernel), _ = layer
    session.run(tf.global_variables_initializer())
    infinite = tf.constant([[np.inf, 1.0], [1.0, 1.0]], grad.dtype)
    (value,) = session.run([grad for grad, _ in optimizers.clip_adaptively(0.01)([(infinite, kernel)])])
    assert np.isnan(value[:, 0]).all()
    assert np.isfinite(value[:, 1]).all()
