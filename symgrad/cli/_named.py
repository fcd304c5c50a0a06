"""Tensors, variables and arrays of a loaded model by the names that stand on the command line."""

from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    import numpy as np


def feed(loaded: Any, pair: str) -> tuple[Any, "np.ndarray"]:
    """The tensor and the array of one NAME=FILE.npy."""
    import numpy as np

    from .. import _tensors

    name, equals, path = pair.partition("=")
    if not equals or not name or not path:
        raise typer.BadParameter(f"--feed {pair!r}; wanted NAME=FILE.npy")
    found = tensor(loaded, name, "--feed")
    try:
        values = np.lib.format.open_memmap(path, mode="r")
    except ValueError as error:
        raise typer.BadParameter(f"--feed {pair!r}: {path} is no .npy array: {error}") from None
    return found, _tensors.fed(found, values)


def variable_or_tensor(loaded: Any, name: str, option: str) -> Any:
    """A variable by its name, or what `tensor` finds."""
    for variable in loaded.variables:
        if name in (variable.name, variable.op.name):
            return variable
    return tensor(loaded, name, option)


def tensor(loaded: Any, name: str, option: str) -> Any:
    """An input or output by its name in the signature, or any tensor of the graph."""
    known = {**loaded.inputs, **loaded.outputs}
    if name in known:
        return known[name]
    try:
        return loaded.graph.get_tensor_by_name(name if ":" in name else f"{name}:0")
    except (KeyError, ValueError):
        raise typer.BadParameter(
            f"{option} {name!r} names nothing in the model; its inputs are {', '.join(sorted(loaded.inputs)) or 'none'}"
            f", its outputs {', '.join(sorted(loaded.outputs)) or 'none'}"
        ) from None


def fetched(loaded: Any, name: str, option: str) -> Any:
    """A variable or tensor by its name, or an op that has no outputs."""
    try:
        op = loaded.graph.get_operation_by_name(name)
    except (KeyError, ValueError):
        op = None
    return op if op is not None and not op.outputs else variable_or_tensor(loaded, name, option)
