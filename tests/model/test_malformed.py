"""Damaged files: a LoadError or a graph, never a crash, a hang or another exception.

`make fuzz` sets SYMGRAD_FUZZ=10000 mutants; the tests take 300. The seed is fixed, so mutant k is always the same.
"""

import contextlib
import os
import random

import pytest
import tensorflow.compat.v1 as tf

import symgrad
from symgrad.errors import LoadError
from symgrad.graph import build, to_svg

MUTANTS = int(os.environ.get("SYMGRAD_FUZZ", "300"))


@pytest.fixture(scope="module")
def original():
    """A small real training graph with a loop, in binary form."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        w = tf.get_variable("dense/w", [3, 3], use_resource=False)
        before = tf.control_flow_v2_enabled()
        tf.disable_control_flow_v2()
        try:
            _, h = tf.while_loop(lambda i, _: i < 3, lambda i, h: (i + 1, tf.tanh(h @ w)), [0, x])
            tf.train.MomentumOptimizer(0.1, 0.9).minimize(tf.reduce_sum(h))
        finally:
            if before:
                tf.enable_control_flow_v2()
    return graph.as_graph_def().SerializeToString()


def mutated(data, seed):
    """One to four edits: bytes flipped, cut, doubled, swapped, or the rest thrown away."""
    rng = random.Random(seed)
    result = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4))):
        at = rng.randrange(max(1, len(result)))
        span = slice(at, at + rng.choice((1, 2, 8, 64)))
        kind = rng.randrange(7)
        if kind == 0:
            result[at : at + 1] = bytes([rng.randrange(256)])
        elif kind == 1:
            del result[span]
        elif kind == 2:
            result[at:at] = result[span]
        elif kind == 3:
            result[span] = rng.randbytes(len(result[span]))
        elif kind == 4 and rng.random() < 0.2:
            del result[at:]
        elif kind == 5:
            other = rng.randrange(max(1, len(result)))
            result[span] = result[other : other + len(result[span])]
        else:
            result[at : at + 1] = bytes([result[at] ^ 1 << rng.randrange(8)]) if result else b""
    return bytes(result)


def test_mutants_give_a_load_error_or_a_graph(original):
    read = 0
    for seed in range(MUTANTS):
        data = mutated(original, seed)
        try:
            graph = build(data)
        except LoadError:
            continue
        except Exception as error:
            raise AssertionError(f"mutant {seed}: {type(error).__name__}: {error}") from error
        read += 1
        if read % 10 == 0:
            to_svg(graph)
    assert 0 < read < MUTANTS, "some mutants must still be graphs, and some must not"


def restructured(graph_def, seed):
    """A valid protobuf of an invalid or odd graph: names repeated, inputs redirected, nodes dropped, cycles closed."""
    rng = random.Random(seed)
    names = [node.name for node in graph_def.node]
    mutant = tf.GraphDef()
    mutant.CopyFrom(graph_def)
    for _ in range(rng.randint(1, 3)):
        node = rng.choice(mutant.node)
        kind = rng.randrange(5)
        if kind == 0:
            node.name = rng.choice([*names, "", "\u202e", "a" * 3000, "/".join("ab" * 400)])
        elif kind == 1 and node.input:
            node.input[rng.randrange(len(node.input))] = rng.choice(names) + rng.choice(["", ":7", ":-1", ":x"])
        elif kind == 2:
            mutant.node.remove(node)
        elif kind == 3:
            node.op = rng.choice(["", "NextIteration", "Merge", "Enter", "Unheard", "AddN"])
        else:
            node.input.append("^" + rng.choice(names))
    return mutant


def test_mutants_of_the_structure(original):
    graph_def = tf.GraphDef.FromString(original)
    read = 0
    for seed in range(MUTANTS // 3):
        with contextlib.suppress(LoadError):
            to_svg(build(restructured(graph_def, seed)), constants=True)
            read += 1
    assert read


@pytest.mark.parametrize("seed", range(40))
def test_random_bytes(seed):
    data = random.Random(seed).randbytes(seed * seed)
    with pytest.raises(LoadError):
        build(data)


def test_every_truncation_of_a_small_file():
    with tf.Graph().as_default() as graph:
        tf.square(tf.placeholder(tf.float32, [2], name="x"), name="y")
    data = graph.as_graph_def().SerializeToString()
    for length in range(len(data)):
        with contextlib.suppress(LoadError):
            assert len(build(data[:length])) <= 2


def test_loading_mutants_into_tensorflow(original):
    """What TensorFlow itself refuses is a LoadError too."""
    graph_def = tf.GraphDef.FromString(original)
    loaded = 0
    for seed in range(MUTANTS // 10):
        for data in (mutated(original, seed), restructured(graph_def, seed).SerializeToString()):
            with contextlib.suppress(LoadError):
                symgrad.loaders.load(data)
                loaded += 1
    assert loaded
