"""Training of a digits classifier by the workers of a cluster, each with a graph and a session of its own."""

import threading
from dataclasses import dataclass, field

import numpy as np
import tensorflow.compat.v1 as tf
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from symgrad.optimizers import Momentum

IMAGES, LABELS = load_digits(return_X_y=True)
TRAIN, TEST, TRAIN_LABELS, TEST_LABELS = train_test_split(
    (IMAGES / 16).astype(np.float32), LABELS, test_size=0.25, random_state=0
)


@dataclass
class Run:
    """A training run.

    Attributes:
      steps: the global step to stop at.
      synchronous: whether two workers' gradients make one step.
      folder: where the chief saves checkpoints.
      every: after how many steps it saves one.
      workers: how many there are; the chief waits for the other one, which waits for the chief's variables.
      done: task to the number of steps that it took.
      seen: (task, global step) of each of them.
      accuracy: on the images that are not for training.
    """

    cluster: object
    steps: int
    synchronous: bool = False
    folder: str | None = None
    every: int = 20
    workers: int = 1
    started: threading.Event = field(default_factory=threading.Event)
    joined: threading.Event = field(default_factory=threading.Event)
    done: dict = field(default_factory=dict)
    seen: list = field(default_factory=list)
    accuracy: float = 0.0

    def worker(self, task, during=lambda task, step: None):
        """Be one worker until the global step is reached."""
        if task:
            self.started.wait(60)
        try:
            self._train(task, during)
        except tf.errors.CancelledError:
            # A parameter server that is back already ends the step so, which MonitoredTrainingSession does not take for
            # the failure that it is.
            self._train(task, during)

    def _train(self, task, during):
        chief = task == 0
        device = tf.train.replica_device_setter(cluster=self.cluster.spec, worker_device=f"/job:worker/task:{task}")
        with tf.Graph().as_default():
            with tf.device(device):
                images, labels, loss, accuracy = model()
                step = tf.train.get_or_create_global_step()
                optimizer, hooks = Momentum(0.1, 0.9), []
                if self.synchronous:
                    optimizer = tf.train.SyncReplicasOptimizer(optimizer, replicas_to_aggregate=2, total_num_replicas=2)
                    hooks.append(optimizer.make_session_run_hook(chief))
                train = optimizer.minimize(loss, global_step=step)
            rng, count = np.random.default_rng(task), 0
            with tf.train.MonitoredTrainingSession(
                master=self.cluster.target("worker", task),
                is_chief=chief,
                checkpoint_dir=self.folder if chief else None,
                save_checkpoint_steps=self.every,
                save_summaries_steps=None,
                save_summaries_secs=None,
                log_step_count_steps=None,
                hooks=hooks,
                config=tf.ConfigProto(device_filters=["/job:ps", f"/job:worker/task:{task}"]),
                stop_grace_period_secs=1,
            ) as session:
                (self.started if chief else self.joined).set()
                if chief and self.workers == 2:
                    self.joined.wait(60)
                now = 0
                while now < self.steps and not session.should_stop():
                    _, now = session.run([train, step], batch(rng, images, labels))
                    count += 1
                    self.done[task] = count
                    self.seen.append((task, int(now)))
                    during(task, now)
                if chief:

                    def evaluate(step_context):  # without the hooks, for which it would be a training step
                        return step_context.session.run(accuracy, {images: TEST, labels: TEST_LABELS})

                    self.accuracy = float(session.run_step_fn(evaluate))


def batch(rng, images, labels):
    """Feeds of 32 examples."""
    chosen = rng.integers(0, len(TRAIN), 32)
    return {images: TRAIN[chosen], labels: TRAIN_LABELS[chosen]}


def model():
    """Placeholders for images and labels, loss and accuracy of a network with one hidden layer."""
    images, labels = tf.placeholder(tf.float32, [None, 64]), tf.placeholder(tf.int64, [None])
    hidden = tf.nn.relu(layer(images, 32, "hidden"))
    logits = layer(hidden, 10, "logits")
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    return images, labels, loss, tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), labels), tf.float32))


def layer(inputs, width, name):
    shape = [int(inputs.shape[1]), width]
    start = np.random.default_rng(width).normal(0, shape[0] ** -0.5, shape).astype(np.float32)
    weights = tf.get_variable(f"{name}/w", initializer=start, use_resource=True)
    return inputs @ weights + tf.get_variable(
        f"{name}/b", [width], initializer=tf.zeros_initializer(), use_resource=True
    )
