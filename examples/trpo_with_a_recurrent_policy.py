"""Trust region policy optimization through a V1 `dynamic_rnn`, on a task that needs a memory.

A cue is shown at the first step, noise at eight others, and the action at the end has to be that of the cue. The step
needs products with second derivatives through the loop, which TensorFlow refuses ("Second-order gradient for while
loops not supported"); here they are part of one run of the session.

Reference: J. Schulman et al. (2015), Trust region policy optimization, ICML.
"""

import numpy as np
import tensorflow.compat.v1 as tf

import symgrad

LENGTH, UNITS, EPISODES, UPDATES = 9, 6, 200, 25


class Cell:
    """The least that `dynamic_rnn` takes: state <- tanh([state, x] w + b)."""

    state_size = output_size = UNITS

    def __init__(self, rng):
        start = rng.standard_normal((UNITS + 1, UNITS)) / np.sqrt(UNITS)
        self.w = tf.get_variable("w", initializer=start, use_resource=True)
        self.b = tf.get_variable("b", initializer=np.zeros(UNITS), use_resource=True)

    def zero_state(self, batch, dtype):
        """Where an episode begins."""
        return tf.zeros([batch, UNITS], dtype)

    def __call__(self, x, state, scope=None):
        """The next output, and the same as the state."""
        state = tf.tanh(tf.concat([state, x], 1) @ self.w + self.b)
        return state, state


def episodes(rng):
    """What the policy sees, and the action that is right."""
    right = rng.integers(0, 2, EPISODES)
    seen = 0.3 * rng.standard_normal((EPISODES, LENGTH, 1))
    seen[:, 0, 0] = 2.0 * right - 1.0
    return seen, right


def main():
    """Train, and hold the reward against what chance gives."""
    rng = np.random.default_rng(1)
    v2 = tf.control_flow_v2_enabled()
    with tf.Graph().as_default(), tf.Session() as session:
        seen = tf.placeholder(tf.float64, [EPISODES, LENGTH, 1])
        taken, advantage = tf.placeholder(tf.int64, [EPISODES]), tf.placeholder(tf.float64, [EPISODES])
        tf.disable_control_flow_v2()  # the loop of `dynamic_rnn` is one of V1, as in the codes of its time
        states, _ = tf.nn.dynamic_rnn(Cell(rng), seen, dtype=tf.float64)
        if v2:
            tf.enable_control_flow_v2()
        head = tf.get_variable("head", initializer=0.1 * rng.standard_normal((UNITS, 2)), use_resource=True)
        new = tf.nn.log_softmax(states[:, -1] @ head)
        old = tf.stop_gradient(new)
        kl = tf.reduce_mean(tf.reduce_sum(tf.exp(old) * (old - new), 1))
        ratio = tf.reduce_sum(tf.exp(new - old) * tf.one_hot(taken, 2, dtype=tf.float64), 1)

        natural = symgrad.optimizers.natural_gradient(kl, damping=1e-2, iterations=8, trust=0.02)
        step = symgrad.optimizers.SGD(1.0, transforms=[natural]).minimize(-tf.reduce_mean(ratio * advantage))
        session.run(tf.global_variables_initializer())
        for update in range(UPDATES):
            shown, right = episodes(rng)
            chosen = rng.random(EPISODES) < np.exp(session.run(new, {seen: shown})[:, 1])
            reward = (chosen == right).astype(float)
            feeds = {seen: shown, taken: chosen, advantage: reward - reward.mean()}
            told = session.run([step, natural.report], feeds)[1]
            if update % 6 == 0 or update == UPDATES - 1:
                print(f"update {update:2}: reward {reward.mean():.2f}, KL after the step {told['kl']:.4f}")
            assert abs(told["kl"] / 0.02 - 1) < 0.05, told
    assert reward.mean() > 0.9, reward.mean()


if __name__ == "__main__":
    main()
