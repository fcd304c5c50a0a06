"""Where rules are kept: one per op type, a second one refused with both addresses, a missing one never a zero."""

import pathlib
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import tensorflow.compat.v1 as tf

from ..errors import MissingRuleError

Rule = Callable[..., Any]


@dataclass(frozen=True)
class Entry:
    """One registration. What is said of a rule stands here: the same function may be registered again elsewhere.

    Attributes:
      rule: the function.
      answers: the numbers of the inputs that it speaks for; None: all.
      flat: the numbers of the inputs in which the op is constant, or constant by pieces.
      when: whether the rule is for this op of the type; None: for each.
      corrects: whether it stands in the place of a gradient of TensorFlow's that is wrong somewhere.
      address: the line of the registration.
    """

    rule: Rule
    answers: tuple[int, ...] | None
    flat: tuple[int, ...]
    when: Callable[[tf.Operation], bool] | None
    corrects: bool
    address: str


class Registry:
    """The rules of one kind, by op type; calling it gives the decorator that registers a rule."""

    def __init__(self, kind: str):
        self.kind = kind
        self._rules: dict[str, Entry] = {}

    def __call__(
        self,
        *op_types: str,
        answers: tuple[int, ...] | None = None,
        flat: tuple[int, ...] = (),
        when: Callable[[tf.Operation], bool] | None = None,
        corrects: bool = False,
    ) -> Callable[[Rule], Rule]:
        """The decorator that makes a function the rule of `op_types`; it returns the function unchanged.

        Args:
          *op_types: what `op.type` says.
          answers: the numbers of the inputs that the rule speaks for, if not for all: a derivative that needs another
            one raises MissingRuleError.
          flat: the numbers of inputs in which the op is constant, or constant by pieces: their derivative is zero.
          when: from an op of these types to whether the rule is for it; by default it is for each.
          corrects: TensorFlow has a gradient of these op types that is wrong somewhere. `symgrad.gradients`, which
            gives what `tf.gradients` gives, leaves such a rule aside.
        """

        def register(rule: Rule) -> Rule:
            for op_type in op_types:
                self.add(op_type, rule, answers=answers, flat=flat, when=when, corrects=corrects)
            return rule

        return register

    def add(
        self,
        op_type: str,
        rule: Rule,
        *,
        answers: tuple[int, ...] | None = None,
        flat: tuple[int, ...] = (),
        when: Callable[[tf.Operation], bool] | None = None,
        corrects: bool = False,
    ) -> None:
        """Make `rule` the rule of `op_type`."""
        address = _address()
        if op_type in self._rules:
            raise ValueError(
                f"{self.kind} rule for {op_type!r} already registered at {self._rules[op_type].address}; "
                f"second one at {address}"
            )
        self._rules[op_type] = Entry(rule, answers, flat, when, corrects, address)

    def find(self, op_type: str) -> Rule | None:
        """The rule of `op_type`, or None."""
        entry = self._rules.get(op_type)
        return None if entry is None else entry.rule

    def rule_of(self, op: tf.Operation, *, corrections: bool = True) -> Rule | None:
        """The rule for this op, or None.

        Args:
          op: an op.
          corrections: whether rules count that correct a gradient of TensorFlow's.
        """
        entry = self._rules.get(op.type)
        if entry is None or not (entry.when is None or entry.when(op)) or (entry.corrects and not corrections):
            return None
        return entry.rule

    def depends(self, op_type: str) -> bool:
        """True if the rule of `op_type` is for some ops of the type only."""
        return op_type in self._rules and self._rules[op_type].when is not None

    def answers(self, op_type: str, index: int) -> bool:
        """True if there is a rule for `op_type` and it speaks for the input of that number."""
        if op_type not in self._rules:
            return False
        answered = self._rules[op_type].answers
        return answered is None or index in answered

    def is_flat(self, op_type: str, index: int) -> bool:
        """True if the rule of `op_type` declares that the derivative in this input is zero."""
        return op_type in self._rules and index in self._rules[op_type].flat

    def __contains__(self, op_type: str) -> bool:
        return op_type in self._rules

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._rules))

    def __getitem__(self, op_type: str) -> Rule:
        """The rule of `op_type`; MissingRuleError if there is none."""
        try:
            return self._rules[op_type].rule
        except KeyError:
            raise MissingRuleError(
                f"no {self.kind} rule for op type {op_type!r}; register one with symgrad.rules.{self.kind}({op_type!r})"
            ) from None


_WORDS = {str(pathlib.Path(__file__).with_name(name)) for name in ("_registry.py", "_rows.py")}


def _address() -> str:
    """The line that registers: the nearest one outside of the registry and of the words that make rows."""
    frame = sys._getframe(1)
    while frame.f_code.co_filename in _WORDS and frame.f_back is not None:
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


pushforward = Registry("pushforward")
transpose = Registry("transpose")
