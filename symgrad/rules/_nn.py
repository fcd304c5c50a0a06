"""Rules of neural network ops: convolutions, pooling, normalisation, quantisation."""

import tensorflow.compat.v1 as tf

from .. import _tf
from ._composites import composite
from ._registry import transpose
from ._rows import linear, multilinear

raw = tf.raw_ops

linear("BiasAdd", "BiasAddGrad", "BiasAddV1")
linear("AvgPool", "AvgPool3D", moves=0)
linear("AvgPool3DGrad", "AvgPoolGrad", "FractionalAvgPoolGrad", moves=1)
linear("MaxPool3DGrad", "MaxPool3DGradGrad", "MaxPoolGrad", "MaxPoolGradGrad", "MaxPoolGradGradV2", moves=2)
linear("FractionalMaxPoolGrad", "MaxPoolGradV2", moves=2)
linear("MaxPoolGradWithArgmax", moves=1)
linear("LRNGrad", moves=0)
linear("Dilation2DBackpropFilter", "Dilation2DBackpropInput", moves=2)

multilinear("Conv2D", "Conv3D", "DepthwiseConv2dNative", moves=(0, 1))
multilinear("Conv2DBackpropInput", "Conv3DBackpropInputV2", "DepthwiseConv2dNativeBackpropInput", moves=(1, 2))
multilinear("Conv2DBackpropFilter", "Conv3DBackpropFilterV2", "DepthwiseConv2dNativeBackpropFilter", moves=(0, 2))


@transpose("SoftmaxCrossEntropyWithLogits", corrects=True)
def _softmax_cross_entropy(op, d_loss, d_backprop):
    """The second output, softmax - labels, depends on the labels too, which TensorFlow leaves out.

    Logits and labels broadcast; TensorFlow gives both gradients in the common shape.
    """
    logits, labels = op.inputs
    if logits.shape.is_fully_defined() and logits.shape == labels.shape:
        return _of_cross_entropy(op, logits, labels, d_loss, d_backprop)
    shape = tf.shape(op.outputs[1])
    spread = tf.broadcast_to(logits, shape), tf.broadcast_to(labels, shape)
    by_logits, by_labels = _of_cross_entropy(op, *spread, d_loss, d_backprop)
    return _summed_to(by_logits, logits), _summed_to(by_labels, labels)


def _summed_to(gradient, like):
    """What broadcasting spread comes together again."""
    axes = tf.reshape(tf.where_v2(tf.not_equal(tf.shape(like), tf.shape(gradient))), [-1])
    summed = tf.reduce_sum(gradient, axes, keepdims=True)
    summed.set_shape(like.shape)
    return summed


def _of_cross_entropy(op, logits, labels, d_loss, d_backprop):
    """By the logits softmax times the sum of the labels, which TensorFlow takes to be 1, less the labels."""
    less = tf.reduce_sum(labels, 1, keepdims=True) - 1
    by_logits = d_loss[:, tf.newaxis] * (op.outputs[1] + less * (op.outputs[1] + labels))
    by_labels = -d_loss[:, tf.newaxis] * tf.nn.log_softmax(logits)
    if getattr(d_backprop, "_is_zeros_tensor", False):
        return by_logits, by_labels
    softmax = tf.nn.softmax(logits)
    mean = tf.reduce_sum(d_backprop * softmax, 1, keepdims=True)
    return by_logits + (d_backprop - mean) * softmax, by_labels - d_backprop


@transpose("LRNGrad", answers=(0,))
def _lrn_grad(op, t):
    """With N = bias + alpha sum x^2 over the window: t N^-b - 2 a b x N^(-b-1) sum x t."""
    _, x, _ = op.inputs
    radius, bias, a, b = (op.get_attr(name) for name in ("depth_radius", "bias", "alpha", "beta"))
    place = tf.range(tf.shape(x)[-1])
    band = tf.cast(tf.abs(place[:, None] - place[None, :]) <= radius, x.dtype)
    norm = bias + a * tf.tensordot(x * x, band, 1)
    return [t * norm**-b - 2 * a * b * x * norm ** (-b - 1) * tf.tensordot(x * t, band, 1), None, None]


