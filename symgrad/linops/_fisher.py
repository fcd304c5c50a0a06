"""Fisher matrices: of sampled labels, and of the labels that there are."""

from typing import Any

import tensorflow.compat.v1 as tf

from .._flat import Flat
from .._problem import posed
from ..errors import ShapeError
from ._data import Data, check_keywords
from ._operator import GraphOperator, Product
from ._operators import flat_of, require_paths, require_real
from ._products import Pull, Push, Stack


class EmpiricalFisher(GraphOperator):
    """The mean (or sum) of g g^T over the gradients g of the losses of single examples.

    Args:
      losses: tensor of one loss an example, real, any shape.
      xs, session, feed_dict, batches, block_size, disconnected: as for `symgrad.linops.Hessian`.
      reduction: "mean" over all losses, or "sum".

    Raises:
      ShapeError, DisconnectedError, MissingRuleError, GraphMismatchError, ControlFlowError, DtypeError, ValueError: as
        for `symgrad.linops.Hessian`.

    Example:
      >>> x = tf.constant([1., 2.], tf.float64)
      >>> F = symgrad.linops.EmpiricalFisher(x * [3., 1.], x, reduction="sum", session=run.session)
      >>> F @ np.eye(2)
      array([[9., 0.],
             [0., 1.]])

    Reference: F. Kunstner, L. Balles, P. Hennig (2019), Limitations of the empirical Fisher approximation, NeurIPS.
    """

    def __init__(
        self,
        losses: Any,
        xs: Any,
        *,
        session: Any = None,
        feed_dict: Any = None,
        batches: Any = None,
        reduction: str = "mean",
        block_size: int | None = None,
        disconnected: str = "raise",
    ):
        check_keywords(session, block_size, disconnected)
        data = Data.of(feed_dict, batches, reduction)
        with posed(losses, xs, disconnected=disconnected, name="EmpiricalFisher") as problem:
            flat = flat_of(problem)
            require_real(problem.ys)
            push, pull = Push(problem), Pull(problem)
            require_paths(pull.connected, problem, disconnected)
            count = tf.add_n([tf.size(y) for y in problem.ys])
        super().__init__((flat.size, flat.size), flat, data, session=session, block_size=block_size)
        build = _scaled(lambda tangents, count: pull(push(tangents, count), count), flat, data, count)
        with self.graph.as_default():
            stacks = push.stacks and pull.stacks
            self._ways["forward"] = Product("EmpiricalFisher", build, width=flat.size, dtype=flat.dtype, stacks=stacks)


