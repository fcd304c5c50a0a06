"""What an op type means to differentiation: pushforward, transpose and linear rules, and what is missing."""

from ._cuts import Cut, cut_at, gaps, has_own_gradient, missing
from ._registry import Registry, pushforward, transpose

__all__ = ["Cut", "Registry", "cut_at", "gaps", "has_own_gradient", "missing", "pushforward", "transpose"]
