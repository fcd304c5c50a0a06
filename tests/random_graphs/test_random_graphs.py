"""No random graph has a wrong derivative, an untyped error, or is harmed; and faults that are planted are found."""

import os

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

import symgrad
from random_graphs import build, check, draw
from random_graphs.shrink import shrink

pytestmark = pytest.mark.core

SEED = 2026
# `python -m random_graphs` runs more.
GRAPHS = int(os.environ.get("SYMGRAD_GRAPHS", "100"))


def failures(numbers):
    for number in numbers:
        program = draw.draw(SEED, number)
        for outcome in check.outcomes(program):
            if outcome.failed:
                yield f"{outcome}, seed {program.seed}:\n{build.text(program)}"


@pytest.mark.parametrize("part", range(10))
def test_derivatives_are_right_or_refused_by_name_and_leave_the_graph_as_it_was(part):
    found = "\n".join(failures(range(part * GRAPHS // 10, (part + 1) * GRAPHS // 10)))
    assert found == "", found


def test_a_number_is_always_the_same_program():
    first, again = (draw.draw(SEED, 7) for _ in range(2))
    assert build.text(first) == build.text(again)
    assert first.calls == again.calls


def smooth_programs(count):
    """Programs on which Lop and Rop are judged by differences."""
    number = 0
    while count:
        program = draw.draw(SEED, number)
        judged = [o for o in check.outcomes(program) if o.verdict == "right" and "differences" in o.detail]
        if any(o.call.startswith("symgrad.Lop(ys") for o in judged):
            count -= 1
            yield program
        number += 1


def scaled(operator):
    def wrong(*args, **options):
        return tf.nest.map_structure(lambda t: t * 1.001, operator(*args, **options))

    return wrong


def test_numbers_wrong_by_a_thousandth_are_found(monkeypatch):
    programs = list(smooth_programs(4))
    monkeypatch.setattr(symgrad, "Lop", scaled(symgrad.Lop))
    found = [o for p in programs for o in check.outcomes(p) if o.verdict == "wrong"]
    assert any(o.call.startswith("symgrad.Lop(ys") for o in found)


def test_a_bare_error_is_found_and_its_program_made_small(monkeypatch):
    def bare(*_, **__):
        raise KeyError("")

    (program,) = smooth_programs(1)
    monkeypatch.setattr(symgrad, "Lop", bare)
    outcome = next(o for o in check.outcomes(program) if o.verdict == "untyped")
    small, _ = shrink(program, outcome)
    assert len(build.text(small)) <= len(build.text(program))


def test_ops_left_by_a_refused_call_are_found(monkeypatch):
    def leaves_ops(*_, **__):
        tf.constant(np.zeros(2))
        raise symgrad.errors.ShapeError("no")

    (program,) = smooth_programs(1)
    monkeypatch.setattr(symgrad, "Lop", leaves_ops)
    assert any(o.verdict == "harmed" and "1 ops left" in o.detail for o in check.outcomes(program))
