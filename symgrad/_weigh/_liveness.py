"""Peak memory of a schedule: which tensors are alive after each op, on a runtime that writes in place where it can."""

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .._model._query import data_inputs
from .._op_types import CONSTANTS, ENTERS, PLACEHOLDERS, writes_variable
from ._flops import PER_ELEMENT

if TYPE_CHECKING:
    import networkx

# Their output is the memory of an input, always.
ALIASES = frozenset(
    {
        "Bitcast", "CheckNumerics", "EnsureShape", "Enter", "Exit", "ExpandDims", "Identity", "IdentityN",
        "LoopCond", "Merge", "NextIteration", "PreventGradient", "ReadVariableOp", "RefEnter", "RefExit",
        "RefIdentity", "RefMerge", "RefNextIteration", "RefSwitch", "Reshape", "Snapshot", "Squeeze", "StackPushV2",
        "StopGradient", "Switch",
    }
)  # fmt: skip
# What they give back was kept since it was pushed or written.
_POPS = frozenset({"StackPopV2", "TensorArrayReadV3", "TensorListPopBack", "TensorListGetItem"})
# Position of the value among the inputs of ops that put one into a stack or array; the handle is input 0.
_PUSHES = {
    "StackPushV2": 1, "TensorArrayWriteV3": 2, "TensorArrayScatterV3": 2, "TensorListPushBack": 1,
    "TensorListSetItem": 2, "TensorArraySplitV3": 1,
}  # fmt: skip
_COPYING = frozenset({"TensorArrayScatterV3", "TensorArraySplitV3"})
_CONTAINERS = frozenset({"StackV2", "TensorArrayV3", "TensorArrayGradV3", "TensorArrayGradWithShape"})
_KEPT = CONSTANTS | PLACEHOLDERS
_IN_PLACE = frozenset(PER_ELEMENT) | {"AddN", "FusedBatchNormV3", "FusedBatchNormGradV3", "FusedBatchNorm"}


@dataclass
class Peak:
    """The most that is alive at once: bytes, the op that runs then, and the tensors that are alive, largest first."""

    bytes: int = 0
    op: Any = None
    live: list[tuple[str, int]] = field(default_factory=list)


@dataclass
class _Buffer:
    name: str
    bytes: int
    uses: int = 0
    kept: bool = False  # lives outside of the step: variables, constants, inputs
    stored: bool = False  # a stack or array holds it
    born: int = 0
    died: int | None = None


