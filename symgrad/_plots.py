"""Plots of derivatives with matplotlib: a Jacobian as a heat map, its pattern, its rows as images; gradients by layer.

Every function makes a `matplotlib.figure.Figure` by itself, without pyplot, so that no window system is asked for.
"""

import io
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .errors import ShapeError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Diverging, with white in the middle; blue and red are told apart with every common colour-blindness.
_DIVERGING = "RdBu_r"
_NOT_FINITE = "#bbbbbb"
_BLUE, _VERMILION = "#0072b2", "#d55e00"


def heatmap(jacobian: Any, *, y_rank: int | None = None, axes: "Axes | None" = None, title: str = "") -> "Figure":
    """A Jacobian as a heat map: rows are elements of y, columns elements of x, both flattened.

    The colour scale is symmetric about zero: white is zero, red positive, blue negative, grey not finite.

    Args:
      jacobian: real array, shape y.shape + x.shape.
      y_rank: rank of y; None for a matrix, or for a vector x.
      axes: matplotlib axes to draw into; None makes a figure.
      title: heading.

    Returns:
      The figure.

    Raises:
      ShapeError: `y_rank` does not fit, or is needed and missing.

    Example:
      >>> import numpy as np, symgrad
      >>> symgrad.graph.heatmap(np.eye(3)).savefig("jacobian.png")
    """
    matrix = _as_matrix(jacobian, y_rank)
    axes = axes if axes is not None else _figure((6, 5)).add_subplot()
    image = axes.imshow(matrix, **_symmetric(matrix), interpolation="nearest", aspect="auto")
    axes.figure.colorbar(image, ax=axes, label="dy / dx")
    _label_matrix(axes, title)
    return axes.figure  # type: ignore[return-value]


def spy(
    jacobian: Any,
    *,
    tolerance: float = 0.0,
    y_rank: int | None = None,
    groups: Any = None,
    axes: "Axes | None" = None,
    title: str | None = None,
) -> "Figure":
    """The pattern of a Jacobian: a mark for each entry larger than `tolerance` or not finite.

    Args:
      jacobian: real array, shape y.shape + x.shape, or a SciPy sparse matrix.
      tolerance: entries of at most this size count as zero, in the unit of the entries.
      y_rank: rank of y; None for a matrix, or for a vector x.
      groups: for each entry, in row-major order, the number of its group; each has a colour of its own.
      axes: matplotlib axes to draw into; None makes a figure.
      title: heading; None for the number of entries.

    Returns:
      The figure.

    Raises:
      ShapeError: `y_rank` does not fit, or is needed and missing.
    """
    import numpy as np

    if hasattr(jacobian, "tocoo"):
        entries = jacobian.tocoo()
        rows, columns, values, shape = entries.row, entries.col, entries.data, entries.shape
    else:
        matrix = _as_matrix(jacobian, y_rank)
        rows, columns = np.indices(matrix.shape).reshape(2, -1)
        values, shape = matrix.ravel(), matrix.shape
    kept = ~(np.abs(values) <= tolerance)  # NaN is no zero
    axes = axes if axes is not None else _figure((5, 5)).add_subplot()
    size = max(0.5, 300.0 / max(*shape, 1))
    numbers = np.zeros(len(rows), int) if groups is None else np.asarray(groups)
    for group in np.unique(numbers[kept]):
        some = kept & (numbers == group)
        color = _BLUE if groups is None else f"C{group % 10}"
        axes.plot(columns[some], rows[some], "s", color=color, markersize=min(size, 12.0), markeredgewidth=0)
    axes.set(xlim=(-0.5, shape[1] - 0.5), ylim=(shape[0] - 0.5, -0.5), aspect="equal")
    count, full = int(kept.sum()), shape[0] * shape[1]
    share = f" ({count / full:.1%})" if full else ""
    _label_matrix(axes, f"{count:,} of {full:,} entries{share}" if title is None else title)
    return axes.figure  # type: ignore[return-value]


def rows_as_images(
    jacobian: Any,
    image_shape: Sequence[int],
    *,
    titles: Sequence[str] | None = None,
    image: Any = None,
    image_title: str = "",
    title: str = "",
) -> "Figure":
    """Each row of a Jacobian with respect to an image, as an image: how one output answers to each pixel.

    All share one colour scale, symmetric about zero, so that they can be compared.

    Args:
      jacobian: real array, N rows of as many elements as `image_shape` has.
      image_shape: (height, width).
      titles: N texts, one above each image.
      image: the image itself, (height, width), to show beside them under `image_title`.
      title: heading.

    Returns:
      The figure.

    Raises:
      ShapeError: the rows are not of the size of the image, or the titles not as many as the rows.
    """
    import numpy as np

    height, width = image_shape
    matrix = np.asarray(jacobian)
    if height * width == 0 or matrix.size % (height * width):
        raise ShapeError(f"jacobian has shape {matrix.shape}, which is no number of images of shape {height} x {width}")
    rows = matrix.reshape(-1, height, width)
    if titles is not None and len(titles) != len(rows):
        raise ShapeError(f"{len(titles)} titles for {len(rows)} rows; give one for each")
    across = min(5, len(rows)) or 1
    layout: list[list[Any]] = [
        [k if k < len(rows) else "." for k in range(i, i + across)] for i in range(0, len(rows), across)
    ]
    if image is not None:
        layout = [["image", "image", *line] for line in layout]
    figure = _figure((1.8 * len(layout[0]), 2.0 * max(len(layout), 2 if image is not None else 1)))
    axes = figure.subplot_mosaic(layout)
    for each in axes.values():
        each.set_axis_off()
    if image is not None:
        axes["image"].imshow(np.reshape(image, (height, width)), cmap="gray_r")
        axes["image"].set_title(image_title)
    scale = _symmetric(matrix)
    for k, row in enumerate(rows):
        shown = axes[k].imshow(row, **scale)
        axes[k].set_title("" if titles is None else titles[k], fontsize="small")
    figure.colorbar(shown, ax=list(axes.values()), fraction=0.02, label="dy / dx")
    figure.suptitle(title)
    return figure


