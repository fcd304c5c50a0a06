"""Rules of image ops: resizing, crops, projective transforms, colours."""

import tensorflow.compat.v1 as tf

from ._composites import composite
from ._registry import transpose
from ._rows import linear

raw = tf.raw_ops

linear("ResizeArea", "ResizeBicubic", "ResizeBilinear", "ResizeNearestNeighbor", "ScaleAndTranslate", moves=0)
linear("ResizeBicubicGrad", "ResizeBilinearGrad", "ResizeNearestNeighborGrad", "ScaleAndTranslateGrad", moves=0)
linear("CropAndResize", "CropAndResizeGradImage", moves=0)
linear("ImageProjectiveTransformV2", moves=0)
linear("ImageProjectiveTransformV3", moves=(0, 3))


def _size(images: tf.Tensor) -> tf.Tensor:
    return tf.shape(images)[1:3]


def _resize(grad_type, forward, attributes):
    """The transpose of a resize's gradient is the resize of t to the size of dy."""

    @transpose(grad_type, answers=(0,), flat=(1,))
    def rule(op, t):
        options = {name: op.get_attr(name) for name in attributes}
        resized = forward(images=t, size=_size(op.inputs[0]), **options)
        return [tf.cast(resized, op.inputs[0].dtype), None]


for _name in ("Bilinear", "Bicubic", "NearestNeighbor"):
    _resize(f"Resize{_name}Grad", getattr(raw, f"Resize{_name}"), ("align_corners", "half_pixel_centers"))


@transpose("ScaleAndTranslateGrad", answers=(0,), flat=(1,))
def _scale_and_translate_grad(op, t):
    dy, _, scale, translation = op.inputs
    forward = raw.ScaleAndTranslate(
        images=t, size=_size(dy), scale=scale, translation=translation,
        kernel_type=op.get_attr("kernel_type").decode(), antialias=op.get_attr("antialias"),
    )  # fmt: skip
    return [forward, None, None, None]


@composite("ResizeArea")
def _resize_area(op, images, size):
    """Averages over rows and over columns: a matrix for each, which the op shows on unit matrices."""
    height, width = tf.shape(images)[1], tf.shape(images)[2]

    def matrix(old, new):
        unit = tf.eye(old)[None, :, :, None]
        return raw.ResizeArea(images=unit, size=tf.stack([new, old]), align_corners=op.get_attr("align_corners"))[
            0, :, :, 0
        ]

    rows, columns = matrix(height, size[0]), matrix(width, size[1])
    return tf.einsum("ip,jq,bpqc->bijc", rows, columns, tf.cast(images, tf.float32))


@transpose("CropAndResizeGradImage", answers=(0,))
def _crop_grad_image(op, t):
    dy, boxes, where, _ = op.inputs
    crop = raw.CropAndResize(
        image=t, boxes=boxes, box_ind=where, crop_size=_size(dy), method=op.get_attr("method").decode()
    )
    return [crop, None, None, None]


@transpose("CropAndResizeGradBoxes", answers=(0,))
def _crop_grad_boxes(op, t):
    """The slope of the bilinear surface times the way that each sample moves with the corners of its box."""
    dy, image, boxes, where = op.inputs
    image = tf.cast(image, tf.float32)
    rows = _samples(boxes[:, 0], boxes[:, 2], t[:, 0], t[:, 2], tf.shape(image)[1], tf.shape(dy)[1])
    columns = _samples(boxes[:, 1], boxes[:, 3], t[:, 1], t[:, 3], tf.shape(image)[2], tf.shape(dy)[2])
    shape = tf.shape(dy)[:3]

    def at(y, x):
        places = (where[:, None, None], y[:, :, None], x[:, None, :])
        return tf.gather_nd(image, tf.stack([tf.broadcast_to(p, shape) for p in places], -1))

    (low_y, high_y, part_y, move_y, in_y), (low_x, high_x, part_x, move_x, in_x) = rows, columns
    nw, ne, sw, se = at(low_y, low_x), at(low_y, high_x), at(high_y, low_x), at(high_y, high_x)
    part_y, move_y, in_y = part_y[:, :, None, None], move_y[:, :, None, None], in_y[:, :, None, None]
    part_x, move_x, in_x = part_x[:, None, :, None], move_x[:, None, :, None], in_x[:, None, :, None]
    down = (1 - part_x) * (sw - nw) + part_x * (se - ne)
    right = (1 - part_y) * (ne - nw) + part_y * (se - sw)
    moved = down * move_y + right * move_x
    return [tf.where_v2(in_y & in_x, moved, 0.0), None, None, None]


def _samples(low, high, t_low, t_high, size, count):
    """Along one axis, for each box and sample: the pixels around it, its part of the way, its motion, if inside."""
    last = tf.cast(size - 1, tf.float32)
    steps = tf.cast(tf.range(count), tf.float32) / tf.cast(tf.maximum(count - 1, 1), tf.float32)
    steps = tf.cond(count > 1, lambda: steps, lambda: tf.fill([count], 0.5))  # one sample lies in the middle
    place = last * (low[:, None] + steps * (high - low)[:, None])
    move = last * (t_low[:, None] + steps * (t_high - t_low)[:, None])
    inside = (place >= 0) & (place <= last)
    before = tf.clip_by_value(tf.floor(place), 0.0, last)
    after = tf.clip_by_value(tf.ceil(place), 0.0, last)
    return tf.cast(before, tf.int32), tf.cast(after, tf.int32), place - before, move, inside


@composite("ImageProjectiveTransformV2", corrects=True)
def _project_v2(op, images, transforms, shape):
    return _project(op, images, transforms, shape, tf.zeros([]))


@composite("ImageProjectiveTransformV3", corrects=True)
def _project_v3(op, images, transforms, shape, fill):
    return _project(op, images, transforms, shape, fill)


