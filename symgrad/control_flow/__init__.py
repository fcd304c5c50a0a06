"""V1 control-flow contexts of graphs that came without them."""

__all__: list[str] = []
