"""The page docs/coverage.md, from what a sweep has found. `python -m sweep.coverage` in tests/ writes it."""

import pathlib
import re

from sweep import complex_numbers, special
from sweep.run import sweep
from sweep.table import ROADS
from sweep.tables import ROWS
from symgrad import _tf

VERSION = (2, 21)  # the TensorFlow whose page is kept
PAGE = pathlib.Path(__file__).parents[2] / "docs" / "coverage.md"
REAL = ("compared with", "Lop", "Rop, double VJP", "Rop, forward")
COMPLEX = "complex"
SPECIAL = "special points"
COLUMNS = ("op type", *REAL, COMPLEX, SPECIAL)

# Op types of the table that the TensorFlow of a CPU does not run.
CANNOT_RUN = {
    "BatchNormWithGlobalNormalization": "removed from TensorFlow's graphs",
    "CTCLossV2": "no CPU kernel",
    "QuantizeAndDequantize": "removed from TensorFlow's graphs",
    "SparseMatrixAdd": "no CPU kernel",
    "SparseMatrixMul": "no CPU kernel",
    "SparseMatrixSoftmax": "no CPU kernel",
    "TopK": "removed from TensorFlow's graphs",
}

# Op types that have no row, by the beginning of their names.
_LEFT_OUT = {
    "AllToAll|CollectivePermute|CrossReplicaSum|TPUEmbeddingActivations": "TPU only",
    "Nccl": "GPU only",
    "Cudnn": "GPU only",
    "Xla": "XLA only",
    "CopyToMesh|Relayout": "DTensor only",
    "TensorArray(Concat|Gather|Read|Scatter|Split|Write)(V2)?$": "removed from TensorFlow's graphs",
    "Ref(Enter|Exit|Merge|NextIteration|Switch)": "references in V1 control flow, which no Python function makes",
    "DebugGradientRefIdentity": "made by the debugger only",
    "_EagerConst": "made by eager execution only",
    "CompositeTensorVariant": "composite tensors as loop variables of eager functions",
    "ArgMax|ArgMin": "integer outputs",
}


def registered():
    """The op types for which TensorFlow has a gradient function."""
    registry = _tf.gradient_registry
    names = sorted(registry.list())
    return [name for name in names if not name.startswith("SymgradTest") and _is_an_op(name) and registry.lookup(name)]


def _is_an_op(name):
    """False for gradients that users and tests have registered under names of their own."""
    return name.startswith("_") or name in _KNOWN or _tf.op_def_registry.get(name) is not None


_KNOWN = {"CopyToMesh", "CopyToMeshGrad"}


def reason(op):
    """Why an op type has no row, or None."""
    return next((why for names, why in _LEFT_OUT.items() if re.match(names, op)), None)


def real_cells(row, verdicts):
    """What the page says of a row of which these are the verdicts of the sweep."""
    with_what = {"differences": "float32 differences" if row.coarse else "float64 differences"}
    return [with_what.get(row.check, row.check), *(_cell(row, road, verdicts[road]) for road in ROADS)]


def _cell(row, road, verdict):
    if verdict.status == "error":
        return f"{row.errors.get(road, '')}: `{_plain(verdict.detail)}`"
    if verdict.status == "cannot run":
        return CANNOT_RUN.get(row.op, verdict.status)
    return verdict.status


def complex_cell(row, found):
    """What the page says of a row at complex numbers: `found` is a status, or the verdict of each road."""
    if isinstance(found, str):
        return found
    errors = {road for road, verdict in found.items() if verdict.status == "error"}
    reasons = {reason for road, reason in {**row.errors, **row.complex_errors}.items() if road in errors}
    right = {verdict.status for road, verdict in found.items() if road not in errors}
    return ", but: ".join([*sorted(right), *sorted(reasons)])


