"""One gradient for each example: who pulls hardest on the weights, and which labels are therefore suspect."""

import numpy as np
import tensorflow.compat.v1 as tf
from sklearn.datasets import load_digits

import symgrad


def main():
    """Give twenty images of a training set a wrong label; rank all images by the norm of their own gradients."""
    images, labels = load_digits(return_X_y=True)
    images, labels = images[:500] / 16.0, labels[:500].copy()
    rng = np.random.default_rng(0)
    wrong = rng.choice(len(labels), 20, replace=False)
    labels[wrong] = (labels[wrong] + rng.integers(1, 10, 20)) % 10
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(0)
        x, target = tf.placeholder(tf.float64, [None, 64]), tf.placeholder(tf.int64, [None])
        w = tf.get_variable("w", [64, 10], tf.float64)
        b = tf.get_variable("b", [10], tf.float64, tf.zeros_initializer())
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=target, logits=x @ w + b)
        train = symgrad.optimizers.Momentum(0.5, 0.9).minimize(tf.reduce_mean(losses))

        by_w, by_b = symgrad.jacobian(losses, [w, b])  # [B, 64, 10] and [B, 10]: row i is the gradient of example i
        norms = tf.sqrt(tf.reduce_sum(by_w**2, [1, 2]) + tf.reduce_sum(by_b**2, 1))

        session.run(tf.global_variables_initializer())
        for _ in range(30):
            session.run(train, {x: images, target: labels})
        found = session.run(norms, {x: images, target: labels})
    suspects = np.argsort(found)[::-1][:20]
    print(f"median norm of a gradient {np.median(found):.3f}, of the wrongly labelled {np.median(found[wrong]):.3f}")
    print(f"{len(set(suspects) & set(wrong))} of the 20 largest gradients belong to the 20 wrong labels")


if __name__ == "__main__":
    main()
