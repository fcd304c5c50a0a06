"""Arithmetic operations of LSTM cells and of sequences of them, forward and backward."""

from collections.abc import Callable

from ._operands import Operands


def _lstm_cell(operands: Operands) -> int:
    """B rows, I inputs, H cells: 8 B H (I + H) in the product with the weights, and for each of B H cells 23 more."""
    (rows, inputs), (_, cells) = operands.input(0), operands.input(1)
    return _lstm(operands, rows, inputs, cells)


def _block_lstm(operands: Operands) -> int:
    """As many cells of LSTMBlockCell as there are steps."""
    (steps, rows, inputs), (_, cells) = operands.input(1), operands.input(2)
    return steps * _lstm(operands, rows, inputs, cells)


def _block_lstm_v2(operands: Operands) -> int:
    """The forget bias is in the bias."""
    (steps, rows, _), (_, cells) = operands.input(1), operands.input(2)
    return _block_lstm(operands) - steps * rows * cells


def _lstm(operands: Operands, rows: int, inputs: int, cells: int) -> int:
    """For each cell the bias 4, three sigmoids of 4, two tanh, forget bias 1, c' = c f + i g 3, h = o tanh(c') 1.

    Peepholes w c add 2 to each of three gates.
    """
    peepholes = 6 if operands.attribute("use_peephole") else 0
    return rows * cells * (8 * (inputs + cells) + 23 + peepholes)


def _lstm_cell_grad(operands: Operands) -> int:
    """The gradients of gates and state alone; those of input and weights are MatMuls of their own.

    With dh and dc from above, for each cell: do = o (1 - o) dh tanh(c) 4; dc += (1 - tanh(c)^2) dh o 5;
    dg = (1 - g^2) dc i, df = f (1 - f) dc c, di = i (1 - i) dc g 4 each; back through the forget gate dc f 1.
    Peepholes: dc += do w 2, dc += di w + df w 4, and the gradients of the three w, sums over the rows, 2 each.
    """
    rows, cells = operands.input(1)
    if not operands.attribute("use_peephole"):
        return 22 * rows * cells
    return 34 * rows * cells - 3 * cells


def _block_lstm_grad(operands: Operands) -> int:
    """For each step what LSTMBlockCellGrad does, and for B rows, I inputs, H cells the gradients of what goes into it.

    Those of [x, h] and of the weights are 8 B H (I + H) each, that of the bias 4 B H; adding what comes from the step
    after to dh and dc 2 B H; peephole gradients are added up, 3 H.
    """
    (steps, rows, inputs), (_, cells) = operands.input(1), operands.input(2)
    peepholes = 12 if operands.attribute("use_peephole") else 0
    return steps * rows * cells * (16 * (inputs + cells) + 22 + 4 + 2 + peepholes)


LSTMS: dict[str, Callable[[Operands], int]] = {
    "LSTMBlockCell": _lstm_cell,
    "LSTMBlockCellGrad": _lstm_cell_grad,
    "BlockLSTM": _block_lstm,
    "BlockLSTMV2": _block_lstm_v2,
    **dict.fromkeys(("BlockLSTMGrad", "BlockLSTMGradV2"), _block_lstm_grad),
}
