"""What a vector takes on its way: counted by hand."""

import tensorflow.compat.v1 as tf

from symgrad._jacobians._footprint import alive_between

ELEMENT = 4  # bytes of a float32


def test_a_chain_holds_two_tensors_at_a_time_besides_its_ends():
    seed = tf.placeholder(tf.float32, [10])
    h = tf.sin(seed)
    for _ in range(5):
        h = tf.sin(h)
    assert alive_between(seed, [tf.tile(h, [3])]) == ((10 + 30 + 2 * 10) * ELEMENT, 0)


def test_what_is_read_late_is_alive_until_then():
    seed = tf.placeholder(tf.float32, [10])
    early = tf.sin(seed)
    h = tf.cos(tf.cos(tf.cos(early)))
    result = h[:1] * early[0]
    counted, _ = alive_between(seed, [result])
    assert counted == (10 + 1 + 3 * 10) * ELEMENT  # early and two of the chain


def test_a_reshaped_tensor_is_the_same_memory():
    seed = tf.placeholder(tf.float32, [10])
    h = tf.reshape(tf.sin(seed), [5, 2])
    assert alive_between(seed, [tf.reduce_sum(tf.reshape(tf.identity(h), [10]))]) == ((10 + 1 + 10) * ELEMENT, 0)


def test_unknown_dimensions_are_counted_apart():
    seed = tf.placeholder(tf.float32, [None, 3])
    assert alive_between(seed, [tf.reduce_sum(tf.sin(seed))]) == (1 * ELEMENT, (3 + 3) * ELEMENT)


def test_an_output_of_several_results_counts_once():
    seed = tf.placeholder(tf.float32, [10])
    h = tf.sin(seed)
    assert alive_between(seed, [h, h]) == ((10 + 10) * ELEMENT, 0)
