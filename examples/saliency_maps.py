"""Saliency maps: how strongly each pixel of each image of a batch moves the score of the digit that was read."""

import numpy as np
import tensorflow.compat.v1 as tf
from sklearn.datasets import load_digits

import symgrad


def shade(values):
    """An 8x8 image in characters, from nothing to the strongest."""
    strength = (values / values.max()).reshape(8, 8)
    return ["".join(" .:+#"[int(4 * value)] for value in line) for line in strength]


def main():
    """Train for a moment, then show three images beside their maps, and where the eye is on average."""
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

        # Ten Lops for the batch, however many images: [B, 10, 64]. The best score's row is the map.
        rows = symgrad.batch_jacobian(scores, x)
        maps = tf.abs(tf.gather(rows, tf.argmax(scores, 1), batch_dims=1))

        session.run(tf.global_variables_initializer())
        for _ in range(60):
            session.run(train, {x: images, target: labels})
        found, read = session.run([maps, tf.argmax(scores, 1)], {x: images})
        for i in (0, 3, 7):
            print(f"\nA {labels[i]}, read as {read[i]}; the image, and what moves that score:")
            for left, right in zip(shade(images[i]), shade(found[i]), strict=True):
                print(f"  |{left}|   |{right}|")
        print("\nOn average over all images:")
        print("\n".join(f"  |{line}|" for line in shade(np.mean(found, 0))))


if __name__ == "__main__":
    main()
