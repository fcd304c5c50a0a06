"""V2 loops, branches and calls that TensorFlow would change although no derivative leads through them, or not by us."""

import numpy as np
import pytest
import tensorflow as tf2
import tensorflow.compat.v1 as tf
from sessions import AS_BUILT

import symgrad
from symgrad._control_flow import v2_control_flow

pytestmark = pytest.mark.core

POINT = np.array([0.3, -0.7])


def loop(body, x):
    return tf2.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, body(a)), (0, x))[1]


def branch(body, x):
    return tf.cond(tf.placeholder_with_default(True, []), lambda: body(x), lambda: x)


def call(body, x):
    return tf.function(body)(x)


FORMS = (loop, branch, call)


def unused(form, x):
    """A body that leaves its argument unused, beside a path that leads to x."""
    aside = form(lambda a: 2 * a, tf.tanh(x))
    return tf.sin(x) + form(lambda a: tf.ones([2], tf.float64), aside)


def alone(form, x):
    """Nothing but a body that leaves its argument unused."""
    return form(lambda a: tf.ones([2], tf.float64), x)


def in_users_hands(form, x):
    """A user's gradient function that differentiates the user's own ops."""

    @tf.custom_gradient
    def users(p):
        y = form(lambda a: tf.sin(a) * a, p)
        return y, lambda d: tf.gradients(y, p, d)[0]

    return users(tf.identity(x))


CALLS = {
    "Lop": lambda y, x: symgrad.Lop(y, x, tf.ones_like(y), disconnected="zero"),
    "gradients": lambda y, x: symgrad.gradients(y, x, unconnected_gradients="zero")[0],
    "forward": lambda y, x: symgrad.Rop(y, x, tf.ones_like(x), method="forward", disconnected="zero"),
    "double": lambda y, x: symgrad.Rop(y, x, tf.ones_like(x), method="double_vjp", disconnected="zero"),
    "rows": lambda y, x: tf.linalg.diag_part(symgrad.jacobian(y, x, mode="rows", disconnected="zero")),
    "columns": lambda y, x: tf.linalg.diag_part(symgrad.jacobian(y, x, mode="columns", disconnected="zero")),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("made", [unused, alone, in_users_hands])
def test_y_still_runs_where_it_has_run(made, form):
    with tf.Graph().as_default(), tf.Session(config=AS_BUILT) as session, v2_control_flow():
        x = tf.placeholder_with_default(POINT, [2])
        y = made(form, x)
        before = session.run(y)
        results = {name: ask(y, x) for name, ask in CALLS.items()}
        symgrad.diagnose.why_none(y, x)
        found = session.run(results)
        np.testing.assert_array_equal(session.run(y), before)
        eps = 6e-6  # the cube root of the precision; y is computed element by element, so its Jacobian is diagonal
        ahead, behind = (session.run(y, {x: POINT + s * eps}) for s in (1, -1))
        later = tf.gradients(y, x, unconnected_gradients="zero")[0]
    for name, got in found.items():
        np.testing.assert_allclose(got, (ahead - behind) / (2 * eps), rtol=1e-8, atol=1e-8, err_msg=name)
    assert later is not None
