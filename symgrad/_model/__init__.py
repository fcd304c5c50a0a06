"""The networkx graph: made from a live graph or a file; its roles, attributes, shapes, questions to it, folding."""
