"""The page docs/coverage.md, from what a sweep has found. `python -m sweep.coverage` in tests/ writes it."""

import pathlib
import re

from sweep.run import sweep
from sweep.table import ROADS
from sweep.tables import ROWS
from symgrad import _tf

VERSION = (2, 21)  # the TensorFlow whose page is kept

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


def page(verdicts):
    """The text of the page, from the verdicts of each row."""
    rows = sorted(verdicts, key=lambda row: row.label.lower())
    lines = [_HEAD.format(version=".".join(map(str, VERSION)), rows=len(rows), types=len({r.op for r in rows}))]
    lines += ["| op type | compared with | Lop | Rop, double VJP | Rop, forward |", "|---|---|---|---|---|"]
    for row in rows:
        cells = [_cell(row, road, verdicts[row][road]) for road in ROADS]
        with_what = {"differences": "float32 differences" if row.coarse else "float64 differences"}
        lines.append(f"| {row.label} | {with_what.get(row.check, row.check)} | {' | '.join(cells)} |")
    lines += ["", "## Without a row", "", "| op type | reason |", "|---|---|"]
    swept = {row.op for row in ROWS}
    lines += [f"| {op} | {reason(op)} |" for op in registered() if op not in swept]
    return "\n".join(lines) + "\n"


def _cell(row, road, verdict):
    if verdict.status == "error":
        return f"{row.errors.get(road, '')}: `{_plain(verdict.detail)}`"
    if verdict.status == "cannot run":
        return CANNOT_RUN.get(row.op, verdict.status)
    return verdict.status


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
"""


def main():
    """Run the sweep and write the page."""
    verdicts = {row: sweep(row) for row in ROWS}
    target = pathlib.Path(__file__).parents[2] / "docs" / "coverage.md"
    target.write_text(page(verdicts))
    for row, found in verdicts.items():
        for road, verdict in found.items():
            if verdict.failed:
                print(f"{row.label}, {road}: {verdict.status} {verdict.detail}")


if __name__ == "__main__":
    main()
