"""A colouring reads every entry from a product in which it is alone, with the counts that theory knows."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from symgrad.errors import PatternError
from symgrad.sparsity import Coloring, Pattern
from symgrad.sparsity._groups import greedy, greedy_in_python


def _read(coloring, matrix):
    """The matrix as it is read from its products."""
    by_columns = [matrix @ (coloring.columns == c) for c in range(coloring.counts[0])]
    by_rows = [(coloring.rows == c) @ matrix for c in range(coloring.counts[1])]
    products = np.concatenate([*by_columns, *by_rows, []])
    kept = coloring.matrix
    return sp.csr_array((products[coloring.sources], kept.indices, kept.indptr), kept.shape).toarray()


def _stencil(k, *offsets):
    one = {d: sp.diags_array(np.ones(k - abs(d)), offsets=d, shape=(k, k)) for d in (-1, 0, 1)}
    found = sum(sp.kron(one[a], one[b]) for a, b in offsets)
    return Pattern(sp.csr_array(found).astype(bool), ((k, k),), ((k, k),))


FIVE = [(0, 0), (1, 0), (-1, 0), (0, 1), (0, -1)]
NINE = [(a, b) for a in (-1, 0, 1) for b in (-1, 0, 1)]


def _arrow(n):
    found = np.eye(n)
    found[0] = found[:, 0] = 1
    return sp.csr_array(found)


def test_the_counts_that_are_known():
    tridiagonal = sp.diags_array(np.ones((3, 50)), offsets=[-1, 0, 1], shape=(50, 50))
    assert Coloring(tridiagonal).colors == 3
    assert Coloring(_stencil(12, *FIVE)).colors == 5
    assert Coloring(_stencil(12, *NINE)).colors == 9
    assert Coloring(_arrow(40)).colors <= 5
    assert Coloring(_arrow(40), symmetric=True).colors <= 5


@settings(max_examples=60)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(0, 9),
    st.integers(0, 9),
    st.sampled_from(["auto", "columns", "rows", "both"]),
)
def test_every_entry_is_read(seed, m, n, mode):
    rng = np.random.default_rng(seed)
    matrix = rng.uniform(1, 2, (m, n)) * (rng.uniform(size=(m, n)) < rng.uniform())
    np.testing.assert_allclose(_read(Coloring(sp.csr_array(matrix), mode=mode), matrix), matrix, rtol=1e-15)


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), st.integers(1, 9))
def test_every_entry_of_a_symmetric_matrix_is_read(seed, n):
    rng = np.random.default_rng(seed)
    matrix = rng.uniform(1, 2, (n, n)) * (rng.uniform(size=(n, n)) < rng.uniform())
    matrix = matrix + matrix.T
    np.testing.assert_allclose(_read(Coloring(sp.csr_array(matrix), symmetric=True), matrix), matrix, rtol=1e-15)


def test_the_compiled_greedy_colouring_and_ours_agree(rng):
    for _ in range(5):
        matrix = sp.csr_array(rng.uniform(size=(30, 20)) < 0.1)
        order = rng.permutation(20)
        np.testing.assert_array_equal(greedy(matrix, order), greedy_in_python(matrix, order))


def test_a_picture_has_a_colour_for_each_product():
    axes = Coloring(_arrow(9)).spy().axes[0]
    assert len({line.get_color() for line in axes.lines}) == Coloring(_arrow(9)).colors
    assert sum(len(line.get_xdata()) for line in axes.lines) == _arrow(9).nnz


def test_the_way_with_the_fewest_products_is_taken():
    tall = sp.csr_array(np.ones((40, 2)))
    wide = sp.csr_array(np.kron(np.eye(40), np.ones((1, 5))))  # 5 columns a row, 1 row a column
    assert Coloring(tall).counts == (2, 0)
    assert Coloring(wide).counts == (0, 1)


def test_saved_and_loaded(tmp_path):
    made = Coloring(_arrow(9))
    made.save(tmp_path / "c.npz")
    again = Coloring.load(tmp_path / "c.npz")
    assert (made.matrix != again.matrix).nnz == 0
    np.testing.assert_array_equal(made.sources, again.sources)


def test_an_invalid_colouring_names_an_entry(tmp_path):
    with pytest.raises(PatternError, match=r"entry \(0, 0\) is alone in no product"):
        Coloring.from_colors(sp.csr_array(np.ones((2, 2))), columns=[0, 0])
    with pytest.raises(PatternError, match="2 columns"):
        Coloring.from_colors(sp.csr_array(np.ones((2, 2))), columns=[0, 0, 1])
    with pytest.raises(PatternError, match="not symmetric"):
        Coloring(sp.csr_array([[1, 1], [0, 1]]), symmetric=True)
    (tmp_path / "c.npz").write_bytes(b"no file of numpy")
    with pytest.raises(PatternError, match=r"no colouring that save\(\) wrote"):
        Coloring.load(tmp_path / "c.npz")
