"""Small files that ask for much end in a LoadError or a picture: no crash, no hang, no gigabytes."""

import resource

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from loaders.hostile import HOSTILE, calls_itself, chain, constant, ladder

import symgrad
from symgrad.errors import LoadError
from symgrad.graph import attributes, build, cost, diff, lint, to_html, to_json

pytestmark = pytest.mark.core


def peak():
    """The most memory that this process has had so far, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


@pytest.mark.parametrize("name", HOSTILE)
def test_loading_refuses_what_tensorflow_would_not_survive(name):
    with pytest.raises(LoadError, match=r"calls itself|call each other so often|claim more than"):
        symgrad.loaders.load(HOSTILE[name]().SerializeToString())


@pytest.mark.parametrize("name", HOSTILE)
def test_looking_at_it_ends_and_takes_little(name):
    before = peak()
    graph = build(HOSTILE[name]().SerializeToString())
    assert cost(graph)["ops"] == len(graph)
    lint(graph)
    to_json(graph)
    to_html(graph)
    diff(graph, graph)
    assert peak() - before < 500  # the page of a thousand opened calls takes some 200


@pytest.mark.parametrize(("depth", "times"), [(40, 1), (40, 2), (200, 1)])
def test_calls_at_any_depth_are_counted(depth, times):
    """Of the last function's tanh of two numbers, times^(depth - 1) runs; and one negation."""
    counted = cost(build(chain(depth, times=times).SerializeToString()))
    in_functions = counted["flops"] - counted["types"]["Neg"]["flops"]  # the graph's only op besides the call
    alone = cost(build(chain(1).SerializeToString()))
    assert in_functions == (alone["flops"] - alone["types"]["Neg"]["flops"]) * times ** (depth - 1)
    assert counted["unknown"]["types"] == {}


def test_what_is_unknown_at_the_end_of_many_ways_is_named_once_a_function():
    unknown = cost(build(ladder(40).SerializeToString()))["unknown"]
    assert len(unknown["ops"]) < 1000
    assert "Unheard" in unknown["types"] or unknown["types"]


def test_a_function_that_calls_itself_is_among_what_has_no_formula():
    for through, by_op_type in [(1, False), (3, False), (1, True)]:
        unknown = cost(build(calls_itself(by_op_type=by_op_type, through=through).SerializeToString()))["unknown"]
        assert unknown["types"]


def test_a_chain_of_functions_loads_and_runs():
    model = symgrad.loaders.load(chain(300).SerializeToString())
    with tf.Session(graph=model.graph) as session:
        got = session.run("z:0", {"x:0": [0.5, -1.0]})
    np.testing.assert_allclose(got, -np.tanh([0.5, -1.0]), rtol=1e-5)  # float32


def test_what_a_constant_claims_is_said_in_words_where_it_is_much():
    held = attributes(build(constant(10**12)), "c")["value"]
    assert held == "float32 [1000000000000] filled up with the last of 1"
    assert attributes(build(constant(1000)), "c")["value"].tolist() == [1.0] * 1000
    found = diff(build(constant(10**12)), build(constant(10**12, brought=2)))
    assert [row["name"] for row in found["changed"]] == ["c"]


@pytest.mark.parametrize("damage", [b"\xff\xff", b"", b"\n\x07absent:0"])
@pytest.mark.parametrize("key", ["variables", "trainable_variables", "while_context", "cond_context"])
def test_a_damaged_collection_is_named(key, damage):
    with tf.Graph().as_default() as graph:
        tf.get_variable("w", [2])
        meta = tf.train.export_meta_graph(graph=graph)
    meta.collection_def[key].bytes_list.value.append(damage)
    with pytest.raises(LoadError, match=f"its collection '{key}' is damaged"):
        symgrad.loaders.load(meta.SerializeToString())


def test_no_checkpoint_for_handles_without_variables():
    with tf.Graph().as_default() as graph:
        tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[2], shared_name="w")
    model = symgrad.loaders.load(graph.as_graph_def().SerializeToString())
    with tf.Session(graph=model.graph) as session, pytest.raises(LoadError, match="names no checkpoint"):
        model.restore(session)
