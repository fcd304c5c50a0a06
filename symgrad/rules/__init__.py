"""What an op type means to differentiation: pushforward, transpose and linear rules, and what is missing."""

from . import _array, _conjugates, _image, _math, _nn, _python, _scans, _segments, _sparse
from ._composites import composite
from ._csr import adds_matrices, is_matrix, replace_sum, variant_multiple, variant_sum
from ._cuts import Cut, cut_at, has_own_gradient, judged_by
from ._linearity import require_linear
from ._paths import between, gaps, inside, links, missing
from ._registry import Registry, pushforward, transpose
from ._rows import Row, by_input, identity, linear, multilinear, reapply, symmetric
from ._tensor_arrays import one_accumulator

__all__ = [
    "Cut",
    "Registry",
    "Row",
    "adds_matrices",
    "between",
    "by_input",
    "composite",
    "cut_at",
    "gaps",
    "has_own_gradient",
    "identity",
    "inside",
    "is_matrix",
    "judged_by",
    "linear",
    "links",
    "missing",
    "multilinear",
    "one_accumulator",
    "pushforward",
    "reapply",
    "replace_sum",
    "require_linear",
    "symmetric",
    "transpose",
    "variant_multiple",
    "variant_sum",
]

# Importing them registers their rules.
_TABLES = (_array, _conjugates, _image, _math, _nn, _python, _scans, _segments, _sparse)
