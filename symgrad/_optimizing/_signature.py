"""The signature of an optimizer class, made from what the class declares."""

from __future__ import annotations

import inspect
from inspect import Parameter
from typing import Any

from ._declarations import REQUIRED, declared, hyperparameter, option

__all__ = ["signature_of"]

_OPEN = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)


def signature_of(cls: Any) -> inspect.Signature:
    """What `help`, notebooks and the documentation show for the constructor.

    A constructor that names all that it takes is shown as it is written. One that passes `*args` on takes the
    hyperparameters by position, options by name, and by name what the constructors above it name.
    """
    hypers = declared(cls, hyperparameter)
    own = _parameters(cls.__init__)
    if not hypers or all(p.kind is not Parameter.VAR_POSITIONAL for p in own):
        return inspect.Signature(own)
    defaults = {name: found.default for name, found in {**hypers, **declared(cls, option)}.items()}
    order = list(cls.positions or hypers)
    by_name = {name: default for name, default in defaults.items() if name not in order}
    rest = [Parameter(name, Parameter.KEYWORD_ONLY, default=_shown(default)) for name, default in by_name.items()]
    return inspect.Signature([*_by_position({name: defaults[name] for name in order}), *rest, *_named_above(cls)])


def _parameters(init: Any) -> list[Parameter]:
    """The parameters of a constructor but `self`."""
    return list(inspect.signature(init).parameters.values())[1:]


def _by_position(defaults: dict[str, Any]) -> list[Parameter]:
    """Parameters in their order; one that is required after one that is not is shown by name, which always works."""
    shown: list[Parameter] = []
    kind: Any = Parameter.POSITIONAL_OR_KEYWORD
    for name, value in defaults.items():
        default = _shown(value)
        if default is Parameter.empty and shown and shown[-1].default is not Parameter.empty:
            kind = Parameter.KEYWORD_ONLY
        shown.append(Parameter(name, kind, default=default))
    return shown


def _shown(default: Any) -> Any:
    return Parameter.empty if default is REQUIRED else default


def _named_above(cls: type) -> list[Parameter]:
    """What the constructors name, the nearest first, up to one that passes nothing on."""
    found: dict[str, Parameter] = {}
    for base in cls.__mro__:
        if "__init__" not in vars(base):
            continue
        own = _parameters(vars(base)["__init__"])
        named = [p for p in own if p.kind not in _OPEN]
        if len(named) == len(own):
            break
        found |= {p.name: p.replace(kind=Parameter.KEYWORD_ONLY) for p in named if p.name not in found}
    return list(found.values())
