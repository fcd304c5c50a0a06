"""Which functions a graph calls."""

from collections.abc import Iterable, Iterator
from typing import Any


def callees_first(functions: Iterable[Any]) -> list[str]:
    """The names of some FunctionDefs, each after those that it calls.

    One that calls itself, by others too, is left out, with its callers: TensorFlow follows such without end.
    """
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
    return done


def called_by(nodes: Iterable[Any]) -> list[str]:
    """Names of what NodeDefs may call, each once, in their order; see `calls_of`."""
    return list(dict.fromkeys(calls_of(nodes)))


def calls_of(nodes: Iterable[Any]) -> Iterator[str]:
    """For each call the name of the function: in an attribute, or the op type itself, as Defun calls are written.

    Most op types are no functions; whoever asks knows the functions that there are.
    """
    for node in nodes:
        yield node.op
        yield from (f.name for attr in node.attr.values() for f in functions_of(attr))


def functions_of(attr: Any) -> Iterable[Any]:
    """The NameAttrLists in one attribute of a NodeDef."""
    return (attr.func,) if attr.HasField("func") else attr.list.func
