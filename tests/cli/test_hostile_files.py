"""Every command on damaged files that ask for much: it ends, with an answer or with one line that says why not.

`make fuzz` sets SYMGRAD_FUZZ=10000 and takes a thousand mutants; the tests take 30. The seed is fixed, so mutant k is
always the same and goes to the same command.
"""

import os
import random

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from loaders.hostile import HOSTILE, chain, constant, ladder

from symgrad.cli._main import main

MUTANTS = int(os.environ.get("SYMGRAD_FUZZ", "300")) // 10
SMALL = {
    "a chain": lambda: chain(5),
    "calls that double a little": lambda: chain(5, times=2),
    "a ladder": lambda: ladder(4),
}
BUILDERS = [*(HOSTILE | SMALL).values(), lambda: constant(2)]

COMMANDS = {
    "inspect": ["inspect", "FILE", "--json"],
    "cost": ["inspect", "FILE", "--cost", "--json"],
    "lint": ["inspect", "FILE", "--lint", "--json"],
    "explain": ["explain", "FILE", "--ys", "z", "--xs", "x"],
    "nan": ["nan", "FILE", "--fetch", "z", "--feed", "x=FEED"],
    "jacobian": ["jacobian", "FILE", "--ys", "z", "--xs", "x", "--feed", "x=FEED", "--out", "OUT"],
    "diff": ["diff", "FILE", "OTHER"],
    "svg": ["render", "FILE", "--out", "picture.svg"],
    "html": ["render", "FILE", "--out", "page.html"],
}


# A function returns what no op of it makes; a call, of the graph or in a function, of a function that is not there.
FOUND = (93, 184, 1121)


def mutant(seed):
    """A hostile file with one to three edits: names, inputs, functions, shapes and numbers that do not fit."""
    rng = random.Random(seed)
    graph_def = BUILDERS[seed % len(BUILDERS)]()
    functions = [function.signature.name for function in graph_def.library.function] or ["f0"]
    for _ in range(rng.randint(0, 3)):
        nodes = [graph_def.node, *(function.node_def for function in graph_def.library.function)]
        held = rng.choice([row for row in nodes if row] or [graph_def.node])
        if not held:
            continue
        node, kind = rng.choice(held), rng.randrange(7)
        if kind == 0:
            node.op = rng.choice([*functions, "PartitionedCall", "Unheard", "While"])
        elif kind == 1 and node.input:
            node.input[rng.randrange(len(node.input))] = rng.choice(
                ["a", "x", "z", "absent:0", "^x", "p0:output:7", ""]
            )
        elif kind == 2:
            node.attr["f"].func.name = rng.choice([*functions, "absent", ""])
        elif kind == 3:
            node.attr["shape"].shape.dim.add().size = rng.choice([-1, 0, 2**40, 2**62])
        elif kind == 4 and graph_def.library.function:
            rng.choice(graph_def.library.function).ret["o"] = rng.choice(["a", "absent:o:0", ""])
        elif kind == 5 and graph_def.library.function:
            rng.choice(graph_def.library.function).signature.name = rng.choice([*functions, ""])
        else:
            held.remove(node)
    return graph_def.SerializeToString()


def command_of(seed):
    return list(COMMANDS)[seed // len(BUILDERS) % len(COMMANDS)] if seed % 2 else list(COMMANDS)[seed % len(COMMANDS)]


def run(arguments, capsys):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    said = capsys.readouterr().err
    assert ended.value.code in (None, 0, 1, 2)
    assert ended.value.code in (None, 0) or said.startswith("symgrad: "), said
    return ended.value.code, said


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("feed.npy", np.ones(2, np.float32))
    (tmp_path / "other.pb").write_bytes(chain(3).SerializeToString())
    return tmp_path


def arguments_of(name):
    words = {"FILE": "model.pb", "OTHER": "other.pb", "OUT": "out.npy"}
    return [words.get(word, word.replace("FEED", "feed.npy")) for word in COMMANDS[name]]


def test_every_command_ends_on_every_mutant(folder, capsys):
    for seed in (*range(MUTANTS), *FOUND):
        (folder / "model.pb").write_bytes(mutant(seed))
        try:
            run(arguments_of(command_of(seed)), capsys)
        except BaseException as error:
            raise AssertionError(f"mutant {seed}, {command_of(seed)}: {type(error).__name__}: {error}") from error


@pytest.mark.parametrize("name", ["nan", "jacobian"])
def test_what_a_session_raises_is_one_line(folder, capsys, name):
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [2], name="x")
        tf.identity(tf.square(tf.gather(x, tf.cast(x * 10, tf.int32))), name="z")  # of two elements, the tenth
    (folder / "model.pb").write_bytes(graph.as_graph_def().SerializeToString())
    code, said = run(arguments_of(name), capsys)
    assert code == 1
    assert "does not run: " in said
    assert said.count("\n") == 1
