"""What `help` and the documentation show of an optimizer is what its constructor takes."""

import inspect

import pytest

import symgrad.optimizers as optimizers
from symgrad.errors import OptimizerError
from symgrad.optimizers import Adam, Momentum, Optimizer, hyperparameter, option

CATALOG = [
    found
    for name in optimizers.__all__
    if isinstance(found := getattr(optimizers, name), type) and issubclass(found, Optimizer) and found is not Optimizer
]
COMMON = {"transforms", "reduction", "use_locking", "name", "lazy", "multipliers"}


def parameters(cls):
    return inspect.signature(cls).parameters


def test_every_hyperparameter_stands_with_its_default():
    shown = str(inspect.signature(Adam))  # the defaults of TensorFlow's AdamOptimizer
    assert shown.startswith("(learning_rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-08, *")
    momentum = parameters(Momentum)
    assert momentum["learning_rate"].default is inspect.Parameter.empty
    assert momentum["nesterov"].kind is inspect.Parameter.KEYWORD_ONLY


@pytest.mark.parametrize("cls", CATALOG, ids=lambda cls: cls.__name__)
def test_what_is_shown_is_taken_and_nothing_else(cls):
    shown = parameters(cls)
    assert set(shown) >= COMMON
    assert all(p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in shown.values())
    given = {name: 0.01 for name, p in shown.items() if p.default is p.empty}
    named = cls(**given)
    by_position = [p for p in shown.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
    values = [given.get(p.name, p.default) for p in by_position]
    assert cls(*values).get_config() == named.get_config()
    with pytest.raises(OptimizerError, match="by position"):
        cls(*values, 1.0)
    cls(**given, **{name: p.default for name, p in shown.items() if p.default is not p.empty})


def test_a_class_of_a_user_and_those_below_it():
    class Mine(Optimizer):
        rate = hyperparameter(0.5)
        scale = hyperparameter()
        flag = option(False)

    class Below(Mine):
        rate = hyperparameter(0.25)

    class Written(Mine):
        def __init__(self, scale):
            super().__init__(scale=scale)

    assert str(inspect.signature(Mine)).startswith("(rate=0.5, *, scale, flag=False")
    assert str(inspect.signature(Below)).startswith("(rate=0.25, *, scale, flag=False")
    assert str(inspect.signature(Written)) == "(scale)"
