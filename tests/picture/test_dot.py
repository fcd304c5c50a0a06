"""`symgrad.graph.to_dot`: text that a DOT parser reads back, whatever the names are."""

import re

import pytest
import tensorflow.compat.v1 as tf

from symgrad.graph import build, to_dot

HOSTILE = ['a"]; evil [label="', "back\\slash\\", "\\N\\G", "<b>html</b>", "new\nline", "end;}", "\u202ertl", "-> x"]

# One DOT statement of the kinds that to_dot writes; a string is quotes around no bare quote.
STRING = r'"(?:[^"\\]|\\.)*"'
ATTRIBUTES = rf"\[\w+={STRING}(?:, \w+={STRING})*\]"
STATEMENT = re.compile(
    rf"digraph gradient_graph \{{|  (?:graph|node) {re.escape('[')}.*\];|  n\d+ (?:-> n\d+ )?{ATTRIBUTES};"
    rf"|  subgraph cluster_\d+ \{{ label={STRING}; color={STRING};|  \}}|\}}"
)


def network():
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 4], name="x")
        with tf.variable_scope("layer"):
            w = tf.get_variable("w", [4, 4], use_resource=False)
            h = tf.sin(tf.tanh(x @ w))
        tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(h, name="loss"))
    return graph


def test_statements_nodes_and_edges(tmp_path):
    text = to_dot(build(network()), tmp_path / "g.dot")
    assert (tmp_path / "g.dot").read_text(encoding="utf-8") == text
    for line in text.splitlines():
        assert STATEMENT.fullmatch(line), line
    declared = set(re.findall(r"^  (n\d+) \[", text, re.MULTILINE))
    used = set(re.findall(r"\bn\d+\b", "\n".join(line for line in text.splitlines() if "->" in line)))
    assert used <= declared
    assert 'label="Tanh"' in text
    assert 'label="TanhGrad"' in text
    assert text.count("{") == text.count("}")
    assert text == to_dot(build(network()))


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names(name):
    nodes = [tf.NodeDef(name=name, op="Abs"), tf.NodeDef(name="after", op="Abs", input=[name])]
    text = to_dot(build(tf.GraphDef(node=nodes)))
    for line in text.splitlines():
        assert STATEMENT.fullmatch(line), line


def test_fold_closes_scopes():
    graph = build(network())
    assert "subgraph" not in to_dot(graph, fold=0)
    assert "subgraph" in to_dot(graph, fold=3)
