"""`symgrad jacobian`: the Jacobian of a stored model, written to a file block by block."""

import math
from pathlib import Path
from typing import Annotated, Any

import typer

from ._arguments import Checkpoint, Feed, Model, destination, said, source
from ._named import feed as _feed
from ._named import tensor, variable_or_tensor
from ._progress import progress_bar


def jacobian(
    model: Model,
    ys: Annotated[str, typer.Option("--ys", metavar="NAME", help="Output of the model, or name of a tensor.")],
    xs: Annotated[str, typer.Option("--xs", metavar="NAME", help="Input or variable of the model, or a tensor.")],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="A .npy file, .npz if sparse; - for stdout.")
    ],
    feed: Feed = None,
    block_size: Annotated[
        int | None, typer.Option("--block-size", metavar="ROWS", min=1, help="Rows computed at a time.")
    ] = None,
    checkpoint: Checkpoint = None,
    sparse: Annotated[bool, typer.Option("--sparse", help="Only what may not be zero, as SciPy's .npz.")] = False,
) -> None:
    """Write dy/dx of a stored model as a .npy array of shape y.shape + x.shape, however large, block by block."""
    import tensorflow.compat.v1 as tf

    from .. import loaders, operators

    loaded = loaders.load(source(model))
    y, x = tensor(loaded, ys, "--ys"), variable_or_tensor(loaded, xs, "--xs")
    feeds = dict(_feed(loaded, pair) for pair in feed or [])
    with loaded.graph.as_default(), tf.Session(graph=loaded.graph) as session:
        loaded.restore(session, checkpoint)
        if sparse:
            with destination(out) as path:
                what = _write_sparse(path, (y, x), (session, feeds), block_size)
            said(f"{out}: {what}", out)
            return
        of_y, of_x = (tuple(map(int, shape)) for shape in session.run([tf.shape(y), tf.shape(x)], feeds))
        dtype = y.dtype.base_dtype
        blocks = operators.jacobian_blocks(y, x, session=session, feed_dict=feeds, block_size=block_size)
        with destination(out) as path:
            _write(path, of_y, of_x, dtype.as_numpy_dtype, blocks)
    said(f"{out}: {dtype.name}, shape {[*of_y, *of_x]}", out)


def _write_sparse(out: Path, of: tuple[Any, Any], at: tuple[Any, dict], block_size: int | None) -> str:
    """The matrix [size of y, size of x] as `scipy.sparse.load_npz` reads it; what was written, in words."""
    import scipy.sparse

    from .. import sparsity

    (y, x), (session, feeds) = of, at
    found = sparsity.pattern(y, x, session=session, feed_dict=feeds)
    derivative = sparsity.sparse_jacobian(y, x, pattern=found, block_size=block_size)
    matrix = derivative.run(session, feeds)
    with out.open("wb") as file:  # by name it would add an ending
        scipy.sparse.save_npz(file, scipy.sparse.csr_matrix(matrix))
    rows, columns = matrix.shape
    return (
        f"{matrix.dtype}, {matrix.nnz:,} entries of [{rows:,}, {columns:,}], from {derivative.coloring.colors} products"
    )


def _write(out: Path, of_y: tuple[int, ...], of_x: tuple[int, ...], dtype: Any, blocks: Any) -> None:
    """Rows come in the order of the file: they are appended, so that no more than one block is in memory.

    A file that is not finished keeps the name of a part.
    """
    import numpy as np

    part = out.with_name(out.name + ".part")
    header = {"descr": np.lib.format.dtype_to_descr(np.dtype(dtype)), "fortran_order": False, "shape": of_y + of_x}
    with part.open("wb") as file, progress_bar() as progress:
        np.lib.format.write_array_header_2_0(file, header)
        task = progress.add_task("rows", total=math.prod(of_y))
        for rows, block in blocks:
            file.write(np.ascontiguousarray(block).data)
            progress.update(task, completed=rows.stop)
    part.replace(out)
