"""Small files that ask for much end in a LoadError or a picture: no crash, no hang, no gigabytes."""

import resource

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from loaders.hostile import HOSTILE, chain, constant

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


def test_a_damaged_collection_is_a_load_error():
    with tf.Graph().as_default() as graph:
        tf.get_variable("w", [2])
        meta = tf.train.export_meta_graph(graph=graph)
    meta.collection_def["variables"].bytes_list.value.append(b"\xff\xff")
    with pytest.raises(LoadError, match="a collection of it is damaged"):
        symgrad.loaders.load(meta.SerializeToString())


def test_no_checkpoint_for_handles_without_variables():
    with tf.Graph().as_default() as graph:
        tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[2], shared_name="w")
    model = symgrad.loaders.load(graph.as_graph_def().SerializeToString())
    with tf.Session(graph=model.graph) as session, pytest.raises(LoadError, match="names no checkpoint"):
        model.restore(session)
