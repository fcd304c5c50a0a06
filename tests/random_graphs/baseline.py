"""What TensorFlow alone does with a program: whose fault a failure is."""

import re

import tensorflow.compat.v1 as tf
from sessions import AS_BUILT

import symgrad
from random_graphs import build


def values(source):
    """The values of ys with tf.gradients in the place of symgrad; None if TensorFlow fails."""
    with tf.Graph().as_default() as graph, tf.Session(graph=graph, config=AS_BUILT) as session:
        try:
            names = build.execute(source, build.Plain)
            session.run([tf.global_variables_initializer(), tf.tables_initializer()])
            return session.run(names["ys"])
        except Exception:
            return None


def gradients(source, u):
    """The values of tf.gradients, zeros where there is no path; None if TensorFlow fails."""
    with tf.Graph().as_default() as graph, tf.Session(graph=graph, config=AS_BUILT) as session:
        try:
            names = build.execute(source, build.Plain)
            pulled = tf.gradients(names["ys"], names["xs"], list(map(tf.constant, u)), unconnected_gradients="zero")
            session.run([tf.global_variables_initializer(), tf.tables_initializer()])
            return session.run(pulled)
        except Exception:
            return None


def error(source, call):
    """What tf.gradients says, asked for the derivative of the call, if it fails; None if it gives one."""
    with tf.Graph().as_default() as graph, tf.Session(graph=graph, config=AS_BUILT) as session:
        try:
            names = build.execute(source, build.Plain)
            found = _asked(call, names["ys"], names["xs"])
            session.run([tf.global_variables_initializer(), tf.tables_initializer()])
            session.run(found)
        except Exception as raised:
            return said(raised)
    return None if found else "no gradient"


def _asked(call, ys, xs):
    """The derivative, of the order and direction of the call, by tf.gradients."""
    u = list(map(tf.ones_like, ys))
    pulled = _given(tf.gradients(ys, xs, u))
    if "hvp" in call or "hessian" in call or "ggnvp" in call or "Lop(symgrad.Rop" in call:
        return _given(tf.gradients(pulled, xs, list(map(tf.ones_like, pulled))))
    if "Rop" in call or "jacobian" in call:
        return pulled + _given(tf.gradients(pulled, u, list(map(tf.ones_like, pulled))))
    return pulled


def _given(found):
    return [tf.convert_to_tensor(g) for g in found if g is not None]


def second(source, u):
    """The values of tf.gradients of the sum of tf.gradients; None if TensorFlow fails."""
    with tf.Graph().as_default() as graph, tf.Session(graph=graph, config=AS_BUILT) as session:
        try:
            names = build.execute(source, build.Plain)
            pulled = _given(tf.gradients(names["ys"], names["xs"], list(map(tf.constant, u))))
            twice = _given(tf.gradients(pulled, names["xs"]))
            session.run([tf.global_variables_initializer(), tf.tables_initializer()])
            return session.run(twice)
        except Exception:
            return None


def later(ys, xs, u, initial):
    """The values of tf.gradients, built now, in a new session, zeros where there is no path; or what it says.

    After it the user's y runs no longer where it has run before, since TensorFlow changes ops.
    """
    try:
        pulled = list(map(tf.convert_to_tensor, tf.gradients(ys, xs, u, unconnected_gradients="zero")))
        with tf.Session(graph=ys[0].graph, config=AS_BUILT) as session:
            session.run(initial)
            _, values = session.run([ys, pulled])
            session.run(ys)
    except Exception as raised:
        return None, said(raised)
    return values, None


def later_alone(source):
    """What it says where none of symgrad's operators was called before."""
    with tf.Graph().as_default():
        try:
            names = build.execute(source, symgrad)
        except Exception as raised:
            return said(raised)
        initial = [tf.global_variables_initializer(), tf.tables_initializer()]
        return later(names["ys"], names["xs"], list(map(tf.ones_like, names["ys"])), initial)[1]


def kernel(message):
    """A message without the names of ops, by which two of one kernel are known."""
    return re.sub(r"at run time: |[\w/]*/|_\d+|\{\{.*", "", message or "")[:60]


def said(raised):
    """The type of an error and the first line of it that says something."""
    lines = [line.strip() for line in str(getattr(raised, "message", raised)).splitlines() if line.strip()]
    frame = ("Graph execution error", "Detected at node", "File ", "Node: ")
    told = [line for line in lines if not line.startswith(frame)]
    return f"{type(raised).__name__}: {(told or lines or [''])[0][:240]}"
