"""`fold`: name scopes as nodes, each gradient scope beside its forward scope."""

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import networkx

_NABLA = ("", "∇", "∇²", "∇³")


def fold(graph: "networkx.MultiDiGraph", depth: int = 1) -> "networkx.MultiDiGraph":
    """Merge the ops of each name scope, cut at `depth`, into one node.

    Args:
      graph: a graph from `build`.
      depth: how many components of a name to keep, at least 1.

    Returns:
      A new graph. The node of a scope is named as the scope; its gradient is a node of its own named `∇ scope`
      (`∇² scope` for second order, ...), whatever scope the backward ops lie in. Node attributes: `ops` (how many),
      `members` (their names), `types` (count by op type), `role`, `order`, `pair` (for a gradient, the node of what it
      is the gradient of) and `type`: the op type of a single op, else `"scope"`. Edges have `kind` and `count`; edges
      within a node are dropped.

    Example:
      >>> import symgrad
      >>> import tensorflow.compat.v1 as tf
      >>> with tf.Graph().as_default() as g:
      ...     x = tf.placeholder(tf.float32, [3], name="x")
      ...     with tf.name_scope("layer"):
      ...         y = tf.sin(tf.exp(x))
      ...     _ = tf.gradients(y, x)
      >>> list(symgrad.graph.fold(symgrad.graph.build(g)))
      ['x', 'layer', '∇ layer']
    """
    import networkx

    if depth < 1:
        raise ValueError(f"depth is {depth}; at least 1 component of each name must be kept")
    node_of = _nodes(graph, depth)
    members: dict[str, list[str]] = defaultdict(list)
    for name, node in node_of.items():
        members[node].append(name)
    folded: networkx.MultiDiGraph = networkx.MultiDiGraph(**graph.graph)
    for node, names in members.items():
        folded.add_node(node, **_attributes(graph, names, node_of))
    counts: Counter[tuple[str, str, str]] = Counter()
    for a, b, kind in graph.edges(data="kind", default="data"):
        if node_of[a] != node_of[b]:
            counts[node_of[a], node_of[b], kind] += 1
    for (a, b, kind), count in counts.items():
        folded.add_edge(a, b, key=kind, kind=kind, count=count)
    return folded


def forward_of(graph: "networkx.MultiDiGraph") -> dict[str, str]:
    """For each op the forward op at the end of its chain of pairs, which for a forward op is itself."""
    root: dict[str, str] = {}
    for name in graph:
        chain = []
        at = name
        while at not in root:
            chain.append(at)
            pair = graph.nodes[at].get("pair")
            if pair is None or pair not in graph or pair in chain:
                root[at] = at
                break
            at = pair
        for link in chain:
            root[link] = root[at]
    return root


def _nodes(graph: "networkx.MultiDiGraph", depth: int) -> dict[str, str]:
    root = forward_of(graph)
    found = {}
    for name, node in graph.nodes(data=True):
        scope = "/".join(root[name].split("/")[:depth])
        order = min(int(node.get("order", 0)), len(_NABLA) - 1)
        found[name] = f"{_NABLA[order]} {scope}" if node.get("role") == "backward" else scope
    return found


def _attributes(graph: "networkx.MultiDiGraph", names: list[str], node_of: dict[str, str]) -> dict[str, Any]:
    nodes = [graph.nodes[name] for name in names]
    roles = Counter(node.get("role", "forward") for node in nodes)
    types = Counter(node.get("type", "") for node in nodes)
    pairs = Counter(node_of[n["pair"]] for n in nodes if n.get("pair") in node_of)
    role = next(
        (r for r in ("backward", "forward", "update", "variable", "control", "constant") if r in roles), "forward"
    )
    return {
        "type": nodes[0].get("type", "") if len(names) == 1 else "scope",
        "role": role,
        "order": max(int(node.get("order", 0)) for node in nodes),
        "pair": pairs.most_common(1)[0][0] if pairs else None,
        "ops": len(names),
        "types": dict(types),
        "members": tuple(names),
    }
