"""An optimizer of your own in one formula, on real digits: gradients capped, the rate lowered half way, an average."""

import numpy as np
import tensorflow.compat.v1 as tf
from sklearn.datasets import load_digits

from symgrad.optimizers import Optimizer, clip_by_global_norm, ema, hyperparameter, slot


class SignedMomentum(Optimizer):
    """Steps of one size, in the direction in which the gradient has pointed of late."""

    learning_rate = hyperparameter(0.003, low=0.0)
    decay = hyperparameter(0.9, low=0.0, below=1.0)
    mean = slot()

    def step(self, grad, var, h, s):
        """m <- decay m + (1 - decay) g;   x <- x - learning_rate sign(m)."""
        mean = h.decay * s.mean + (1 - h.decay) * grad
        return -h.learning_rate * tf.sign(mean), {"mean": mean}


def main():
    images, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(images))
    images, labels = images[order] / 16, labels[order]
    train_images, train_labels, test_images, test_labels = images[:1400], labels[:1400], images[1400:], labels[1400:]
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(1)
        x, y = tf.placeholder(tf.float32, [None, 64]), tf.placeholder(tf.int32, [None])
        kernels = [tf.Variable(tf.random.normal(shape, stddev=0.1)) for shape in ([64, 64], [64, 10])]
        logits = tf.nn.relu(x @ kernels[0]) @ kernels[1]
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
        right = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1, output_type=tf.int32), y), tf.float32))

        average = ema(0.98)
        optimizer = SignedMomentum(transforms=[clip_by_global_norm(1.0), average])
        train = optimizer.minimize(loss)
        session.run(tf.global_variables_initializer())
        for epoch in range(20):
            if epoch == 10:
                optimizer.learning_rate = 0.0005
            for start in range(0, 1400, 70):
                chosen = slice(start, start + 70)
                session.run(train, {x: train_images[chosen], y: train_labels[chosen]})
        test = {x: test_images, y: test_labels}
        print(f"learning rate {optimizer.learning_rate}: {session.run(right, test):.1%} of the test digits right")
        with average.applied(session):
            print(f"with averaged weights: {session.run(right, test):.1%}")


if __name__ == "__main__":
    main()
