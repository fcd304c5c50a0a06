"""The gradient graph as a networkx graph: build, query, draw."""

__all__: list[str] = []
