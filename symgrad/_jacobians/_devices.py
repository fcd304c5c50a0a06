"""A Jacobian whose rows or columns are shared out over devices, each with its own copy of the forward pass."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import tensorflow.compat.v1 as tf

from .. import _tf
from .._op_types import ENTERS, EXITS
from .._problem import Problem
from .._sizes import Count
from ..errors import ControlFlowError, DeviceError
from ._forward_copies import Copies, dependents, staying
from ._linear_maps import LinearMap, Results, Rows, Space, rehearse_rows
from ._mode import Decision
from ._plan import Note
from ._sizing import Sizing, sized
from ._sweep import part_of, swept
from ._work import Grid, flattened, work_of


def check_devices(devices: Any) -> list[str] | None:
    """The devices as a list of names, in full form; None stays None.

    Raises:
      DeviceError: no list, an empty one, or a name that is no device's.
    """
    if devices is None:
        return None
    if isinstance(devices, str) or not isinstance(devices, Sequence) or not devices:
        raise DeviceError(f'devices={devices!r}; wanted a list of names, such as ["/job:worker/task:0", "CPU:1"]')
    names = []
    for name in devices:
        try:
            parsed = tf.DeviceSpec.from_string(name)
        except (AttributeError, TypeError, ValueError) as error:
            raise DeviceError(f"devices: {name!r} is no name of a device: {error}") from None
        if parsed == tf.DeviceSpec():
            raise DeviceError(f"devices: {name!r} names no device")
        names.append(parsed.to_string())
    return names


def check_shareable(problem: Problem) -> None:
    """Refuse what cannot be copied to another device: loops of V1, and what is inside of a function.

    Raises:
      ControlFlowError: naming it.
    """
    if isinstance(tf.get_default_graph(), _tf.FuncGraph):
        raise ControlFlowError("devices= is for graphs; inside of a tf.function, loop or branch leave it away")
    if problem.crossings.v1_loops:
        loop = next(op for op in problem.between.ops if op.type in ENTERS | EXITS)
        raise ControlFlowError(
            f"a loop of V1 control flow ({loop.type} {loop.name!r}) cannot be copied to another device; leave devices= "
            "away, or build the loop with V2 control flow"
        )


class Shared:
    """The rows or columns of one Jacobian over some devices.

    Every part is a copy, placed on its device, of one template that computes as many vectors as a part has, from a
    placeholder on; the template itself never runs. The copies begin at xs, so that these may be fed and differentiated
    by.
    """

    def __init__(self, devices: Sequence[str], problem: Problem):
        self._devices, self._problem = devices, problem
        self._xs = [(t, t) for t in problem.tensors]

    def grid(self, decision: Decision, block_size: int | None, *, note: Note) -> Grid:
        """The blocks of the Jacobian, as it was decided."""
        if decision.narrow is not None:
            return self._through(decision.narrow, block_size, note)
        work = work_of(decision, self._problem)
        parts = [(linear, self._each(linear), label) for linear, label in work.maps]
        plan = [(linear, each, sized(each, block_size, label), label) for linear, each, label in parts]
        return work.grid([self._swept(*part, note=note) for part in plan])

    def _through(self, narrow: tf.Tensor, block_size: int | None, note: Note) -> Grid:
        """J = J_y/h J_h/x: rows of the first are shared out, each device has the second."""
        behind, before = self._problem.through(narrow)
        rehearse_rows(behind)
        label = f"the Jacobian of {narrow.name} by rows"
        second = Rows(before).linear(0)
        maps = Rows(behind)
        size = Space.of(narrow).size
        flat = flattened(swept(second, sized(second, block_size, label), label, note=note), size)

        def onward(found: Results) -> Results:
            (rows,) = found
            if rows is None:
                return [None] * len(flat)
            return [None if f is None else tf.matmul(tf.reshape(rows, [-1, size]), f) for f in flat]

        found = []
        for k, y in enumerate(self._problem.ys):
            linear, label = maps.linear(k), f"the Jacobian of {y.name} by rows"
            each = self._each(linear)
            found.append(self._swept(linear, each, sized(each, block_size, label), label, note=note, onward=onward))
        return found

    def _each(self, linear: LinearMap) -> LinearMap:
        """The map for as many vectors as each device takes."""
        return replace(linear, count=-(-linear.count // len(self._devices)))

    def _swept(self, linear: LinearMap, each: LinearMap, sizing: Sizing, label: str, *, note, onward=list) -> Results:
        """The results of `linear` for its whole basis, `onward` applied to those of each part."""
        count, size = linear.count, each.count
        with tf.name_scope("template"):
            start = tf.placeholder(tf.int32, [], "start")
            template = onward(swept(part_of(each, start), sizing, label, note=note))
        present = [t for t in template if t is not None]
        depends = dependents(start)
        parts = []
        for k, device in enumerate(self._devices):
            if k and isinstance(size, int) and isinstance(count, int) and k * size >= count:
                break  # more devices than vectors
            with tf.device(device):
                first = tf.identity(k * size, name="first")
            copies = Copies(staying(depends), [*self._xs, (start, first)], device)
            parts.append(copies.of(present, f"part_{k}"))
        joined = iter(
            [_first(tf.concat(of_result, 0), count, size * len(parts)) for of_result in zip(*parts, strict=True)]
        )
        return [None if t is None else next(joined) for t in template]


def _first(rows: tf.Tensor, count: Count, given: Count) -> tf.Tensor:
    """The first `count` of the `given` rows; the last part may reach past the end."""
    if isinstance(count, int) and isinstance(given, int) and count == given:
        return rows
    return rows[:count]
