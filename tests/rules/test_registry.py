"""Registries: the rule comes back, a second one is refused, a missing one is an error."""

import pytest

from symgrad import errors
from symgrad.rules import Registry

pytestmark = pytest.mark.core


def test_the_decorator_returns_the_rule_and_registers_it():
    registry = Registry("pushforward")

    @registry("First", "Second")
    def rule(op, dx):
        return dx

    assert registry["First"] is registry["Second"] is rule
    assert "First" in registry
    assert list(registry) == ["First", "Second"]


def test_a_second_rule_is_refused_with_both_addresses():
    registry = Registry("transpose")
    registry("Op")(lambda op, dy: dy)
    with pytest.raises(
        ValueError, match=r"'Op' already registered at .*test_registry.py:\d+; second one at .*\.py:\d+"
    ):
        registry("Op")(lambda op, dy: dy)


def test_a_missing_rule_is_an_error_that_says_how_to_give_one():
    with pytest.raises(errors.MissingRuleError, match=r"symgrad\.rules\.pushforward\('Nowhere'\)"):
        Registry("pushforward")["Nowhere"]