class _Run:
    """The memory while the ops run one after the other."""

    def __init__(self, graph: "networkx.MultiDiGraph", sizes: dict, runs: dict):
        self.nodes, self.sizes, self.runs = dict(graph.nodes(data=True)), sizes, runs
        self.inputs = data_inputs(graph)
        self.buffer: dict[tuple[Any, int], _Buffer] = {}
        self.holder: dict[tuple[Any, int], Any] = {}
        self.contents: dict[Any, list[_Buffer]] = defaultdict(list)
        self.made: list[_Buffer] = []
        self.clock = self.now = self.peak_clock = 0
        self.peak = Peak()
        self.consumers: dict[tuple[Any, int], int] = defaultdict(int)
        for inputs in self.inputs.values():
            for _, source, index in inputs:
                self.consumers[source, index] += 1

    def new(self, name: str, size: int, kept: bool = False) -> _Buffer:
        buffer = _Buffer(name, size, kept=kept, born=self.clock)
        if not kept:
            self.now += size
            self.made.append(buffer)
        return buffer

    def release(self, buffer: _Buffer, uses: int = 1) -> None:
        buffer.uses -= uses
        if buffer.uses <= 0 and not buffer.kept and buffer.died is None:
            buffer.died = self.clock
            self.now -= buffer.bytes

    def step(self, name: Any, inner: int) -> None:
        """Run one op: make its outputs, look at the peak, let go of what nobody needs any more."""
        self.clock += 1
        tensors = [(source, index) for _, source, index in self.inputs[name]]
        taken = [(tensor, self.buffer[tensor]) for tensor in tensors if tensor in self.buffer]
        made = []
        for index, size in enumerate(self.sizes[name]):
            buffer = self.output(name, index, size, taken)
            buffer.uses += self.consumers[name, index]
            self.buffer[name, index] = buffer
            made.append(buffer)
        self.store(name)
        if self.now + inner > self.peak.bytes:
            self.peak, self.peak_clock = Peak(self.now + inner, name), self.clock
        for _, buffer in taken:
            self.release(buffer)
        for buffer in made:
            if buffer.uses <= 0:
                self.release(buffer, 0)

    def output(self, name: Any, index: int, size: int, taken: list) -> _Buffer:
        node = self.nodes[name]
        kind = node["type"]
        if node["role"] == "variable" or kind in _KEPT:
            return self.new(f"{name}:{index}", size, kept=True)
        if kind in _POPS:
            return self.new(f"{name}:{index}", size, kept=True)
        if writes_variable(kind) and taken:  # a reference: the variable itself
            return taken[0][1]
        if kind in ALIASES and taken:
            at = 1 if kind == "StackPushV2" else index if kind == "IdentityN" else 0
            if not (kind == "Merge" and index):
                return taken[min(at, len(taken) - 1)][1]
        if kind in _IN_PLACE and index == 0:
            for tensor, buffer in taken:
                same = buffer.bytes == size and self._dtype(tensor) == self._dtype((name, index))
                if same and buffer.uses == 1 and not buffer.kept and buffer.died is None:
                    return buffer
        return self.new(f"{name}:{index}", size)

    def result(self) -> Peak:
        """The peak, with what was alive then."""
        at = self.peak_clock
        alive = [b for b in self.made if b.bytes and b.born <= at and (b.died is None or b.died >= at)]
        self.peak.live = [(b.name, b.bytes) for b in sorted(alive, key=lambda b: -b.bytes)[:10]]
        return self.peak

    def _dtype(self, tensor: tuple[Any, int]) -> str:
        return self.nodes[tensor[0]]["outputs"][tensor[1]][0]

    def store(self, name: Any) -> None:
        """Follow the handles of stacks and arrays, and keep what is put into them for every iteration of the loop."""
        node = self.nodes[name]
        inputs = {slot: (source, index) for slot, source, index in self.inputs[name]}
        if node["type"] in _CONTAINERS:
            self.holder[name, 0] = name
        elif 0 in inputs and inputs[0] in self.holder and node["type"] in ALIASES:
            for index in range(len(node["outputs"])):
                self.holder[name, index] = self.holder[inputs[0]]
        slot = _PUSHES.get(node["type"])
        holder = self.holder.get(inputs.get(0))  # type: ignore[arg-type]
        if slot is None or holder is None or inputs.get(slot) not in self.buffer:
            return
        value = self.buffer[inputs[slot]]
        size = self.sizes[inputs[slot][0]][inputs[slot][1]]
        if node["type"] in _COPYING:
            value = self.new(f"{name} (stored)", size)
        elif value.stored or value.kept:
            return
        value.stored = True
        value.uses += 1
        self.contents[holder].append(value)
        iterations = self.runs.get(node["frame"], 1)
        if iterations > 1:
            more = self.new(f"{value.name} (of {iterations - 1} more iterations)", size * (iterations - 1))
            more.uses += 1
            self.contents[holder].append(more)


def peak_of(
    graph: "networkx.MultiDiGraph", order: list[Any], sizes: dict, *, runs: dict[str, int], inner: dict[Any, int]
) -> Peak:
    """The peak of a schedule.

    Args:
      graph: a graph from `build`.
      order: names in the order in which they run.
      sizes: bytes of every output of every op.
      runs: iterations of each V1 loop.
      inner: bytes that an op needs while it runs, besides its outputs.

    Returns:
      A `Peak`, without variables, constants and inputs, which live longer than the step.
    """
    run = _Run(graph, sizes, runs)
    last = {name: i for i, name in enumerate(order)}
    frame_end: dict[str, int] = {}
    for i, name in enumerate(order):
        if run.nodes[name]["frame"] is not None:
            frame_end[run.nodes[name]["frame"]] = i
    held: dict[int, list[_Buffer]] = defaultdict(list)
    ends = _container_ends(run, order, last, frame_end)
    for i, name in enumerate(order):
        run.step(name, inner.get(name, 0))
        node = run.nodes[name]
        if node["type"] in ENTERS and (name, 0) in run.buffer:  # every iteration reads it again
            buffer = run.buffer[name, 0]
            buffer.uses += 1
            held[max(frame_end.get(node["frame"], i), i)].append(buffer)
        for buffer in held.pop(i, ()):
            run.release(buffer)
        for holder in ends.get(i, ()):
            for buffer in run.contents.pop(holder, ()):
                run.release(buffer)
    return run.result()


def _container_ends(run: _Run, order: list, last: dict, frame_end: dict) -> dict[int, list[Any]]:
    """Position after which nothing uses a stack or array any more, to those that end there."""
    root: dict[Any, Any] = {}
    end: dict[Any, int] = {}
    for name in order:
        node = run.nodes[name]
        handles = {root[a] for slot, a, _ in run.inputs[name] if slot == 0 and a in root}
        if node["type"] in _CONTAINERS:
            root[name] = name
            handles.add(name)
        elif handles and node["type"] in ALIASES:
            root[name] = next(iter(handles))
        for handle in handles:
            end[handle] = max(end.get(handle, 0), last[name], frame_end.get(node["frame"], 0))
    ends: dict[int, list[Any]] = defaultdict(list)
    for handle, position in end.items():
        ends[position].append(handle)
    return ends
