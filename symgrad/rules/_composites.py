"""Ops that have no gradient, or one that is wrong or incomplete, written as compositions of other ops.

The derivative of the composition, of any order and in any input, stands for that of the op; the op itself goes on
computing the values. A composite is given the op and tensors in the place of its inputs, and returns what the op would,
None for outputs that are not floating.
"""

from ._registry import Registry

composite = Registry("composite")