@transpose("MaxPoolGradWithArgmax", answers=(1,), flat=(0,))
def _max_pool_with_argmax_grad(op, t):
    """The elements of t at the maxima."""
    x, _, places = op.inputs
    if not op.get_attr("include_batch_in_index"):
        sizes = tf.shape(x, out_type=places.dtype)
        places += tf.reshape(tf.range(sizes[0]) * tf.reduce_prod(sizes[1:]), [-1, 1, 1, 1])
    return [None, tf.gather(tf.reshape(t, [-1]), places), None]


def _keeps_size(op):
    """True if the result of a pool may be as large as what it reads."""
    widths = op.get_attr("ksize") if len(op.inputs) == 3 else tf.get_static_value(op.inputs[3])
    return op.get_attr("padding") != b"VALID" or widths is None or max(widths) == 1


@transpose("MaxPoolGrad", "MaxPoolGradV2", "MaxPool3DGrad", answers=(2,), flat=(0, 1), when=_keeps_size, corrects=True)
def _max_pool_grad(op, t):
    """The elements of t at the maxima.

    TensorFlow's kernels for that (2.15 to 2.21) begin with zeros in the memory of t if the result is as large and
    nobody else reads t: all is zero then. So the pool is made one that takes padded numbers and leaves fewer of them.
    """
    x, y = op.inputs[:2]
    given = len(op.inputs) > 3
    widths, strides = op.inputs[3:5] if given else (op.get_attr("ksize"), op.get_attr("strides"))
    if not given and max(widths) == 1:
        return [None, None, tf.strided_slice(t, [0] * len(widths), tf.shape(t), strides)]
    pads = _pads(op, tf.shape(x), tf.stack(widths), tf.stack(strides))
    found = getattr(raw, op.type + "Grad" if not given else "MaxPoolGradGradV2")(
        orig_input=tf.pad(x, pads, constant_values=x.dtype.min), orig_output=y, grad=tf.pad(t, pads),
        ksize=widths, strides=strides, padding="VALID", data_format=op.get_attr("data_format").decode(),
    )  # fmt: skip
    return [None, None, found] + [None] * (len(op.inputs) - 3)


