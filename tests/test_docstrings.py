"""Every example in a public docstring runs and prints what it says.

The names np, tf (tensorflow.compat.v1), symgrad and run are there; each docstring has a graph and a session of its own,
and `run(fetches, feed_dict=None)` evaluates in them, with new variables initialised.
"""

import doctest
import importlib
import inspect

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

import symgrad

PACKAGES = ("errors", *symgrad._PACKAGES)
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


class Evaluator:
    """Runs fetches in one session of one graph."""

    def __init__(self, graph):
        self.session = tf.Session(graph=graph)
        self.initialised = set()

    def __call__(self, fetches, feed_dict=None):
        with self.session.graph.as_default():
            new = [v for v in tf.global_variables() if id(v) not in self.initialised]
            self.session.run([v.initializer for v in new])
        self.initialised |= {id(v) for v in new}
        return self.session.run(fetches, feed_dict)


def documented():
    """(name, object) of everything public; a class brings its methods along."""
    for package in PACKAGES:
        module = importlib.import_module(f"symgrad.{package}")
        yield module.__name__, module
        for name in getattr(module, "__all__", ()):
            if not inspect.ismodule(getattr(module, name)):
                yield f"{module.__name__}.{name}", getattr(module, name)


def examples():
    finder = doctest.DocTestFinder(recurse=True)
    for name, thing in documented():
        if inspect.ismodule(thing):
            found = doctest.DocTestFinder(recurse=False).find(thing, name)
        else:
            found = finder.find(thing, name, module=inspect.getmodule(thing))
        yield from (test for test in found if test.examples)


@pytest.mark.parametrize("example", examples(), ids=lambda example: example.name)
def test_docstring_example(example, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    report = []
    with tf.Graph().as_default() as graph:
        run = Evaluator(graph)
        example.globs.update(np=np, tf=tf, symgrad=symgrad, run=run)
        with run.session:
            doctest.DocTestRunner(optionflags=OPTIONS).run(example, out=report.append, clear_globs=True)
    assert not report, "".join(report)