def _project(op, images, transforms, shape, fill):
    """The op as the gather that it is; TensorFlow's gradient transforms dy back by the inverse, not by the transpose.

    A transform (a0 .. a7) takes the output pixel (x, y) to the input point ((a0 x + a1 y + a2) / k,
    (a3 x + a4 y + a5) / k) with k = a6 x + a7 y + 1.
    """
    batch, height, width = tf.unstack(tf.shape(images)[:3])
    transforms = tf.broadcast_to(transforms, tf.stack([batch, 8]))
    a = [column[:, None, None] for column in tf.unstack(transforms, 8, 1)]
    y = tf.cast(tf.range(shape[0]), tf.float32)[None, :, None]
    x = tf.cast(tf.range(shape[1]), tf.float32)[None, None, :]
    k = a[6] * x + a[7] * y + 1
    mode = op.get_attr("fill_mode").decode()
    column = _fold((a[0] * x + a[1] * y + a[2]) / k, width, mode)
    row = _fold((a[3] * x + a[4] * y + a[5]) / k, height, mode)
    fill = tf.cast(fill, images.dtype)

    def pixel(row, column):
        inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
        number = tf.broadcast_to(tf.range(batch)[:, None, None], tf.shape(row))
        place = tf.stack([number, tf.clip_by_value(row, 0, height - 1), tf.clip_by_value(column, 0, width - 1)], -1)
        return tf.where_v2(inside[..., None], tf.gather_nd(images, place), fill)

    if op.get_attr("interpolation").decode() == "NEAREST":
        found = pixel(_round(row), _round(column))
    else:
        found = _bilinear(pixel, row, column, images.dtype)
    return tf.where_v2(tf.equal(k, 0)[..., None], fill, found)


def _bilinear(pixel, row, column, dtype):
    top, left = tf.floor(row), tf.floor(column)
    i, j = tf.cast(top, tf.int32), tf.cast(left, tf.int32)
    down, right = tf.cast((row - top)[..., None], dtype), tf.cast((column - left)[..., None], dtype)
    up, rest = tf.cast((top + 1 - row)[..., None], dtype), tf.cast((left + 1 - column)[..., None], dtype)
    upper = rest * pixel(i, j) + right * pixel(i, j + 1)
    lower = rest * pixel(i + 1, j) + right * pixel(i + 1, j + 1)
    return up * upper + down * lower


def _round(place):
    """To the nearest whole number, halves away from zero."""
    return tf.cast(tf.sign(place) * tf.floor(tf.abs(place) + 0.5), tf.int32)


def _fold(place, size, mode):
    """What a place outside of the image stands for."""
    n = tf.cast(size, tf.float32)
    last = n - 1
    if mode == "CONSTANT":
        return place
    if mode == "REFLECT":  # dcba|abcd|dcba
        place = tf.math.floormod(place, 2 * n)
        place = tf.where_v2(place >= n, 2 * n - 1 - place, place)
    if mode == "WRAP":  # the kernel counts periods of n - 1 and moves by n
        periods = tf.floor(tf.abs(place) / tf.maximum(last, 1.0))
        folded = tf.where_v2(place < 0, place + n * (periods + 1), place - n * periods)
        place = tf.where_v2((place < 0) | (place > last), folded, place)
    return tf.clip_by_value(place, 0.0, last)


@composite("RGBToHSV", corrects=True)
def _rgb_to_hsv(op, images):
    return tf.stack(_hsv(images), -1)


def _hsv(images):
    """With the largest colour v and the spread c = v - min: s = c / v, h goes round with the largest (2.15 to 2.21).

    TensorFlow's gradient leaves colours out that are 0.
    """
    red, green, blue = tf.unstack(images, axis=-1)
    one, zero = tf.ones([], images.dtype), tf.zeros([], images.dtype)
    value = tf.reduce_max(images, -1)
    spread = value - tf.reduce_min(images, -1)
    grey = tf.equal(spread, 0)
    safe = tf.where_v2(grey, one, spread)
    by_blue = tf.where_v2(tf.equal(green, value), 2 + (blue - red) / safe, 4 + (red - green) / safe)
    turn = tf.where_v2(tf.equal(red, value), (green - blue) / safe, by_blue) / 6
    hue = tf.where_v2(grey, zero, tf.where_v2(turn < 0, turn + 1, turn))
    black = tf.equal(value, 0)
    saturation = tf.where_v2(black, zero, spread / tf.where_v2(black, one, value))
    return hue, saturation, value


@composite("HSVToRGB")
def _hsv_to_rgb(op, images):
    return _rgb(*tf.unstack(images, axis=-1))


def _rgb(h, s, v):
    """Each colour is v (1 - s + s w), w a trapezium in the hue."""
    six = 6 * h
    weights = [tf.abs(six - 3) - 1, 2 - tf.abs(six - 2), 2 - tf.abs(six - 4)]
    return tf.stack([v * (1 - s + s * tf.clip_by_value(w, 0.0, 1.0)) for w in weights], -1)


@composite("AdjustHue")
def _adjust_hue(op, images, delta):
    h, s, v = _hsv(images)
    return _rgb(tf.math.floormod(h + tf.cast(delta, h.dtype), 1.0), s, v)


@composite("AdjustSaturation")
def _adjust_saturation(op, images, scale):
    h, s, v = _hsv(images)
    return _rgb(h, tf.clip_by_value(s * tf.cast(scale, s.dtype), 0.0, 1.0), v)


@composite("AdjustContrastv2")
def _adjust_contrast(op, images, factor):
    mean = tf.reduce_mean(images, [-3, -2], keepdims=True)
    return (images - mean) * tf.cast(factor, images.dtype) + mean
