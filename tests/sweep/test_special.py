"""Every op at its special points: zeros, ties, infinities, one element, none. No NaN where the answer is finite."""

import pytest

from sweep import coverage, special
from sweep.tables import ROWS
from sweep.test_sweep import VERSION


@pytest.fixture(scope="module")
def verdicts():
    return {}


SWEPT = [r for r in ROWS if r.since <= VERSION and r.shaped and not r.coarse]


@pytest.mark.parametrize("row", SWEPT, ids=lambda r: r.label)
def test_every_road_is_right_at_special_points(row, verdicts):
    verdicts[row] = special.sweep(row)
    _, failed = verdicts[row]
    assert failed == {}


def test_enough_points_are_judged(verdicts):
    """A sweep that finds nothing to do proves nothing: most rows have some six points with a finite result."""
    if len(verdicts) == len(SWEPT):
        assert sum(judged for judged, _ in verdicts.values()) >= 5 * len(SWEPT)


@pytest.mark.skipif(VERSION != coverage.VERSION, reason="the page is that of one TensorFlow")
def test_the_page_is_current(verdicts):
    if len(verdicts) < len(SWEPT):
        pytest.skip("only a part of the sweep was run")
    cells = {row.label: [coverage.special_cell(row, verdicts.get(row))] for row in ROWS}
    assert coverage.written(coverage.SPECIAL) == cells, "run make coverage-table"
