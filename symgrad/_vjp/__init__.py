"""Reverse passes: by `tf.gradients` where TensorFlow is right, by rules of ours where it is not."""

from ._copies import in_users_hands
from ._gradient_functions import Instead, is_users
from ._pass import Pullback, gradient_of, reverse, vjp
from ._refusals import refuse_partial_rules, require_inside, require_rules

__all__ = [
    "Instead",
    "Pullback",
    "gradient_of",
    "in_users_hands",
    "is_users",
    "refuse_partial_rules",
    "require_inside",
    "require_rules",
    "reverse",
    "vjp",
]
