"""`diff`: what one graph has that another has not."""

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .._collector import collector_paused
from ..errors import GraphMismatchError, LoadError
from ._attributes import all_nodes, value
from ._functions import bodies, called_functions
from ._library import digests
from ._match import match

if TYPE_CHECKING:
    import networkx

# Attributes with a leading underscore are notes of TensorFlow to itself; this one says which gradient an op has.
_NOTED = frozenset({"_gradient_op_type"})


def diff(a: "networkx.MultiDiGraph", b: "networkx.MultiDiGraph") -> dict[str, Any]:
    """What has to be done to `a` to make it `b`.

    Ops are the same if they have the same name and type, or the same type and the same name within a scope that was
    renamed; which scopes were renamed follows from the ops in them.

    Args:
      a, b: graphs from `build`: live graphs, GraphDefs or files, also of different kinds.

    Returns:
      A dict of plain values, ready for JSON:

      * `same`: number of ops that are in both and equal, but for their names. `equal`: True if nothing differs.
      * `added`, `removed`: names of the ops that only b, or only a, has.
      * `changed`: `name` in a, `now` in b and `what`: for the device, an output or an attribute its value before and
        after.
      * `rewired`: `name`, `now`, and the inputs `before` and `after`, in names of a where both have the op.
      * `renamed`: scope `before` and `after`, and the number of `ops` in it.
      * `types`, `roles`: for each op type and each role the numbers of ops `added` and `removed`.
      * `functions`: for each two functions that the same op calls, and that differ, `within`: the ops and attributes
        that lead there as in `walk`, with names of a; `now`: the name of the last op in b; and all of the above for
        the two, or `error`, why one cannot be read. Two functions are compared once, however many ops call them.

    Example:
      >>> import symgrad
      >>> import tensorflow.compat.v1 as tf
      >>> with tf.Graph().as_default() as g:
      ...     x = tf.placeholder(tf.float32, [3], name="x")
      ...     y = tf.sin(x, name="y")
      ...     before = symgrad.graph.build(g)
      ...     z = tf.exp(y, name="z")
      >>> symgrad.graph.diff(before, symgrad.graph.build(g))["added"]
      ['z']
    """
    with collector_paused():
        found, pairs = _difference(a, b, {})
        inner = list(_inside(a, b, pairs))
    return {**found, "equal": found["equal"] and not inner, "functions": inner}


def _difference(
    a: "networkx.MultiDiGraph", b: "networkx.MultiDiGraph", known: dict[str, str]
) -> tuple[dict[str, Any], dict[str, str]]:
    """The difference without that of functions, and which op of a is which of b; some are `known` to be the same."""
    pairs, renames = match(a, b, known)
    back = {new: old for old, new in pairs.items()}
    removed = [name for name in a if name not in pairs]
    added = [name for name in b if name not in back]
    before, after = _node_defs(a), _node_defs(b)
    changed: list[dict[str, Any]] = []
    rewired: list[dict[str, Any]] = []
    for old, new in pairs.items():
        what = _changes(a.nodes[old], b.nodes[new])
        if old not in known:  # what goes into a function has no attributes of its own
            what |= _attribute_changes(before.get(old), after.get(new))
        if what:
            changed.append({"name": old, "now": new, "what": what})
        inputs = _inputs(a, old, {}), _inputs(b, new, back)
        if inputs[0] != inputs[1]:
            rewired.append({"name": old, "now": new, "before": inputs[0], "after": inputs[1]})
    differing = {row["name"] for row in (*changed, *rewired)}
    found = {
        "same": len(pairs) - len(differing),
        "equal": not (added or removed or differing),
        "added": added,
        "removed": removed,
        "changed": changed,
        "rewired": rewired,
        "renamed": [{"before": x, "after": y, "ops": n} for (x, y), n in renames.most_common()],
        "types": _counts("type", (a, removed), (b, added)),
        "roles": _counts("role", (a, removed), (b, added)),
    }
    return found, pairs


def _inside(a: Any, b: Any, pairs: dict[str, str]) -> Iterator[dict[str, Any]]:
    """Differences between the functions that an op calls in both graphs, and between those that ops of these call."""
    stack: list[tuple[tuple[str, ...], Any, Any, dict[str, str]]] = [((), a, b, pairs)]
    seen: set[tuple[str, str]] = set()
    while stack:
        way, a, b, pairs = stack.pop()
        for old, new, keys in _calls_that_differ(a, b, pairs, seen):
            try:
                inner = bodies(a, old), bodies(b, new)
            except (LoadError, GraphMismatchError) as error:
                yield {"within": [*way, old], "now": new, "error": str(error)}
                continue
            for key in keys:
                first, second = inner[0][key], inner[1][key]
                found, matched = _difference(first, second, _arguments(first, second))
                stack.append(((*way, old, key), first, second, matched))
                if not found.pop("equal"):
                    yield {"within": [*way, old, key], "now": new, **found}


