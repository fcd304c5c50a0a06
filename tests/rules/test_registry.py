"""Registries: the rule comes back, a second one is refused, a missing one is an error."""

import inspect

import pytest

from symgrad import errors, rules
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


def test_what_is_said_of_a_rule_stands_in_its_entry():
    """A function that is registered twice keeps both claims, and is not written upon."""
    registry = Registry("transpose")

    def rule(op, dy):
        return dy

    registry("First", answers=(0,))(rule)
    registry("Second", answers=(1,), flat=(0,))(rule)
    assert [registry.answers(op, i) for op in ("First", "Second") for i in (0, 1)] == [True, False, False, True]
    assert [registry.is_flat(op, 0) for op in ("First", "Second")] == [False, True]
    assert not vars(rule)


def test_the_address_of_a_rule_is_the_line_where_it_stands():
    line = inspect.currentframe().f_lineno + 1
    rules.pushforward("TestAddressOfARule")(lambda op, dx: dx)
    try:
        with pytest.raises(ValueError, match=rf"test_registry.py:{line}; second one at .*test_registry.py:{line + 3}"):
            rules.linear("TestAddressOfARule")
        with pytest.raises(ValueError, match=r"registered at .*_math.py:(?!1;)\d+"):
            rules.linear("Neg")
    finally:
        del rules.pushforward._rules["TestAddressOfARule"]
