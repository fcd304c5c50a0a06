"""Optimizers in the style of TensorFlow 1, extended by declarations and one method."""

from ._base import Optimizer
from ._declare import hyperparameter, option, shared_slot, slot
from ._momentum import SGD, Momentum

__all__ = ["SGD", "Momentum", "Optimizer", "hyperparameter", "option", "shared_slot", "slot"]
