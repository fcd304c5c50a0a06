"""Every op type that TensorFlow differentiates and a CPU can run: right, zero, or a typed error with a reason."""

import pytest
import tensorflow as tf

from sweep import coverage
from sweep.run import sweep
from sweep.table import ROADS
from sweep.tables import ROWS

pytestmark = pytest.mark.core

VERSION = tuple(int(part) for part in tf.__version__.split(".")[:2])


@pytest.fixture(scope="module")
def verdicts():
    return {}


@pytest.mark.parametrize("row", [r for r in ROWS if r.since <= VERSION], ids=lambda r: r.label)
def test_every_road_is_right_or_says_why_not(row, verdicts):
    found = verdicts[row] = sweep(row)
    for road in ROADS:
        verdict = found[road]
        if verdict.status == "cannot run":
            assert row.op in coverage.CANNOT_RUN, verdict
        elif road in row.errors:
            assert verdict.status == "error", verdict
        else:
            assert verdict.status == ("zero" if row.check == "zero" else "right"), f"{road}: {verdict}"


def test_every_op_type_with_a_gradient_has_a_row_or_a_reason():
    swept = {row.op for row in ROWS}
    left_out = [op for op in coverage.registered() if op not in swept and coverage.reason(op) is None]
    assert left_out == []


@pytest.mark.skipif(VERSION != coverage.VERSION, reason="the page is that of one TensorFlow")
def test_the_page_is_current(verdicts):
    if len(verdicts) < len(ROWS):
        pytest.skip("only a part of the sweep was run")
    cells = {row.label: coverage.real_cells(row, found) for row, found in verdicts.items()}
    assert coverage.written(*coverage.REAL) == cells, "run make coverage-table"


@pytest.mark.skipif(VERSION != coverage.VERSION, reason="the page is that of one TensorFlow")
def test_the_page_has_all_rows_in_order():
    cells = coverage.written(*coverage.COLUMNS[1:])
    assert coverage.PAGE.read_text() == coverage.page({row: cells[row.label] for row in ROWS}), (
        "run make coverage-table"
    )
