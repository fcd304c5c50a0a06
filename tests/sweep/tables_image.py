"""Images: resizing, colours, crops."""

import numpy as np
import tensorflow.compat.v1 as tf

from sweep.table import ROADS, D, N, U, X, built, raw

_SIZE = {"size": [5, 3]}
for _op in ["ResizeBicubic", "ResizeBilinear"]:
    raw(_op, images=N(1, 3, 4, 2), **_SIZE, half_pixel_centers=True, dtype=tf.float32)
    raw(_op, "align_corners", images=N(1, 3, 4, 2), **_SIZE, align_corners=True, dtype=tf.float32)
raw("ResizeNearestNeighbor", images=N(1, 3, 4, 2), **_SIZE)
raw("ResizeArea", images=N(1, 5, 4, 2), size=[3, 2], dtype=tf.float32)
raw("ResizeArea", "align_corners", images=N(1, 5, 4, 2), size=[3, 2], align_corners=True, dtype=tf.float32)
raw("ScaleAndTranslate", images=N(1, 3, 4, 2), **_SIZE, scale=np.float32([1.4, 0.7]),
    translation=np.float32([0.1, 0.2]), dtype=tf.float32)  # fmt: skip
for _method in ["bilinear", "bicubic", "lanczos3", "area", "nearest", "gaussian", "mitchellcubic"]:

    @built("ResizeBilinear" if _method == "bilinear" else "ScaleAndTranslate", f"tf.image.resize({_method})",
           coarse=True)  # fmt: skip
    def _(rng, method=_method):
        x = tf.constant(rng.standard_normal((1, 6, 5, 2)), tf.float32)
        return tf.compat.v2.image.resize(x, [4, 3], method, antialias=method != "bilinear"), x


_BOXES = X(lambda rng, s: np.array([[0.1, 0.15, 0.8, 0.9], [0.3, 0.2, 0.65, 1.35]]), (2, 4))
for _method in ["bilinear", "nearest"]:
    raw("CropAndResize", f"image, {_method}", image=N(2, 5, 5, 2), boxes=np.float32([[0.1, 0.15, 0.8, 1.2]]),
        box_ind=[1], crop_size=[3, 2], method=_method, dtype=tf.float32)  # fmt: skip
raw("CropAndResize", "boxes", image=np.random.default_rng(1).standard_normal((2, 5, 5, 2)).astype("float32"),
    boxes=_BOXES, box_ind=[1, 0], crop_size=[3, 2], dtype=tf.float32)  # fmt: skip
raw("CropAndResize", "both", image=N(2, 5, 5, 2), boxes=_BOXES, box_ind=[1, 0], crop_size=[3, 2], dtype=tf.float32)
raw("CropAndResize", "crops of one pixel", image=N(2, 5, 5, 2), boxes=_BOXES, box_ind=[1, 0], crop_size=[1, 1],
    dtype=tf.float32)  # fmt: skip

_COLOURS = X(
    lambda rng, s: np.array([[[0.1, 0.5, 0.8], [0.7, 0.2, 0.4], [0.9, 0.85, 0.3], [0.2, 0.6, 0.35]]]), (1, 4, 3)
)
_HSV = X(lambda rng, s: np.array([[0.1, 0.5, 0.8], [0.72, 0.2, 0.4], [0.9, 0.85, 0.3], [0.25, 0.6, 0.35]]), (4, 3))
raw("RGBToHSV", images=_COLOURS)
raw("HSVToRGB", images=_HSV)
raw("AdjustHue", images=_COLOURS, delta=np.float32(0.04), dtype=tf.float32)
raw("AdjustHue", "delta", images=_COLOURS, delta=X(lambda rng, s: np.float64(0.04), ()), dtype=tf.float32)
raw("AdjustSaturation", images=_COLOURS, scale=np.float32(0.8), dtype=tf.float32)
raw("AdjustSaturation", "scale", images=_COLOURS, scale=X(lambda rng, s: np.float64(0.8), ()), dtype=tf.float32)
raw("AdjustContrastv2", images=N(1, 3, 4, 2), contrast_factor=U(), dtype=tf.float32)

_TURN = np.float32([[0.9, 0.2, 0.1, -0.1, 0.8, 0.3, 0.01, 0.02]])
for _version, _more in {"V2": {}, "V3": {"fill_value": np.float32(0.3)}}.items():
    for _method in ["BILINEAR", "NEAREST"]:
        raw("ImageProjectiveTransform" + _version, _method, images=N(1, 5, 4, 2), transforms=_TURN,
            output_shape=[4, 5], interpolation=_method, dtype=tf.float32, **_more)  # fmt: skip
for _fill in ["REFLECT", "WRAP", "NEAREST"]:
    raw("ImageProjectiveTransformV3", _fill, images=N(1, 5, 4, 2), transforms=_TURN, output_shape=[4, 5],
        interpolation="BILINEAR", fill_mode=_fill, fill_value=np.float32(0), dtype=tf.float32)  # fmt: skip
raw("ImageProjectiveTransformV3", "a batch of images, one transform", images=D(2, 5, 4, 1), transforms=_TURN,
    output_shape=[4, 5], interpolation="BILINEAR", fill_value=np.float32(0), dtype=tf.float32)  # fmt: skip
raw("ExtractGlimpse", input=N(1, 5, 5, 1), size=[2, 3], offsets=np.float32([[0.1, 0.2]]), dtype=tf.float32,
    options={"errors": dict.fromkeys(ROADS, "TensorFlow marks it so")})  # fmt: skip