def gradient_magnitudes(
    gradients: Mapping[str, Any], *, axes: "Axes | None" = None, title: str = "Size of the gradient"
) -> "Figure":
    """How large gradients are, layer by layer, on a logarithmic axis: vanishing and exploding ones stand out.

    A bar reaches from the 5th to the 95th percentile of |g| over the elements that are not zero, a mark is at the
    median; behind it stands which part of the elements is zero or not finite, where there are such.

    Args:
      gradients: name to array, in the order to draw; a `tf.IndexedSlicesValue` counts with its values, None (no
        gradient) as an empty line.
      axes: matplotlib axes to draw into; None makes a figure.
      title: heading.

    Returns:
      The figure.

    Example:
      >>> import numpy as np, symgrad
      >>> figure = symgrad.graph.gradient_magnitudes({"first/w": np.full((3, 3), 1e-6), "last/w": np.ones(3)})
      >>> figure.savefig("gradients.png")
    """
    import numpy as np

    axes = axes if axes is not None else _figure((7, 1.2 + 0.3 * len(gradients))).add_subplot()
    axes.set_xscale("log")
    for k, gradient in enumerate(gradients.values()):
        size = np.abs(
            np.asarray([] if gradient is None else getattr(gradient, "values", gradient), np.complex128)
        ).ravel()
        finite = size[np.isfinite(size)]
        used = finite[finite > 0]
        if len(used):
            low, middle, high = np.percentile(used, [5, 50, 95])
            axes.plot([low, high], [k, k], color=_BLUE, linewidth=6, alpha=0.35, solid_capstyle="butt")
            axes.plot([middle], [k], "o", color=_BLUE)
        notes = _notes(gradient is None, size, finite, used)
        if notes:
            axes.annotate(
                notes, (1.01, k), xycoords=("axes fraction", "data"), va="center", color=_VERMILION, fontsize="small"
            )
    axes.set_yticks(range(len(gradients)), list(gradients))
    axes.set_ylim(len(gradients) - 0.5, -0.5)
    axes.set(xlabel="|g|: median, 5th to 95th percentile", title=title)
    axes.grid(axis="x", alpha=0.3)
    return axes.figure  # type: ignore[return-value]


def _notes(missing: bool, size: Any, finite: Any, used: Any) -> str:
    if missing:
        return "no gradient"
    parts = []
    if len(used) < len(finite):
        parts.append(f"{1 - len(used) / len(finite):.0%} zero")
    if len(finite) < len(size):
        parts.append(f"{len(size) - len(finite):,} not finite")
    return ", ".join(parts)


def _as_matrix(jacobian: Any, y_rank: int | None) -> Any:
    import numpy as np

    array = np.asarray(jacobian)
    if y_rank is None:
        if array.ndim > 2:
            raise ShapeError(
                f"jacobian has shape {array.shape}: say by y_rank how many of these dimensions are those of y"
            )
        y_rank = max(array.ndim - 1, 0)
    if not 0 <= y_rank <= array.ndim:
        raise ShapeError(f"y_rank is {y_rank}, but jacobian has shape {array.shape}")
    return array.reshape(int(np.prod(array.shape[:y_rank])), int(np.prod(array.shape[y_rank:])))


def _symmetric(matrix: Any) -> dict[str, Any]:
    """Colours and limits about zero by the largest finite entry."""
    import numpy as np
    from matplotlib import colormaps

    finite = np.abs(matrix[np.isfinite(matrix)])
    limit = float(finite.max()) if finite.size and finite.max() > 0 else 1.0
    return {"cmap": colormaps[_DIVERGING].with_extremes(bad=_NOT_FINITE), "vmin": -limit, "vmax": limit}


def _label_matrix(axes: "Axes", title: str) -> None:
    axes.set(xlabel="element of x", ylabel="element of y", title=title)


def _figure(size: tuple[float, float]) -> "Figure":
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("plots need matplotlib; install it by: pip install 'symgrad[pictures]'") from error

    class Plot(Figure):
        """A figure that a notebook shows by itself; matplotlib's own are shown where pyplot is set up for it."""

        def _repr_png_(self) -> bytes:
            buffer = io.BytesIO()
            self.savefig(buffer, format="png")
            return buffer.getvalue()

    figure = Plot(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    return figure
