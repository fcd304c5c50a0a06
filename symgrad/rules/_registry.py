"""Where rules are kept: one per op type, a second one refused with both addresses, a missing one never a zero."""

from collections.abc import Callable, Iterator
from typing import Any

from ..errors import MissingRuleError

Rule = Callable[..., Any]


class Registry:
    """The rules of one kind, by op type; calling it gives the decorator that registers a rule."""

    def __init__(self, kind: str):
        self.kind = kind
        self._rules: dict[str, Rule] = {}

    def __call__(
        self, *op_types: str, answers: tuple[int, ...] | None = None, flat: tuple[int, ...] = ()
    ) -> Callable[[Rule], Rule]:
        """The decorator that makes a function the rule of `op_types`; it returns the function unchanged.

        Args:
          *op_types: what `op.type` says.
          answers: the numbers of the inputs that the rule speaks for, if not for all: a derivative that needs another
            one raises MissingRuleError.
          flat: the numbers of inputs in which the op is constant, or constant by pieces: their derivative is zero.
        """

        def register(rule: Rule) -> Rule:
            for op_type in op_types:
                self.add(op_type, rule, answers, flat)
            return rule

        return register

    def add(self, op_type: str, rule: Rule, answers: tuple[int, ...] | None = None, flat: tuple[int, ...] = ()) -> None:
        """Make `rule` the rule of `op_type`."""
        if op_type in self._rules:
            raise ValueError(
                f"{self.kind} rule for {op_type!r} already registered at {_address(self._rules[op_type])}; "
                f"second one at {_address(rule)}"
            )
        if answers is not None:
            rule.answers = answers  # type: ignore[attr-defined]
        if flat:
            rule.flat = flat  # type: ignore[attr-defined]
        self._rules[op_type] = rule

    def find(self, op_type: str) -> Rule | None:
        """The rule of `op_type`, or None."""
        return self._rules.get(op_type)

    def answers(self, op_type: str, index: int) -> bool:
        """True if there is a rule for `op_type` and it speaks for the input of that number."""
        if op_type not in self._rules:
            return False
        answered = getattr(self._rules[op_type], "answers", None)
        return answered is None or index in answered

    def is_flat(self, op_type: str, index: int) -> bool:
        """True if the rule of `op_type` declares that the derivative in this input is zero."""
        return index in getattr(self._rules.get(op_type), "flat", ())

    def __contains__(self, op_type: str) -> bool:
        return op_type in self._rules

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._rules))

    def __getitem__(self, op_type: str) -> Rule:
        """The rule of `op_type`; MissingRuleError if there is none."""
        try:
            return self._rules[op_type]
        except KeyError:
            raise MissingRuleError(
                f"no {self.kind} rule for op type {op_type!r}; register one with symgrad.rules.{self.kind}({op_type!r})"
            ) from None


def _address(rule: Rule) -> str:
    code = getattr(rule, "__code__", None) or getattr(rule, "code", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code else repr(rule)


pushforward = Registry("pushforward")
transpose = Registry("transpose")
