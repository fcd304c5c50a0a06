"""The operators: gradients, Lop, Rop, jacobian."""

__all__: list[str] = []
