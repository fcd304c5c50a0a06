"""Plots of derivatives: the drawn data are the given data, the scale is symmetric, nothing is hidden."""

import numpy as np
import pytest
import scipy.sparse
import tensorflow.compat.v1 as tf
from matplotlib.figure import Figure

from symgrad.errors import ShapeError
from symgrad.graph import gradient_magnitudes, heatmap, rows_as_images, spy


def test_heatmap_shows_the_matrix_on_a_symmetric_scale(rng, tmp_path):
    jacobian = rng.standard_normal((2, 3, 4))
    figure = heatmap(jacobian, y_rank=2, title="J")
    (image,) = figure.axes[0].images
    np.testing.assert_array_equal(image.get_array(), jacobian.reshape(6, 4))
    assert image.get_clim() == (-np.abs(jacobian).max(), np.abs(jacobian).max())
    figure.savefig(tmp_path / "j.png")
    assert (tmp_path / "j.png").stat().st_size > 1000


def test_zero_is_white_and_what_is_not_finite_is_grey():
    (image,) = heatmap(np.array([[0.0, np.nan, np.inf, 2.0, -2.0]])).axes[0].images
    colours = image.to_rgba(image.get_array())[0]
    np.testing.assert_allclose(colours[0, :3], 0.97, atol=0.03)
    np.testing.assert_allclose(colours[1, :3], 0xBB / 255, atol=1e-6)
    assert image.get_clim() == (-2.0, 2.0)
    assert colours[3, 0] > colours[3, 2], "red is positive"
    assert colours[4, 2] > colours[4, 0], "blue is negative"


def test_heatmap_of_zeros_and_of_nothing():
    assert heatmap(np.zeros((2, 2))).axes[0].images[0].get_clim() == (-1.0, 1.0)


@pytest.mark.parametrize(("y_rank", "said"), [(None, "say by y_rank"), (4, "y_rank is 4"), (-1, "y_rank is -1")])
def test_shape_errors(y_rank, said):
    with pytest.raises(ShapeError, match=said):
        heatmap(np.zeros((2, 3, 4)), y_rank=y_rank)


def test_draws_into_given_axes():
    figure = Figure()
    axes = figure.subplots(1, 2)
    assert heatmap(np.eye(2), axes=axes[0]) is figure
    assert spy(np.eye(2), axes=axes[1]) is figure


@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_matrix, scipy.sparse.coo_array])
def test_spy_marks_what_is_not_zero(form):
    matrix = np.array([[1.0, 0.0, 1e-9], [0.0, np.nan, 0.0]])
    axes = spy(form(matrix), tolerance=1e-6).axes[0]
    (line,) = axes.lines
    assert sorted(zip(line.get_ydata(), line.get_xdata(), strict=True)) == [(0, 0), (1, 1)]
    assert axes.get_title() == "2 of 6 entries (33.3%)"


def test_rows_as_images(rng):
    jacobian = rng.standard_normal((7, 2, 3))
    figure = rows_as_images(jacobian, (2, 3), titles=list("abcdefg"), image=np.ones(6))
    images = {axes.get_title(): axes.images[0] for axes in figure.axes if axes.images and axes.get_title()}
    for k, name in enumerate("abcdefg"):
        np.testing.assert_array_equal(images[name].get_array(), jacobian[k])
        assert images[name].get_clim() == (-np.abs(jacobian).max(), np.abs(jacobian).max())
    with pytest.raises(ShapeError, match="no number of images of shape 5 x 3"):
        rows_as_images(jacobian, (5, 3))
    with pytest.raises(ShapeError, match="1 titles for 7 rows"):
        rows_as_images(jacobian, (2, 3), titles=["a"])


def test_gradient_magnitudes_tell_sizes_zeros_and_what_is_missing():
    with tf.Graph().as_default(), tf.Session() as session:
        table = tf.zeros([4, 4])
        (gradient,) = tf.gradients(5.0 * tf.gather(table, [0, 3]), table)
        assert isinstance(gradient, tf.IndexedSlices)
        sparse = session.run(gradient)
    gradients = {
        "small": np.full((3, 3), 1e-7),
        "half zero": np.array([0.0, -2.0]),
        "broken": np.array([np.nan, np.inf, 1.0]),
        "rows": sparse,
        "none": None,
        "all zero": np.zeros(3),
    }
    axes = gradient_magnitudes(gradients).axes[0]
    medians = {int(line.get_ydata()[0]): line.get_xdata()[0] for line in axes.lines if line.get_marker() == "o"}
    assert medians == pytest.approx({0: 1e-7, 1: 2.0, 2: 1.0, 3: 5.0})
    assert [text.get_text() for text in axes.get_yticklabels()] == list(gradients)
    notes = {int(note.xy[1]): note.get_text() for note in axes.texts}
    assert notes == {1: "50% zero", 2: "2 not finite", 4: "no gradient", 5: "100% zero"}
    assert axes.get_xscale() == "log"
