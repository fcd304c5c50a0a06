"""<u, J v> = <J^T u, v> over the table of cases."""

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from cases import CASES

from symgrad.testing import check_adjoint, check_linear


@pytest.mark.core
@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_rop_is_the_adjoint_of_lop(case):
    with tf.Graph().as_default():
        ys, xs = case(np.random.default_rng(0))
        check_adjoint(ys, xs, seed=1, tol=1e-10)  # float64: rounding of sums of at most a few hundred terms


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_lop_is_linear(case):
    with tf.Graph().as_default():
        ys, xs = case(np.random.default_rng(0))
        check_linear(ys, xs, seed=1, tol=1e-10)  # as above
