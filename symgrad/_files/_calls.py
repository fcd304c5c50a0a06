"""Which functions a graph calls."""

from collections.abc import Iterable
from typing import Any


def calls_itself(functions: Iterable[Any]) -> bool:
    """Whether one of some FunctionDefs calls itself, by others too: TensorFlow follows such without end and crashes."""
    waiting = {function.signature.name: set(called_by(function.node_def)) for function in functions}
    done = [name for name, called in waiting.items() if not called & waiting.keys()]
    callers: dict[str, list[str]] = {}
    for name, called in waiting.items():
        for other in called & waiting.keys():
            callers.setdefault(other, []).append(name)
    left = {name: len(called & waiting.keys()) for name, called in waiting.items()}
    for name in done:  # the list grows while it is walked
        for caller in callers.get(name, ()):
            left[caller] -= 1
            if not left[caller]:
                done.append(caller)
    return len(done) < len(waiting)


def called_by(nodes: Iterable[Any]) -> list[str]:
    """Names of the functions in the attributes of NodeDefs, each once, in their order."""
    functions = (f for node in nodes for attr in node.attr.values() for f in functions_of(attr))
    return list(dict.fromkeys(function.name for function in functions))


def functions_of(attr: Any) -> Iterable[Any]:
    """The NameAttrLists in one attribute of a NodeDef."""
    return (attr.func,) if attr.HasField("func") else attr.list.func
