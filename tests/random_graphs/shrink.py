"""Make a failing program small: drop calls, ys, xs and steps, and open bodies, as long as it fails the same way."""

import re
from dataclasses import replace

from random_graphs import build, check
from random_graphs.judge import LOP, ROP

NAME = re.compile(r"\b[xta]\d+\b(?:\[\d+\])?")


def shrink(program, outcome, budget=40):
    """The smallest program found by greedy steps, and how it fails."""
    program = _only(program, outcome)
    failing = _fails(program, outcome)
    if not failing:
        return None
    improved = True
    while improved and budget > 0:
        improved = False
        for candidate in _smaller(program):
            budget -= 1
            now = _fails(candidate, outcome)
            if now:
                program, failing, improved = candidate, now, True
                break
            if budget <= 0:
                break
    return _used(program), failing


def signature(outcome):
    """What makes two failures one: the call without its options, the verdict, the kind of error."""
    operator = re.match(r"[\w. ]+", outcome.call)[0]
    detail = re.sub(r"[\d.e+-]+", "", outcome.detail)
    return operator, outcome.verdict, detail.split(":")[0][:40] if outcome.verdict != "untyped" else detail[:60]


def _only(program, outcome):
    keep = tuple(c for c in program.calls if c.startswith((LOP, ROP)) or c == outcome.call)
    return replace(program, calls=keep) if outcome.call in program.calls else program


def _fails(program, like):
    try:
        found = check.outcomes(program)
    except Exception:
        return None
    return next(
        (
            o
            for o in found
            if o.failed
            and signature(o)[:2] == signature(like)[:2]
            and (o.verdict != "untyped" or signature(o) == signature(like))
        ),
        None,
    )


def _smaller(program):
    if len(program.ys) > 1:
        yield from (replace(program, ys=(y,)) for y in program.ys)
    if len(program.xs) > 1:
        yield from (replace(program, xs=(x,)) for x in program.xs)
    for steps, rename in _fewer(program.steps, [leaf.name for leaf in program.inputs]):
        ys = tuple(dict.fromkeys(rename(y) for y in program.ys))
        xs = tuple((x, leaf) for x, leaf in program.xs if rename(x) == x)
        if xs:
            yield replace(program, steps=steps, ys=ys, xs=xs)


def _fewer(steps, scope):
    """Each way to leave out or open one step, with the renaming of what comes after."""
    for i in reversed(range(len(steps))):
        step = steps[i]
        here = scope + [s.name for s in steps[:i]]
        for other in _stand_ins(step, here):
            rename = _renaming(step.name, other)
            yield steps[:i] + tuple(_renamed(s, rename) for s in steps[i + 1 :]), rename
        if step.body:
            operand = NAME.search(step.expression.split(",", 2)[2])[0]
            yield steps[:i] + _opened(step, operand) + steps[i + 1 :], _keep
            inner = here + list(step.body.arguments)
            for fewer, rename in _fewer(step.body.steps, inner):
                results = tuple(_apply(rename, r) for r in step.body.results)
                yield (
                    (*steps[:i], replace(step, body=replace(step.body, steps=fewer, results=results)), *steps[i + 1 :]),
                    _keep,
                )


def _stand_ins(step, scope):
    """What may take the place of a step: its operands, then what was made last."""
    operands = [n for n in NAME.findall(step.expression) if n.split("[")[0] in scope]
    return list(dict.fromkeys([*operands, *scope[-1:], *scope[:2]]))[:4]


def _opened(step, operand):
    """The steps of a body without the body around them."""
    rename = _keep
    for argument in step.body.arguments:
        rename = _then(rename, _renaming(argument, operand))
    steps = tuple(_renamed(s, rename) for s in step.body.steps)
    return (*steps, replace(step, expression=_apply(rename, step.body.results[0]), body=None))


def _keep(name):
    return name


def _then(first, second):
    return lambda name: second(first(name))


def _renaming(old, new):
    return lambda name: new if name.split("[")[0] == old else name


def _apply(rename, text):
    return NAME.sub(lambda m: rename(m[0]), text)


def _renamed(step, rename):
    body = step.body
    if body:
        steps = tuple(_renamed(s, rename) for s in body.steps)
        body = replace(body, steps=steps, results=tuple(_apply(rename, r) for r in body.results))
    return replace(step, expression=_apply(rename, step.expression), body=body)


def _used(program):
    """Without leaves that nothing names."""
    text = build.text(replace(program, inputs=()))
    used = {leaf for _, leaf in program.xs} | {m.split("[")[0] for m in NAME.findall(text)}
    return replace(program, inputs=tuple(leaf for leaf in program.inputs if leaf.name in used))
