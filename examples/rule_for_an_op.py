"""Differentiate an op that TensorFlow has no gradient of, by a rule of three lines."""

import numpy as np
import tensorflow.compat.v1 as tf

import symgrad


@symgrad.rules.transpose("SparseBincount")
def sparse_bincount(op, dy):
    """SparseBincount adds up weights by bins, so each weight gets the cotangent of its bin."""
    return [None, None, None, None, tf.gather(dy, op.inputs[1])]


def main():
    """Weighted counts of words, and what each weight has to do with them."""
    words = np.array([0, 2, 0, 1])
    with tf.Graph().as_default(), tf.Session() as session:
        weights = tf.constant([1.0, 2.0, 4.0, 8.0])
        places = np.arange(4)[:, None]
        counts = tf.raw_ops.SparseBincount(
            indices=places, values=words, dense_shape=[4], size=np.int64(3), weights=weights
        )
        share = counts / tf.reduce_sum(counts)
        values, jacobian = session.run([share, symgrad.jacobian(share, weights)])
    print("share of each word:", values)
    print("its Jacobian by the weights:")
    print(jacobian.round(4))
    np.testing.assert_allclose(jacobian.sum(0), 0, atol=1e-6)  # the shares add up to 1, whatever the weights


if __name__ == "__main__":
    main()
