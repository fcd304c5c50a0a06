"""What an op type means to differentiation: pushforward, transpose and linear rules, and what is missing."""

__all__: list[str] = []
