"""Every op type that takes complex numbers: derivatives along real and imaginary directions are right, or refused."""

import pytest

from sweep import complex_numbers, coverage
from sweep.table import ROADS
from sweep.tables import ROWS
from sweep.test_sweep import VERSION


@pytest.fixture(scope="module")
def verdicts():
    return {}


@pytest.mark.parametrize("row", [r for r in ROWS if r.since <= VERSION], ids=lambda r: r.label)
def test_every_road_is_right_or_says_why_not(row, verdicts):
    found = verdicts[row] = complex_numbers.sweep(row)
    if isinstance(found, str):
        return
    for road, verdict in found.items():
        if road in {**row.errors, **row.complex_errors} or row.errors.keys() == set(ROADS):
            assert verdict.status == "error", f"{road}: {verdict}"
        else:
            constant = row.check == "zero" and row.op != "Sign"  # of complex numbers that is z/|z|, which moves
            assert verdict.status == ("zero" if constant else "right"), f"{road}: {verdict}"


def test_enough_of_the_op_types_take_complex_numbers(verdicts):
    """A sweep that finds nothing to do proves nothing: some 200 op types have complex kernels."""
    if len(verdicts) == len(ROWS):
        assert len({row.op for row, found in verdicts.items() if not isinstance(found, str)}) >= 190


@pytest.mark.skipif(VERSION != coverage.VERSION, reason="the page is that of one TensorFlow")
def test_the_page_is_current(verdicts):
    if len(verdicts) < len(ROWS):
        pytest.skip("only a part of the sweep was run")
    cells = {row.label: [coverage.complex_cell(row, found)] for row, found in verdicts.items()}
    assert coverage.written(coverage.COMPLEX) == cells, "run make coverage-table"
