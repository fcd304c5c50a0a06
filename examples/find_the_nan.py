"""Training that turns NaN: find the step, find the op, repair it."""

import numpy as np
import tensorflow.compat.v1 as tf

from symgrad.diagnose import nan_origin


def build(distance):
    """Two points are pulled towards each other by their distance; gives the points and a training step."""
    points = tf.get_variable("points", initializer=np.array([[0.0, 0.0], [0.5, 0.0]], np.float32))
    loss = distance(points[0] - points[1])
    return points, tf.train.GradientDescentOptimizer(0.25).minimize(loss)


def naive(difference):
    """The norm, which has no gradient at zero."""
    return tf.sqrt(tf.reduce_sum(tf.square(difference)), name="distance")


def rounded(difference):
    """The norm with its tip rounded off."""
    return tf.sqrt(tf.reduce_sum(tf.square(difference)) + 1e-12)


def train(distance, steps=5):
    """Ask for the origin before each step, so that the values from before it spoils the points are still there."""
    with tf.Graph().as_default(), tf.Session() as session:
        points, step = build(distance)
        session.run(points.initializer)
        for i in range(steps):
            found = nan_origin(step, session=session)
            if found:
                return i, found
            session.run(step)
        return steps, []


def main():
    """The points meet after one step; the next one is NaN."""
    step, (finding,) = train(naive)
    print(f"step {step}: {finding}")
    assert (step, finding.op_type, finding.forward) == (1, "SqrtGrad", "distance")
    step, found = train(rounded)
    print(f"with an epsilon under the root: {step} steps, {len(found)} findings")
    assert not found


if __name__ == "__main__":
    main()
