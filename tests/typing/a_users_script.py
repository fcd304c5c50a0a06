"""What a type checker says of a user's script: `make lint` runs mypy over it, strictly.

Each ignored line is an error that is to be found: mypy complains of one that is not needed.
"""

from typing import Any

import symgrad
from symgrad.diagnose import why_none
from symgrad.optimizers import SGD


def differentiate(y: Any, x: Any) -> list[str]:
    """Calls as they are meant."""
    symgrad.jacobian(y, x, mode="rows", block_size=8)
    symgrad.Rop(y, x, x, method="forward", disconnected="zero")
    symgrad.hvp(y, x, x, disconnected="none")
    SGD(0.1, momentum=0.9).minimize(y)
    return [" > ".join(finding.path) + str(finding.where) for finding in why_none(y, x)]


def misspell(y: Any, x: Any) -> None:
    """Calls that an editor is to underline."""
    symgrad.jacobian(y, x, mode="row")  # type: ignore[arg-type]
    symgrad.Rop(y, x, x, method="forwards")  # type: ignore[arg-type]
    symgrad.Lop(y, x, y, disconnected="zeros")  # type: ignore[arg-type]
    symgrad.Lop(y, x)  # type: ignore[call-arg]
    symgrad.hessian(y, x, mode="rows")  # type: ignore[call-arg]
    symgrad.jacobians(y, x)  # type: ignore[attr-defined]
    for finding in why_none(y, x):
        print(finding.route)  # type: ignore[attr-defined]
