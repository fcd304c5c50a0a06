"""Newton's method through a V1 loop: throw a ball against the wind so that it lands on a mark.

The flight is 60 steps of a `tf.while_loop` of V1 control flow, which TensorFlow differentiates once only. Newton's
method needs the second derivatives: two Hessian-vector products give the 2 x 2 Hessian of the miss.
"""

import numpy as np
import tensorflow.compat.v1 as tf

import symgrad

STEPS, SECONDS, MARK = 60, 2.0, (12.0, 3.0)


def flight(velocity):
    """Where the ball is after `SECONDS`, thrown with `velocity` from the origin against drag and gravity."""
    dt = SECONDS / STEPS

    def step(i, place, v):
        drag = -0.05 * tf.norm(v) * v
        return i + 1, place + dt * v, v + dt * (drag + tf.constant([0.0, -9.81], tf.float64))

    return tf.while_loop(lambda i, *_: i < STEPS, step, (0, tf.zeros(2, tf.float64), velocity))[1]


def main():
    """Print the miss of each throw: the number of right digits doubles."""
    with tf.Graph().as_default(), tf.Session() as session:
        velocity = tf.placeholder(tf.float64, [2])
        tf.disable_control_flow_v2()
        place = flight(velocity)
        tf.enable_control_flow_v2()
        miss = tf.reduce_sum((place - MARK) ** 2)
        gradient = symgrad.Lop(miss, velocity, 1.0)
        hessian = tf.stack([symgrad.hvp(miss, velocity, unit) for unit in ([1.0, 0.0], [0.0, 1.0])])
        now = np.array([8.0, 10.0])
        for iteration in range(6):
            value, g, h = session.run([miss, gradient, hessian], {velocity: now})
            print(f"{iteration}: velocity {now.round(4)}, misses by {np.sqrt(value):.2e}")
            now = now - np.linalg.solve(h, g)
        landed = session.run(place, {velocity: now})
    print(f"landed at {landed.round(9)}, the mark is at {MARK}")
    assert np.allclose(landed, MARK, atol=1e-9)


if __name__ == "__main__":
    main()
