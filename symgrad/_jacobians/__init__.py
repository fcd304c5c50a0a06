"""The machinery of Jacobians: linear maps tabulated by rows or by columns, in blocks, through loops, over devices."""
