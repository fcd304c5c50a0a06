"""Pictures of a graph: which boxes, in which rows, where, with which lines, in which colours and formats."""