def _calls_that_differ(
    a: "networkx.MultiDiGraph", b: "networkx.MultiDiGraph", pairs: dict[str, str], seen: set[tuple[str, str]]
) -> Iterator[tuple[str, str, list[str]]]:
    """Ops that call functions which do something else, with the attributes that hold them; each two functions once."""
    before, after = _node_defs(a), _node_defs(b)
    digest_a, digest_b = digests(a), digests(b)
    for old, new in pairs.items():
        called, now = called_functions(before.get(old)), called_functions(after.get(new))
        keys = []
        for key in called:
            names = called[key], now.get(key, called[key])
            if key in now and names not in seen and digest_a(names[0]) != digest_b(names[1]):
                seen.add(names)
                keys.append(key)
        if keys:
            yield old, new, keys


def _arguments(a: "networkx.MultiDiGraph", b: "networkx.MultiDiGraph") -> dict[str, str]:
    """The arguments of two functions, which have the same place and any name."""
    inputs = a.graph["inputs"], b.graph["inputs"]
    return dict(zip(*inputs, strict=True)) if len(inputs[0]) == len(inputs[1]) else {}


def _node_defs(graph: "networkx.MultiDiGraph") -> dict[str, Any]:
    try:
        return {node.name: node for node in all_nodes(graph)}
    except LookupError:
        return {}


def _changes(old: dict[str, Any], new: dict[str, Any]) -> dict[str, list]:
    """Differences in what the nodes hold; a shape that one of them does not know is no difference."""
    found = {}
    if old["device"] != new["device"]:
        found["device"] = [old["device"], new["device"]]
    for i, ((dtype, shape), (other, now)) in enumerate(zip(old["outputs"], new["outputs"], strict=False)):
        known = shape is not None and now is not None
        differs = known and (
            len(shape) != len(now) or any(None not in (p, q) and p != q for p, q in zip(shape, now, strict=True))
        )
        if (dtype != other and "unknown" not in (dtype, other)) or differs:
            found[f"output {i}"] = [_spec(dtype, shape), _spec(other, now)]
    return found


def _spec(dtype: str, shape: tuple | None) -> str:
    return dtype if shape is None else f"{dtype}[{', '.join('?' if d is None else str(d) for d in shape)}]"


def _attribute_changes(old: Any, new: Any) -> dict[str, list]:
    """Attributes that differ; one that a file left out has its default value."""
    if old is None or new is None:
        return {}
    found = {}
    for key in sorted({*old.attr, *new.attr}):
        if key.startswith("_") and key not in _NOTED:
            continue
        if key in old.attr and key in new.attr and old.attr[key] == new.attr[key]:
            continue
        values = [_value(node, key) for node in (old, new)]
        if values[0] != values[1]:
            found[key] = values
    return found


def _value(node: Any, key: str) -> Any:
    """A value to compare and to print; what is in a function is compared elsewhere, and its name has a number in it."""
    from .._tf import op_def_registry

    if key in node.attr:
        attr = node.attr[key]
    else:
        definition = op_def_registry.get(node.op)
        declared = next((a for a in definition.attr if a.name == key), None) if definition is not None else None
        if declared is None or not declared.HasField("default_value"):
            return None
        attr = declared.default_value
    if key in _NOTED:  # the numbers of gradient functions count up within a process
        return attr.s.decode("utf-8", "replace").rstrip("0123456789").rstrip("-")
    kind = attr.WhichOneof("value")
    if kind == "func" or (kind == "list" and attr.list.func):
        return "a function"
    found = value(attr)
    return _array(found) if kind == "tensor" else _plain(found)


def _array(found: Any) -> Any:
    """A small array as lists, a large one as its kind and a digest."""
    import hashlib

    if isinstance(found, str) or found.size <= 16:
        return _plain(found if isinstance(found, str) else found.tolist())
    data = repr(found.tolist()).encode() if found.dtype == object else found.tobytes()
    return f"{found.dtype}{list(found.shape)} {hashlib.sha256(data).hexdigest()[:12]}"


def _plain(found: Any) -> Any:
    if isinstance(found, (list, tuple)):
        return [_plain(item) for item in found]
    if isinstance(found, bytes):
        return found.decode("utf-8", "replace")
    return found if found is None or isinstance(found, (bool, int, float, str)) else str(found)


def _inputs(graph: "networkx.MultiDiGraph", name: str, names: dict[str, str]) -> list[str]:
    """Data inputs in order, then control inputs by name."""
    data, control = [], []
    for source, _, edge in graph.in_edges(name, data=True):
        shown = names.get(source, source)
        if edge["kind"] == "data":
            data.append((edge["input"], f"{shown}:{edge['output']}"))
        else:
            control.append(f"^{shown}")
    return [text for _, text in sorted(data)] + sorted(set(control))


def _counts(key: str, removed: tuple[Any, list[str]], added: tuple[Any, list[str]]) -> dict[str, dict[str, int]]:
    gone, come = (Counter(graph.nodes[name][key] for name in names) for graph, names in (removed, added))
    order = (gone + come).most_common()
    return {kind: {"added": come[kind], "removed": gone[kind]} for kind, _ in order}
