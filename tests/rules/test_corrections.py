"""Rules that stand in the place of a gradient of TensorFlow's: marked, and left aside by the drop-in."""

import pathlib

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from sweep.table import ComplexDraws
from sweep.tables import ROWS
from worlds import control_flow

import symgrad
from symgrad import _tf, rules

# Op types of which TensorFlow's gradient function raises, or makes ops that nobody can differentiate again: there the
# drop-in takes ours.
_TENSOR_ARRAYS = {f"TensorArray{what}V3" for what in ("Concat", "Gather", "Read", "Scatter", "Split", "Write")}
FAILS = {
    *_TENSOR_ARRAYS, "BlockLSTM", "BlockLSTMV2", "QuantizeAndDequantizeV4Grad", "SparseDenseCwiseAdd",
    "SparseSparseMaximum", "SparseSparseMinimum", "SparseToDense",
}  # fmt: skip
KINDS = (rules.composite, rules.transpose)
CORRECTED = sorted({op for kind in KINDS for op in kind if kind._rules[op].corrects})


def test_what_stands_over_a_gradient_of_tensorflow_is_marked():
    registry = _tf.gradient_registry
    known = set(registry.list())
    over = {op for kind in KINDS for op in kind if op in known and registry.lookup(op)}
    assert {op for op in over if op not in CORRECTED} == FAILS


def test_the_page_on_operators_names_each():
    page = (pathlib.Path(__file__).parents[2] / "docs" / "lop-and-rop.md").read_text()
    assert [op for op in CORRECTED if f"`{op}`" not in page] == []


NOT_OF_COMPLEX = {"Digamma", "EagerPyFunc", "MaxPool3DGrad", "MaxPoolGrad", "MaxPoolGradV2", "Zeta"}


def _rows():
    """The rows of the op types with a correction, at the numbers for which it is."""
    for row in ROWS:
        kinds = [kind for kind in KINDS if row.op in kind and kind._rules[row.op].corrects]
        if kinds and row.op not in NOT_OF_COMPLEX:
            yield pytest.param(row, any(kind.depends(row.op) for kind in kinds), id=row.label)


@pytest.mark.parametrize(("row", "complex_numbers"), _rows())
def test_the_drop_in_builds_what_tensorflow_builds(row, complex_numbers):
    rng = np.random.default_rng(0)
    built = []
    for function in (tf.gradients, symgrad.gradients):
        with tf.Graph().as_default() as graph, control_flow(v2=True):
            ys, xs = row.build(ComplexDraws(rng) if complex_numbers else rng)
            before = len(graph.get_operations())
            try:
                function(ys, xs)
            except Exception as error:
                built.append(type(error))
            else:
                built.append([op.type for op in graph.get_operations()[before:]])
    ours, theirs = built[1], built[0]
    assert theirs == ours if isinstance(theirs, list) else not isinstance(ours, list)


def test_the_slope_of_a_square_root_is_not_asked_where_nothing_comes_back():
    """sum of sqrt at (0, 4), of which the second only is looked at: 1/4 and no 0/0."""
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant([0.0, 4.0], tf.float64)
        y = tf.gather(tf.sqrt(x), [1])
        roads = [symgrad.Rop(y, x, [1.0, 1.0], method=method) for method in ("forward", "double_vjp")]
        assert session.run(roads) == [[0.25], [0.25]]
        np.testing.assert_array_equal(session.run(symgrad.Lop(y, x, [1.0])), [0.0, 0.25])
        np.testing.assert_array_equal(session.run(symgrad.Rop(tf.sqrt(x), x, [0.0, 1.0])), [0.0, 0.25])
