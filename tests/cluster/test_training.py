"""Between-graph training by two workers with a parameter server, and what happens when a task dies."""

import concurrent.futures
import itertools

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from symgrad.optimizers import Momentum
from tests.cluster import training

STEPS = 300

# When the chief ends, a thread of TensorFlow's that waits for the other worker's gradient is cancelled, and says so.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")


def train(run, **during):
    """Both workers, each in a thread, until the last step; at most a minute."""
    run.workers = 2
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        both = [pool.submit(run.worker, task, **during) for task in (0, 1)]
        for one in concurrent.futures.as_completed(both, timeout=60):
            try:
                one.result()
            finally:
                run.started.set()
                run.joined.set()


@pytest.fixture(scope="module")
def alone():
    """The accuracy that one worker reaches in as many steps."""
    rng = np.random.default_rng(0)
    with tf.Graph().as_default(), tf.Session() as session:
        images, labels, loss, accuracy = training.model()
        step = Momentum(0.1, 0.9).minimize(loss)
        session.run(tf.global_variables_initializer())
        for _ in range(STEPS):
            session.run(step, training.batch(rng, images, labels))
        return session.run(accuracy, {images: training.TEST, labels: training.TEST_LABELS})


@pytest.mark.parametrize("synchronous", [False, True], ids=["asynchronous", "synchronous"])
def test_two_workers_train_as_well_as_one(fresh, alone, synchronous):
    run = training.Run(fresh, steps=STEPS, synchronous=synchronous)
    train(run)
    assert run.accuracy > alone - 0.03  # 13 of 450 images: the workers' batches come in any order
    assert sum(run.done.values()) >= STEPS * (2 if synchronous else 1)
    assert min(run.done.values()) >= 20  # both did their share


def test_training_goes_on_when_a_worker_is_killed(fresh):
    killed_at = []

    def during(task, step):
        if task == 0 and step > 35 and not killed_at:
            killed_at.append(step)
            fresh.kill("worker", 1)
            fresh.restart("worker", 1)

    run = training.Run(fresh, steps=100)
    train(run, during=during)
    assert killed_at
    steps = [step for task, step in run.seen if task == 0]
    assert steps == sorted(steps)  # the variables are elsewhere: nothing is lost
    assert any(task == 1 and step > killed_at[0] for task, step in run.seen)


@pytest.mark.parametrize("victim", [("worker", 0), ("ps", 0)], ids=["chief", "parameter server"])
def test_training_goes_on_from_the_last_checkpoint(fresh, tmp_path, victim):
    killed_at = []

    def during(task, step):
        if step == 37 and not killed_at:
            killed_at.append(step)
            fresh.kill(*victim)
            fresh.restart(*victim)

    run = training.Run(fresh, steps=60, folder=str(tmp_path), every=10)
    run.worker(0, during=during)
    steps = [step for _, step in run.seen]
    (back,) = (i for i, (a, b) in enumerate(itertools.pairwise(steps)) if b < a)
    assert steps[back] == 37
    assert 30 <= steps[back + 1] <= 32  # of step 30 or 31 there is a checkpoint
    assert max(steps) >= 60
    saved = dict(tf.train.list_variables(str(tmp_path)))
    assert {"hidden/w", "hidden/w/Momentum", "global_step"} <= saved.keys()
