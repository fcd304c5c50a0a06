"""Adam and what grew out of it."""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v1 as tf

from .._optimizing._declarations import hyperparameter, option, shared_slot, slot
from .._optimizing._kernel import Kernel, Kernels
from .._optimizing._scratch import can_scratch_for, through_scratch
from .._optimizing._variables import assign, present, read, scatter_add
from ._optimizer import Optimizer

__all__ = ["AMSGrad", "Adam", "AdamW", "Adamax", "Nadam", "moments"]

_SLOTS = {"m": "m", "v": "v"}
_RATES = {"lr": "learning_rate", "beta1_power": "beta1_power", "beta1": "beta1", "beta2": "beta2", "epsilon": "epsilon"}
_ADAM = _RATES | {"beta2_power": "beta2_power"}

Step = tuple[tf.Tensor, dict[str, tf.Tensor]]


def _beta1_power() -> shared_slot:
    return shared_slot("beta1", advance=lambda power, h: power * h.beta1)


class _Moments(Optimizer):
    """The state of Adam and its kin; the powers of beta are part of it, as in TensorFlow's checkpoints."""

    beta1_power = _beta1_power()
    beta2_power = shared_slot("beta2", advance=lambda power, h: power * h.beta2)
    m = slot()
    v = slot()


def moments(grad: tf.Tensor, h: Any, s: Any) -> tuple[tf.Tensor, tf.Tensor]:
    """The running means of the gradient and of its square."""
    return s.m + (grad - s.m) * (1 - h.beta1), s.v + (tf.square(grad) - s.v) * (1 - h.beta2)


def _rate(h: Any) -> tf.Tensor:
    return h.learning_rate * tf.sqrt(1 - h.beta2_power) / (1 - h.beta1_power)


class Adam(_Moments):
    """Steps scaled by running means of the gradient and of its square, as `tf.compat.v1.train.AdamOptimizer`.

        m <- m + (1 - beta1) (g - m);   v <- v + (1 - beta2) (g^2 - v)
        x <- x - learning_rate * sqrt(1 - beta2^t) / (1 - beta1^t) * m / (sqrt(v) + epsilon)

    Args:
      learning_rate: step size.
      beta1: how much of the mean of gradients is kept at a step.
      beta2: the same of the mean of squares.
      epsilon: added to the root; the "epsilon hat" of the paper.

    Reference: D. Kingma and J. Ba (2015), Adam: a method for stochastic optimization, ICLR, section 2.
    """

    learning_rate = hyperparameter(0.001, low=0.0)
    beta1 = hyperparameter(0.9, low=0.0, below=1.0)
    beta2 = hyperparameter(0.999, low=0.0, below=1.0)
    epsilon = hyperparameter(1e-8, low=0.0)
    kernel = Kernel("Adam", _SLOTS, _ADAM)

    def step(self, grad: tf.Tensor, var: Any, h: Any, s: Any) -> Step:
        """The formula above."""
        m, v = moments(grad, h, s)
        return -_rate(h) * m / (tf.sqrt(v) + h.epsilon), {"m": m, "v": v}

    def _update_all_rows(self, grad: tf.IndexedSlices, var: Any) -> Any:
        """All rows move. TensorFlow's sparse Adam rounds in another order than its kernel; this is that order."""
        if self.kernel is not Adam.kernel:
            return super()._update_all_rows(grad, var)
        h, slots = self._scalars(var), self._slots_of(var)
        m = self._decayed(slots["m"], h.beta1, grad.indices, grad.values * (1 - h.beta1))
        v = self._decayed(slots["v"], h.beta2, grad.indices, (grad.values * grad.values) * (1 - h.beta2))
        delta = _rate(h) * m / (tf.sqrt(v) + h.epsilon)
        return var.assign_sub(delta, use_locking=self._use_locking, read_value=False)

    def _decayed(self, mean: Any, beta: tf.Tensor, indices: tf.Tensor, rows: tf.Tensor) -> tf.Tensor:
        """The running mean after all its rows have decayed and some have got their share of the gradient."""
        done = assign(mean, read(mean) * beta, use_locking=self._use_locking)
        with tf.control_dependencies(present([done])):
            done = scatter_add(mean, indices, rows)
        with tf.control_dependencies(present([done])):
            return read(mean)


