"""Optimizers in the style of TensorFlow 1, extended by declarations and one method."""

from .._optimizing._chain import Gated, Transform
from .._optimizing._declarations import hyperparameter, option, shared_slot, slot
from .._optimizing._kernel import Kernel, Kernels
from ._adam import Adam, Adamax, AdamW, AMSGrad, Nadam
from ._adaptive import Adadelta, Adagrad, RMSProp
from ._averages import ema, swa
from ._clipping import clip_adaptively, clip_by_global_norm, clip_by_norm, clip_by_value
from ._constraints import rowwise
from ._ftrl import Ftrl
from ._gates import accumulate, apply_if_finite, loss_scale, skip_nonfinite
from ._hessian_free import HessianFree
from ._large_batch import LAMB, Lion
from ._least_squares import ScipyLeastSquares
from ._levenberg_marquardt import LevenbergMarquardt
from ._momentum import SGD, Momentum
from ._natural_gradient import natural_gradient
from ._optimizer import Optimizer
from ._scipy import ScipyOptimizer
from ._transforms import add_noise, centralize, decoupled_decay, freeze, l2_decay
from ._watch import watch

__all__ = [
    "LAMB",
    "SGD",
    "AMSGrad",
    "Adadelta",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "Ftrl",
    "Gated",
    "HessianFree",
    "Kernel",
    "Kernels",
    "LevenbergMarquardt",
    "Lion",
    "Momentum",
    "Nadam",
    "Optimizer",
    "RMSProp",
    "ScipyLeastSquares",
    "ScipyOptimizer",
    "Transform",
    "accumulate",
    "add_noise",
    "apply_if_finite",
    "centralize",
    "clip_adaptively",
    "clip_by_global_norm",
    "clip_by_norm",
    "clip_by_value",
    "decoupled_decay",
    "ema",
    "freeze",
    "hyperparameter",
    "l2_decay",
    "loss_scale",
    "natural_gradient",
    "option",
    "rowwise",
    "shared_slot",
    "skip_nonfinite",
    "slot",
    "swa",
    "watch",
]