def special_cell(row, found):
    """What the page says of a row at special points: `found` is what the sweep of these gives."""
    if found is None:
        return "not swept"
    judged, failed = found
    reasons = [f"not {', '.join(names)}: {why}" for why, names in _by_reason(row.special).items()]
    statuses = {verdict.status for verdict in failed.values()} or {"right" if judged else "none"}
    return "; ".join([*sorted(statuses), *sorted(reasons)])


def _by_reason(special):
    return {why: [name for name, other in special.items() if other == why] for why in special.values()}


def page(cells):
    """The text of the page, from the cells of each row."""
    rows = sorted(cells, key=lambda row: row.label.lower())
    lines = [_HEAD.format(version=".".join(map(str, VERSION)), rows=len(rows), types=len({r.op for r in rows}))]
    lines += [f"| {' | '.join(COLUMNS)} |", "|---" * len(COLUMNS) + "|"]
    lines += [f"| {' | '.join([row.label, *cells[row]])} |" for row in rows]
    lines += ["", "## Without a row", "", "| op type | reason |", "|---|---|"]
    swept = {row.op for row in ROWS}
    lines += [f"| {op} | {reason(op)} |" for op in registered() if op not in swept]
    return "\n".join(lines) + "\n"


def written(*columns):
    """What the page in docs/ says in these columns, by the label of the row."""
    lines = PAGE.read_text().split("## Without a row")[0].splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines if line.startswith("| ")]
    places = [COLUMNS.index(column) for column in columns]
    return {row[0]: [row[place] for place in places] for row in rows[1:]}


def _plain(text):
    """An error message that is the same in every run and every folder: no numbers of ops, no files, one line, short."""
    text = re.sub(r", made at [^)]+| \(made at [^)]+\)", "", text)
    text = re.sub(r"_\d+\b", "", text).replace("|", "/").replace("`", "'")
    return text if len(text) <= 120 else text[:117] + "..."


_HEAD = """# Coverage

What `Lop` and `Rop` do with each op type for which TensorFlow {version} has a gradient function, and with some
for which it has none: {rows} cases of {types} op types. `make coverage-table` writes this page from a run of the sweep
in `tests/sweep`; the tests hold the two together.

"right" is within 1e-6 of central differences in float64, within 1e-2 in float32 where the op has no other kernel or
computes in it. "adjoint" cases (straight-through estimators, samplers) have a derivative by declaration: there Rop is
the adjoint of Lop to rounding. "zero" is a function that is constant by pieces, of which DisconnectedError says so.

The column "complex" is of complex inputs: `Lop`, both roads of `Rop` and `hvp` of a real loss along real and along
imaginary directions, against central differences in float64, and `Rop` as the adjoint of `Lop`. "real only": the op
takes no complex numbers; "no kernel": it says that it does, and a CPU has no kernel for them.

The column "special points" is of inputs that are all zero, all negative zero, all equal, zero or infinite at one place,
and of inputs of one element or without rows or columns, each where the op gives a finite result. Where a derivative
exists, which one-sided differences tell, `Lop`, both roads of `Rop` and `hvp` are right; an infinite x that leaves y
finite has derivative 0. Where none exists, as at a kink, TensorFlow's convention is kept, and nothing is NaN that is
finite in `tf.gradients`. "not swept": float32, or more than one op; "none": no special point gives a finite result.
"""


def main():
    """Run the sweeps and write the page."""
    cells = {}
    for row in ROWS:
        found, at_complex, at_special = sweep(row), complex_numbers.sweep(row), special.sweep(row)
        cells[row] = [*real_cells(row, found), complex_cell(row, at_complex), special_cell(row, at_special)]
        failed = at_special[1] if at_special else {}
        for road, verdict in [*found.items(), *(at_complex.items() if isinstance(at_complex, dict) else ())]:
            if verdict.failed:
                failed[road] = verdict
        for where, verdict in failed.items():
            print(f"{row.label}, {where}: {verdict.status} {verdict.detail}")
    PAGE.write_text(page(cells))


if __name__ == "__main__":
    main()
