"""What is one for the process: two threads build in two graphs at the same time; TensorFlow's switch is put back."""

import threading

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from worlds import control_flow

import symgrad
from symgrad import _tf
from symgrad._control_flow import v1_control_flow, v2_control_flow

pytestmark = pytest.mark.core


def _pausing(here, there):
    """The identity, whose gradient function says that it is at work and waits for the other thread."""

    @tf.custom_gradient
    def f(x):
        def grad(dy):
            here.set()
            there.wait(20)
            return dy

        return tf.identity(x), grad

    return f


def test_a_sum_over_an_array_is_one_though_another_thread_differentiates():
    started, other_started, done = threading.Event(), threading.Event(), threading.Event()
    found = {}

    def work(name, pause):
        with tf.Graph().as_default(), tf.Session() as session:
            x = tf.constant([1.0, 2.0, 3.0], tf.float64)
            with v1_control_flow():
                array = tf.TensorArray(tf.float64, 3, element_shape=[], clear_after_read=False).unstack(x)
                y = array.read(0) + pause(array.read(1))
            gradient = symgrad.Lop(y, x, 1.0, name=name)
            if name == "first":
                done.set()
            found[name] = session.run(gradient)

    first = threading.Thread(target=work, args=("first", _pausing(started, other_started)))
    first.start()
    started.wait(20)
    work("second", _pausing(other_started, done))
    first.join()
    np.testing.assert_array_equal(found["first"], [1, 1, 0])
    np.testing.assert_array_equal(found["second"], [1, 1, 0])


def test_the_switch_of_control_flow_is_put_back_by_the_last_thread_that_holds_it():
    before = tf.control_flow_v2_enabled()
    inside, go = threading.Event(), threading.Event()

    def hold():
        with v1_control_flow():
            inside.set()
            go.wait(20)

    def hold_too():
        with v1_control_flow():
            assert not tf.control_flow_v2_enabled()

    threads = [threading.Thread(target=hold)]
    threads[0].start()
    inside.wait(20)
    threads.append(threading.Thread(target=hold_too))
    threads[1].start()
    go.set()
    for thread in threads:
        thread.join()
    assert tf.control_flow_v2_enabled() is before


@pytest.mark.parametrize("switched", [v1_control_flow, v2_control_flow])
@pytest.mark.parametrize("v2", [False, True], ids=["v1", "v2"])
def test_the_switch_is_put_back_in_a_function_body(graph, v2, switched):
    """There `tf.control_flow_v2_enabled()` is true however the switch stands."""

    @tf.function(autograph=False)
    def body(x):
        assert tf.control_flow_v2_enabled()
        with switched():
            return x + 1

    with control_flow(v2=v2):
        body(tf.constant(1.0))
        assert _tf.is_switched_to_v2() is v2
