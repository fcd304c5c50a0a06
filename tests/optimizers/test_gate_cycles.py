"""Gradients that are not finite, at each place of an accumulation's cycle, for every gate and every transform."""

import itertools

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from symgrad import optimizers as O
from symgrad.optimizers import SGD, Adam, accumulate, apply_if_finite, loss_scale, skip_nonfinite

GATES = {
    "skip_nonfinite": lambda: skip_nonfinite(),
    "apply_if_finite": lambda: apply_if_finite(3),
    "loss_scale": lambda: loss_scale(4.0),
}
TRANSFORMS = {
    "clip_by_value": lambda: O.clip_by_value(-0.7, 0.7),
    "clip_by_norm": lambda: O.clip_by_norm(0.7),
    "clip_by_global_norm": lambda: O.clip_by_global_norm(0.7),
    "centralize": lambda: O.centralize(),
    "l2_decay": lambda: O.l2_decay(0.1),
    "decoupled_decay": lambda: O.decoupled_decay(0.1),
    "ema": lambda: O.ema(0.5),
    "swa": lambda: O.swa(1),
    "watch": lambda: O.watch(),
    "freeze": lambda: O.freeze(lambda var: "frozen" in var.name),
}
GOOD = [0.5, -1.0, 2.0, 1.5, -0.25, 1.0]


class Run:
    """One optimizer on a vector and a table in the session; its state after some calls."""

    def __init__(self, chain):
        self.factor = tf.placeholder(tf.float32, [])
        x, table = tf.Variable([1.0, -2.0]), tf.Variable(np.ones([4, 2], np.float32))
        loss = self.factor * (tf.reduce_sum(x * x) + tf.reduce_sum(tf.gather(table, [2, 0, 2]) * x))
        optimizer = Adam(0.1, transforms=chain)
        self.step = optimizer.minimize(loss, var_list=[x, table])
        # What the gates count differs, and is tested by itself.
        state = [
            v for v in optimizer.variables() if not any(w in v.name for w in ("left_out", "skipped", "loss_scale"))
        ]
        self.variables = [x, table, *state]

    def after(self, session, factors):
        session.run([v.initializer for v in self.variables[:2]])  # averages begin where these are
        session.run([v.initializer for v in tf.global_variables()])
        for factor in factors:
            session.run(self.step, {self.factor: factor})
        return session.run(self.variables)


ORDERS = {
    "gate, accumulate, transform": lambda gate, transform: [gate, accumulate(3), transform],
    "gate, transform, accumulate": lambda gate, transform: [gate, transform, accumulate(3)],
    "transform, gate, accumulate": lambda gate, transform: [transform, gate, accumulate(3)],
}


@pytest.mark.parametrize("name", TRANSFORMS)
@pytest.mark.parametrize("order", ORDERS)
def test_a_bad_gradient_is_as_if_it_had_not_come(name, order, graph, session):
    """Whatever its place: in front, in the middle, where the sum would be complete, and several in a row."""
    if name == "clip_by_value" and order.startswith("transform"):
        bad = [np.nan]  # an infinity is finite once it is clipped
    else:
        bad = [np.nan, np.inf]
    places = [[i] for i in range(len(GOOD) + 1)] + [[2, 2], [0, 3, 6]]
    for gate in GATES.values():
        run = Run(ORDERS[order](gate(), TRANSFORMS[name]()))
        want = run.after(session, GOOD)
        assert all(np.all(np.isfinite(value)) for value in want)
        for where, value in itertools.product(places, bad):
            got = run.after(session, np.insert(GOOD, where, value))
            for ours, clean in zip(got, want, strict=True):
                np.testing.assert_array_equal(ours, clean, err_msg=f"{where} {value}")


@pytest.mark.parametrize("gate", GATES)
def test_behind_the_accumulation_the_whole_step_is_left_out(gate, graph, session):
    run = Run([accumulate(2), GATES[gate]()])
    clean = run.after(session, GOOD[2:])
    for bad in (np.nan, np.inf):
        for first in ([bad, 1.0], [1.0, bad], [bad, bad]):
            for ours, want in zip(run.after(session, [*first, *GOOD[2:]]), clean, strict=True):
                np.testing.assert_array_equal(ours, want)


def counted(session, chain, factors):
    x, factor = tf.Variable(0.0), tf.placeholder(tf.float32, [])
    step = SGD(1.0, transforms=chain).minimize(factor * x)
    session.run(tf.global_variables_initializer())
    places = []
    for value in factors:
        session.run(step, {factor: value})
        places.append(float(session.run(x)))
    return places


def test_one_bad_gradient_counts_once(graph, session):
    nan = np.nan
    for chain, factors, want in (
        ([accumulate(4), skip_nonfinite()], [nan, *[1.0] * 7], 1),
        ([skip_nonfinite(), accumulate(4)], [nan, *[1.0] * 7], 1),
        ([skip_nonfinite(), skip_nonfinite()], [nan, 1.0, nan], 2),
        ([apply_if_finite(9), skip_nonfinite()], [nan, 1.0, nan], 0),
    ):
        counted(session, chain, factors)
        skip = [link for link in chain if isinstance(link, skip_nonfinite)]
        assert sum(session.run([link.skipped for link in skip])) == want


def test_a_step_is_taken_when_too_many_in_a_row_were_left_out(graph, session):
    gate = apply_if_finite(2)
    places = counted(session, [gate], [np.nan, np.nan, 1.0, np.nan, np.nan, np.nan])
    assert places[:5] == [0.0, 0.0, -1.0, -1.0, -1.0]
    assert np.isnan(places[5])
    assert session.run([gate.skipped, gate.in_a_row]) == [4, 3]


def test_the_documented_cycle_of_optax(graph, session):
    """MultiSteps(sgd(1), 2, should_skip_update_fn=skip_not_finite): the bad one is not counted."""
    assert counted(session, [skip_nonfinite(), accumulate(2)], [np.nan, 1.0, 1.0, 1.0]) == [0.0, 0.0, -1.0, -1.0]


def test_two_of_a_kind_in_one_chain_share_no_state(graph, session):
    places = counted(session, [accumulate(2), accumulate(3)], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    assert places == [0.0] * 5 + [-3.5]
    slow, fast = O.ema(0.9), O.ema(0.5)
    x = tf.Variable(1.0)
    step = SGD(1.0, transforms=[slow, fast]).minimize(x)
    session.run(tf.global_variables_initializer())
    session.run(step)
    np.testing.assert_allclose(session.run([slow.average(x), fast.average(x)]), [0.9, 0.5], rtol=1e-6)
