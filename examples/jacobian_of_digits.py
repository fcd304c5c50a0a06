"""Which pixels speak for which digit: the class-by-pixel Jacobian of a classifier of handwritten digits."""

import numpy as np
import tensorflow.compat.v1 as tf
from sklearn.datasets import load_digits

import symgrad


def shade(row):
    """An 8x8 image in characters: + and # where more ink raises the score, - and = where it lowers it."""
    strength = row.reshape(8, 8) / np.abs(row).max()
    return ["".join("=- +#"[int(np.round(2 * value)) + 2] for value in line) for line in strength]


def main():
    """Train for a moment, then print the rows of the Jacobian for a one and for a seven."""
    images, labels = load_digits(return_X_y=True)
    images = images / 16.0
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(0)
        x = tf.placeholder(tf.float64, [None, 64])
        hidden = tf.tanh(x @ tf.get_variable("hidden", [64, 32], tf.float64))
        scores = hidden @ tf.get_variable("scores", [32, 10], tf.float64)
        target = tf.placeholder(tf.int64, [None])
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=target, logits=scores))
        train = symgrad.optimizers.Momentum(0.5, 0.9).minimize(loss)
        jacobian = symgrad.jacobian(scores, x)  # [1, 10, 1, 64] for one image

        session.run(tf.global_variables_initializer())
        for _ in range(60):
            session.run(train, {x: images, target: labels})
        for digit in (1, 7):
            image = images[labels == digit][:1]
            score, rows = session.run([scores, jacobian], {x: image})
            print(f"\nA {digit}, read as {np.argmax(score)}; what raises (+ #) and lowers (- =) the scores of 1 and 7:")
            for left, right in zip(shade(rows[0, 1, 0]), shade(rows[0, 7, 0]), strict=True):
                print(f"  {left}   {right}")


if __name__ == "__main__":
    main()