def _pads(op, sizes, widths, strides):
    """What a pool pads each dimension by, before and behind."""
    if op.get_attr("padding") == b"EXPLICIT":
        return tf.reshape(op.get_attr("explicit_paddings"), [-1, 2])
    results = -(-sizes // strides) if op.get_attr("padding") == b"SAME" else (sizes - widths) // strides + 1
    total = tf.maximum((results - 1) * strides + widths - sizes, 0)
    return tf.stack([total // 2, total - total // 2], 1)


@transpose("MaxPoolGradGradV2", answers=(2,), flat=(0, 1))
def _max_pool_grad_grad(op, t):
    x, y, _, ksize, strides = op.inputs
    options = {"padding": op.get_attr("padding").decode(), "data_format": op.get_attr("data_format").decode()}
    found = raw.MaxPoolGradV2(orig_input=x, orig_output=y, grad=t, ksize=ksize, strides=strides, **options)
    return [None, None, found, None, None]


@transpose("FractionalMaxPoolGrad", answers=(2,), flat=(0, 1))
def _fractional_max_pool_grad(op, t):
    """The elements of t at the maxima, which the op itself shows: it carries the number of each cell to its maximum.

    Only neighbouring cells may share a maximum, so cells of equal parity are carried together.
    """
    x, y, dy, rows, columns = op.inputs
    numbers = tf.reshape(tf.range(tf.size(y)), tf.shape(y)) + 1
    parity = 2 * (tf.range(tf.shape(y)[1]) % 2)[:, None] + (tf.range(tf.shape(y)[2]) % 2)[None, :]
    found = tf.zeros([tf.size(y)], t.dtype)
    for one in range(4) if op.get_attr("overlapping") else [None]:
        chosen = numbers if one is None else tf.where_v2(tf.equal(parity, one)[None, :, :, None], numbers, 0)
        carried = raw.FractionalMaxPoolGrad(
            orig_input=tf.cast(x, tf.float64), orig_output=tf.cast(y, tf.float64),
            out_backprop=tf.cast(chosen, tf.float64), row_pooling_sequence=rows, col_pooling_sequence=columns,
            overlapping=op.get_attr("overlapping"),
        )  # fmt: skip
        cells = tf.reshape(tf.cast(carried, tf.int32), [-1]) - 1  # -1, no maximum, is dropped
        found += tf.math.unsorted_segment_sum(tf.reshape(t, [-1]), cells, tf.size(y))
    return [None, None, tf.reshape(found, tf.shape(dy)), None, None]


@transpose("FractionalAvgPoolGrad", answers=(1,))
def _fractional_average_pool_grad(op, t):
    """The averages of t over the same cells."""
    shape, _, rows, columns = op.inputs

    def averages(bounds, size):
        """One row per cell, 1 / (its length) where it is."""
        bounds = tf.placeholder_with_default(bounds, [None])  # their static shape is one too short (2.15 to 2.21)
        place, size = tf.range(size), tf.cast(size, bounds.dtype)
        ends = bounds[1:] + (1 if op.get_attr("overlapping") else 0)
        ends = tf.minimum(ends, size)
        inside = (place >= bounds[:-1, None]) & (place < ends[:, None])
        return tf.cast(inside, t.dtype) / tf.cast(ends - bounds[:-1], t.dtype)[:, None]

    found = tf.einsum("ip,jq,bpqc->bijc", averages(rows, shape[1]), averages(columns, shape[2]), t)
    return [None, found, None, None]


@transpose("Dilation2DBackpropInput", answers=(2,), flat=(0, 1))
def _dilation_input(op, t):
    return [None, None, _at_maxima(op, _patches(op, t, 0.0))]


@transpose("Dilation2DBackpropFilter", answers=(2,), flat=(0, 1))
def _dilation_filter(op, t):
    return [None, None, _at_maxima(op, tf.reshape(t, tf.stack([-1, tf.shape(t)[2]])))]


def _at_maxima(op, values):
    """The one of `values` in each window whose x + filter is the largest, the first of equal ones."""
    x, kernel, _ = op.inputs
    size = tf.shape(kernel)
    sums = _patches(op, x, x.dtype.min) + tf.reshape(kernel, tf.stack([-1, size[2]]))
    chosen = tf.one_hot(tf.argmax(sums, 3), size[0] * size[1], axis=3, dtype=values.dtype)
    return tf.reduce_sum(chosen * values, 3)


def _patches(op, images, fill):
    """The windows as [batch, rows, columns, places in the window, channels]."""
    kernel = op.inputs[1]
    strides, rates = op.get_attr("strides"), op.get_attr("rates")
    height, width, channels = kernel.shape.as_list()
    if op.get_attr("padding") == b"SAME":
        reach = tf.constant([(height - 1) * rates[1] + 1, (width - 1) * rates[2] + 1])
        step, size = tf.constant(strides[1:3]), tf.shape(images)[1:3]
        missing = tf.maximum((-(-size // step) - 1) * step + reach - size, 0)
        paddings = tf.stack([missing // 2, missing - missing // 2], 1)
        paddings = tf.concat([[[0, 0]], paddings, [[0, 0]]], 0)
        images = tf.pad(images, paddings, constant_values=tf.constant(fill, images.dtype))
    found = tf.image.extract_image_patches(images, [1, height, width, 1], strides, rates, "VALID")
    return tf.reshape(found, tf.concat([tf.shape(found)[:3], [height * width, channels]], 0))


_FAKE_QUANT = ("num_bits", "narrow_range")


@transpose("FakeQuantWithMinMaxArgsGradient", answers=(0,), flat=(1,))
def _fake_quant_args(op, t):
    """The op is a mask in x, so it is its own transpose."""
    options = {name: op.get_attr(name) for name in ("min", "max", *_FAKE_QUANT)}
    return [raw.FakeQuantWithMinMaxArgsGradient(gradients=t, inputs=op.inputs[1], **options), None]


@transpose("FakeQuantWithMinMaxVarsGradient", "FakeQuantWithMinMaxVarsPerChannelGradient", answers=(0,), flat=(1, 2, 3))
def _fake_quant_vars(op, tx, tlow, thigh):
    """dx = dy inside of the range; dmin and dmax are sums of dy below and above of it."""
    dy, x, low, high = op.inputs
    options = {name: op.get_attr(name) for name in _FAKE_QUANT}
    again = getattr(raw, op.type)
    inside = again(gradients=tf.ones_like(dy), inputs=x, min=low, max=high, **options)[0]
    below = tf.cast(x < (low + high) / 2, x.dtype)
    return [inside * tx + (1 - inside) * (below * tlow + (1 - below) * thigh), None, None, None]


@transpose("QuantizeAndDequantizeV4Grad", answers=(0,), flat=(1, 2, 3))
def _quantize_grad(op, tx, tlow, thigh):
    """A mask in x; the gradients of the bounds are zeros. TensorFlow's own rule takes too few arguments."""
    dy, x, low, high = op.inputs
    inside = raw.QuantizeAndDequantizeV4Grad(
        gradients=tf.ones_like(dy), input=x, input_min=low, input_max=high, axis=op.get_attr("axis")
    )[0]
    return [inside * tx, None, None, None]


@composite("BlockLSTM")
def _block_lstm(op, *inputs):
    return _lstm(op, "icfo", op.get_attr("forget_bias"), *inputs)


@composite("BlockLSTMV2")
def _block_lstm_v2(op, *inputs):
    return _lstm(op, "ifco", 0.0, *inputs)


def _lstm(op, layout, forget_bias, steps, x, cs, h, w, wci, wcf, wco, b):
    """The recurrence step by step; TensorFlow's gradient hears the outputs cs and h only.

    Returns:
      i, cs, f, o, ci, co, h for all steps; zeros behind `steps`.
    """
    clip, peephole = op.get_attr("cell_clip"), 1.0 if op.get_attr("use_peephole") else 0.0
    wci, wcf, wco = (peephole * p for p in (wci, wcf, wco))

    def step(x, cs, h):
        parts = dict(zip(layout, tf.split(tf.concat([x, h], 1) @ w + b, 4, 1), strict=True))
        i = tf.sigmoid(parts["i"] + cs * wci)
        f = tf.sigmoid(parts["f"] + forget_bias + cs * wcf)
        ci = tf.tanh(parts["c"])
        cs = ci * i + cs * f
        if clip > 0:
            cs = tf.clip_by_value(cs, -clip, clip)
        o = tf.sigmoid(parts["o"] + cs * wco)
        co = tf.tanh(cs)
        return i, cs, f, o, ci, co, co * o

    return _unroll(step, tf.cast(steps, tf.int32), x, cs, h)


def _unroll(step, steps, x, cs, h):
    shape, length = tf.shape(cs), tf.shape(x)[0]
    lists = [raw.TensorListReserve(element_shape=shape, num_elements=length, element_dtype=x.dtype) for _ in range(7)]

    def body(t, cs, h, *lists):
        found = step(tf.gather(x, t), cs, h)
        written = [raw.TensorListSetItem(input_handle=k, index=t, item=v) for k, v in zip(lists, found, strict=True)]
        return t + 1, found[1], found[6], *written

    _, _, _, *lists = _tf.while_loop_v2(lambda t, *_: t < steps, body, [tf.constant(0), cs, h, *lists])
    return [raw.TensorListStack(input_handle=k, element_shape=shape, element_dtype=x.dtype) for k in lists]