class Fisher(GraphOperator):
    """The Fisher matrix J^T E[s s^T] J with s the score of labels drawn from the model, by `samples` draws an example.

    Labels are drawn statelessly: every product of one operator sees the same ones, so it is one matrix.

    Args:
      outputs: tensor [B, ...] of what the likelihood takes: logits [..., classes] for "softmax", logits for
        "bernoulli", means of unit variance for "gaussian".
      xs, session, feed_dict, batches, block_size, disconnected: as for `symgrad.linops.Hessian`.
      likelihood: "softmax", "bernoulli" or "gaussian".
      samples: how many labels are drawn for each example; the error falls with the root of their number.
      seed: of the labels.
      reduction: "mean" over all examples, or "sum".

    Raises:
      ShapeError, DisconnectedError, MissingRuleError, GraphMismatchError, ControlFlowError, DtypeError, ValueError: as
        for `symgrad.linops.Hessian`.

    Example:
      >>> w = tf.zeros([2, 3], tf.float64)
      >>> F = symgrad.linops.Fisher(tf.eye(2, dtype=tf.float64) @ w, w, likelihood="softmax", session=run.session)
      >>> F.shape
      (6, 6)

    Reference: J. Martens (2020), New insights and perspectives on the natural gradient method, JMLR 21(146).
    """

    def __init__(
        self,
        outputs: Any,
        xs: Any,
        *,
        likelihood: str,
        samples: int = 1,
        seed: int = 0,
        session: Any = None,
        feed_dict: Any = None,
        batches: Any = None,
        reduction: str = "mean",
        block_size: int | None = None,
        disconnected: str = "raise",
    ):
        if likelihood not in _SCORES:
            raise ValueError(f"likelihood={likelihood!r}; wanted one of {', '.join(map(repr, _SCORES))}")
        check_keywords(session, block_size, disconnected)
        data = Data.of(feed_dict, batches, reduction)
        with posed(outputs, xs, disconnected=disconnected, name="Fisher") as problem:
            flat = flat_of(problem)
            require_real(problem.ys)
            if len(problem.ys) != 1 or problem.ys[0].shape.rank == 0:
                raise ShapeError("outputs must be one tensor [B, ...] with the examples first")
            push, pull = Push(problem), Pull(problem)
            require_paths(pull.connected, problem, disconnected)
            (y,) = problem.ys
            number = tf.placeholder_with_default(0, [], name="batch_number")
            scores = _SCORES[likelihood](y, samples, tf.stack([seed, number]))
            scores = tf.reshape(scores, [samples, tf.shape(y)[0], -1])
            examples = tf.shape(y)[0]
        super().__init__((flat.size, flat.size), flat, data, session=session, block_size=block_size)
        self._batch_number = number

        def along_scores(pushed: tf.Tensor) -> tf.Tensor:
            """(1/S) sum s (s . v) of each example, for [..., B, D]."""
            by_sample = tf.einsum("...bd,sbd->...sb", pushed, scores)
            return tf.einsum("...sb,sbd->...bd", by_sample, scores) / samples

        def products(tangents, count: Stack):
            (pushed,) = push(tangents, count)
            shape = tf.shape(y)[:1] if count is None else tf.stack([count, tf.shape(y)[0]])
            curved = tf.reshape(along_scores(tf.reshape(pushed, tf.concat([shape, [-1]], 0))), tf.shape(pushed))
            return pull([curved], count)

        build = _scaled(products, flat, data, examples)
        with self.graph.as_default():
            stacks = push.stacks and pull.stacks
            self._ways["forward"] = Product("Fisher", build, width=flat.size, dtype=flat.dtype, stacks=stacks)


def _scaled(products, flat: Flat, data: Data, count: tf.Tensor):
    """Builds the sum over examples, or their mean within a batch."""

    def build(block: tf.Tensor, stack: Stack) -> tf.Tensor:
        found = flat.pack(products(flat.unpack(block), stack), 0 if stack is None else 1)
        return found / tf.cast(count, found.dtype) if data.reduction == "mean" else found

    return build


def _softmax(logits: tf.Tensor, samples: int, seed: tf.Tensor) -> tf.Tensor:
    """softmax - one-hot of a drawn label, [samples] + logits.shape."""
    classes = tf.shape(logits)[-1]
    labels = tf.random.stateless_categorical(tf.reshape(logits, [-1, classes]), samples, seed)
    drawn = tf.one_hot(tf.transpose(labels), classes, dtype=logits.dtype)
    return tf.nn.softmax(logits)[tf.newaxis] - tf.reshape(drawn, tf.concat([[samples], tf.shape(logits)], 0))


def _bernoulli(logits: tf.Tensor, samples: int, seed: tf.Tensor) -> tf.Tensor:
    probability = tf.sigmoid(logits)
    drawn = tf.random.stateless_uniform(tf.concat([[samples], tf.shape(logits)], 0), seed, dtype=logits.dtype)
    return probability - tf.cast(drawn < probability, logits.dtype)


def _gaussian(means: tf.Tensor, samples: int, seed: tf.Tensor) -> tf.Tensor:
    return tf.random.stateless_normal(tf.concat([[samples], tf.shape(means)], 0), seed, dtype=means.dtype)


_SCORES = {"softmax": _softmax, "bernoulli": _bernoulli, "gaussian": _gaussian}
