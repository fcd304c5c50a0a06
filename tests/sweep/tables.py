"""All the rows: importing this module fills the table."""

from sweep import tables_array, tables_control, tables_image, tables_linalg, tables_math, tables_nn, tables_sparse
from sweep.table import ROWS

SUBJECTS = (tables_math, tables_array, tables_linalg, tables_nn, tables_image, tables_sparse, tables_control)

__all__ = ["ROWS", "SUBJECTS"]
