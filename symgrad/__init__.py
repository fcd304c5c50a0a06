"""Derivatives of TensorFlow graphs (`tf.compat.v1`).

Importing symgrad does not import TensorFlow: each name loads its module when it is first used (PEP 562).
"""

import importlib
from typing import Any

from . import errors

__version__ = "0.1.0"

# Names of packages that are in the flat namespace too; the stub __init__.pyi lists the same.
_OPERATORS: tuple[str, ...] = (
    "Lop",
    "Rop",
    "batch_jacobian",
    "biharmonic",
    "compiled",
    "curl",
    "directional",
    "divergence",
    "example_jacobian",
    "ggnvp",
    "gradients",
    "hessian",
    "hvp",
    "jacobian",
    "jacobian_blocks",
    "jet",
    "laplacian",
    "partials",
)
_SPARSITY: tuple[str, ...] = ("sparse_hessian", "sparse_jacobian")
_PACKAGES = (
    "cli",
    "diagnose",
    "graph",
    "linops",
    "loaders",
    "operators",
    "optimizers",
    "rules",
    "sparsity",
    "testing",
)

__all__ = ["__version__", "errors", *_OPERATORS, *_SPARSITY, *_PACKAGES]


def __getattr__(name: str) -> Any:
    """Load an operator or a package at its first use."""
    if name in _OPERATORS:
        return getattr(importlib.import_module("symgrad.operators"), name)
    if name in _SPARSITY:
        return getattr(importlib.import_module("symgrad.sparsity"), name)
    if name in _PACKAGES:
        return importlib.import_module(f"symgrad.{name}")
    raise AttributeError(f"module 'symgrad' has no attribute {name!r}")


def __dir__() -> list[str]:
    """The public names, loaded or not."""
    return sorted(__all__)