class AdamW(_Moments):
    """Adam with decoupled weight decay: the decay is not part of the gradient, so that it is not rescaled.

        x <- x - (the step of Adam) - learning_rate * weight_decay * x

    Leave variables out by `multipliers={"weight_decay": lambda variable: 0.0 if "bias" in variable.name else 1.0}`.

    Args:
      learning_rate: step size.
      weight_decay: share of the variable that is taken away per unit of learning rate.
      beta1: how much of the mean of gradients is kept at a step.
      beta2: the same of the mean of squares.
      epsilon: added to the root.

    Reference: I. Loshchilov and F. Hutter (2019), Decoupled weight decay regularization, ICLR.
    """

    learning_rate = hyperparameter(0.001, low=0.0)
    weight_decay = hyperparameter(0.004, low=0.0)
    beta1 = hyperparameter(0.9, low=0.0, below=1.0)
    beta2 = hyperparameter(0.999, low=0.0, below=1.0)
    epsilon = hyperparameter(1e-8, low=0.0)
    kernel: Kernel | Kernels | None = Kernel(
        "Adam", _SLOTS, _ADAM, shrink=lambda h: 1 - h.learning_rate * h.weight_decay
    )

    def step(self, grad: tf.Tensor, var: Any, h: Any, s: Any) -> Step:
        """The formula above."""
        m, v = moments(grad, h, s)
        delta = _rate(h) * m / (tf.sqrt(v) + h.epsilon) + h.learning_rate * h.weight_decay * var
        return -delta, {"m": m, "v": v}


class AMSGrad(Adam):
    """Adam that divides by the largest mean of squares so far.

        m, v as in Adam;   v_hat <- max(v_hat, v)
        x <- x - learning_rate * sqrt(1 - beta2^t) / (1 - beta1^t) * m / (sqrt(v_hat) + epsilon)

    As `tf_keras.optimizers.legacy.Adam(amsgrad=True)`; the hyperparameters are those of `Adam`.

    Reference: S. Reddi, S. Kale and S. Kumar (2018), On the convergence of Adam and beyond, ICLR.
    """

    vhat = slot()
    kernel = Kernel("AdamWithAmsgrad", _SLOTS | {"vhat": "vhat"}, _ADAM)

    def step(self, grad: tf.Tensor, var: Any, h: Any, s: Any) -> Step:
        """The formula above."""
        m, v = moments(grad, h, s)
        vhat = tf.maximum(s.vhat, v)
        return -_rate(h) * m / (tf.sqrt(vhat) + h.epsilon), {"m": m, "v": v, "vhat": vhat}


class Adamax(Optimizer):
    """Adam with the largest gradient of late in place of the mean of squares.

        m <- m + (1 - beta1) (g - m);   u <- max(beta2 u, |g|)
        x <- x - learning_rate / (1 - beta1^t) * m / (u + epsilon)

    As `tf_keras.optimizers.legacy.Adamax`, whose slot for u is called `v`.

    Args:
      learning_rate: step size.
      beta1: how much of the mean of gradients is kept at a step.
      beta2: how much of the largest gradient is kept.
      epsilon: added to the denominator.

    Reference: D. Kingma and J. Ba (2015), Adam: a method for stochastic optimization, ICLR, section 7.1.
    """

    default_lazy = True
    learning_rate = hyperparameter(0.001, low=0.0)
    beta1 = hyperparameter(0.9, low=0.0, below=1.0)
    beta2 = hyperparameter(0.999, low=0.0, below=1.0)
    epsilon = hyperparameter(1e-7, low=0.0)
    beta1_power = _beta1_power()
    m = slot()
    v = slot()
    kernel = Kernel("AdaMax", _SLOTS, _RATES)

    def step(self, grad: tf.Tensor, var: Any, h: Any, s: Any) -> Step:
        """The formula above."""
        m = s.m + (grad - s.m) * (1 - h.beta1)
        v = tf.maximum(h.beta2 * s.v, tf.abs(grad))
        return -h.learning_rate / (1 - h.beta1_power) * m / (v + h.epsilon), {"m": m, "v": v}


