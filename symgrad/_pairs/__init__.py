"""Which ops belong to a backward pass, and to which forward op each of them belongs."""

from ._pair import Pairs, pair

__all__ = ["Pairs", "pair"]
