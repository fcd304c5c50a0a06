"""What is asked of a random graph, and how each answer is judged.

The verdicts: "right"; "refused", by a typed error; "needless", by a typed error where tf.gradients has an answer;
"unjudged", because the derivative does not exist at the point or no oracle is good enough there; "primal", TensorFlow
itself cannot build or run the user's graph. And the failures: "wrong" numbers; "untyped", an error that is none of
symgrad's; "harmed", something that the user had no longer runs, or a refused call left ops.
"""

import tensorflow.compat.v1 as tf
from sessions import AS_BUILT

from random_graphs.judge import Judge
from random_graphs.trial import Trial


def outcomes(program, *, needless=False):
    """The Outcomes of the calls of the program, and of the state in which they leave its graph.

    Args:
      needless: tell what is refused where tf.gradients has an answer; the graph is built once more for each.
    """
    with tf.Graph().as_default() as graph, tf.Session(graph=graph, config=AS_BUILT) as session:
        trial = Trial(program, session, needless)
        if trial.prepare():
            for call in program.calls:
                trial.call(call)
            trial.run()
            judge = Judge(trial)
            judge.judge()
            judge.settle(trial.harm())
        return trial.found