def _mu(beta1: tf.Tensor, schedule_decay: float, t: tf.Tensor) -> tf.Tensor:
    """Nadam's momentum at step t, which rises to beta1."""
    # 0.96 rounded to float32 first, as Keras does.
    return beta1 * (1 - 0.5 * tf.pow(tf.cast(0.96, t.dtype), schedule_decay * t))


def _weights_of_nadam(h: Any) -> tuple[tf.Tensor, tf.Tensor]:
    """What the gradient and its mean count in the step: (1 - mu_t) / (1 - M_t) and mu_(t+1) / (1 - M_(t+1))."""
    mu, next_mu = (_mu(h.beta1, h.option("schedule_decay"), t) for t in (h.t, h.t + 1))
    product = h.momentum_cache * mu
    return (1 - mu) / (1 - product), next_mu / (1 - product * next_mu)


def _nadam_by_kernels(grad: tf.Tensor, var: Any, h: Any, slots: dict[str, Any]) -> tf.Operation:
    """Nadam by two kernels: that of Keras's momentum makes m and adds it to a share of the gradient in a scratch
    variable, and Adam's takes that for its mean, which beta1 = 1 leaves as it is.
    """
    of_grad, of_mean = _weights_of_nadam(h)
    share = tf.check_numerics(of_grad / of_mean, "Nadam.beta1 has to be above 0, and at this step it is not")
    root = tf.sqrt(1 - tf.pow(h.beta2, h.t))
    one, zero = tf.ones([], grad.dtype), tf.zeros([], grad.dtype)
    both = {"grad": grad, "use_locking": h.use_locking}

    def kernels(scratch: tf.Tensor) -> tf.Operation:
        mean = tf.raw_ops.ResourceApplyKerasMomentum(
            var=scratch, accum=slots["m"].handle, lr=h.beta1 - 1, momentum=h.beta1, **both
        )
        with tf.control_dependencies([mean]):
            return tf.raw_ops.ResourceApplyAdam(
                var=var.handle,
                m=scratch,
                v=slots["v"].handle,
                lr=h.learning_rate * of_mean * root,
                epsilon=h.epsilon * root,
                beta1=one,
                beta2=h.beta2,
                beta1_power=zero,
                beta2_power=zero,
                **both,
            )

    return through_scratch(share * grad, kernels).op


class Nadam(Optimizer):
    """Adam with Nesterov's momentum, which grows along a schedule.

        mu_t = beta1 (1 - 0.96^(schedule_decay t) / 2);   M_t = mu_1 ... mu_t
        m <- beta1 m + (1 - beta1) g;   v <- beta2 v + (1 - beta2) g^2
        n = (1 - mu_t) g / (1 - M_t) + mu_(t+1) m / (1 - M_(t+1))
        x <- x - learning_rate * n / (sqrt(v / (1 - beta2^t)) + epsilon)

    As `tf_keras.optimizers.legacy.Nadam` for dense gradients.

    Args:
      learning_rate: step size.
      beta1: how much of the mean of gradients is kept at a step, above 0.
      beta2: the same of the mean of squares.
      epsilon: added to the root.
      schedule_decay: how fast the momentum grows.

    Reference: T. Dozat (2016), Incorporating Nesterov momentum into Adam, ICLR workshop.
    """

    learning_rate = hyperparameter(0.001, low=0.0)
    beta1 = hyperparameter(0.9, above=0.0, below=1.0)
    beta2 = hyperparameter(0.999, low=0.0, below=1.0)
    epsilon = hyperparameter(1e-7, low=0.0)
    schedule_decay = option(0.004, low=0.0)
    momentum_cache = shared_slot(1.0, advance=lambda cache, h: cache * _mu(h.beta1, h.option("schedule_decay"), h.t))
    m = slot()
    v = slot()
    kernel = Kernels(_nadam_by_kernels, can_scratch_for)

    def step(self, grad: tf.Tensor, var: Any, h: Any, s: Any) -> Step:
        """The formula above."""
        of_grad, of_mean = _weights_of_nadam(h)
        m, v = moments(grad, h, s)
        root = tf.sqrt(1 - tf.pow(h.beta2, h.t))
        rate = h.learning_rate * root
        return -(rate * of_grad * grad + rate * of_mean * m) / (tf.sqrt(v) + h.epsilon * root), {"m": m, "v": v}
