"""Neural network ops: convolutions, pooling, normalisation, losses, recurrent blocks, quantisation."""

import numpy as np
import tensorflow.compat.v1 as tf

from sweep.table import D, N, P, X, built, raw, row

_POOL = {"ksize": [1, 2, 2, 1], "strides": [1, 2, 1, 1], "padding": "SAME"}
_POOL3 = {"ksize": [1, 2, 2, 2, 1], "strides": [1, 1, 2, 1, 1], "padding": "VALID"}
_CONV = {"strides": [1, 2, 1, 1], "padding": "SAME"}
_CONV3 = {"strides": [1, 1, 1, 1, 1], "padding": "SAME"}

raw("AvgPool", value=N(1, 4, 4, 2), **_POOL)
raw("AvgPoolGrad", orig_input_shape=[1, 4, 4, 2], grad=N(1, 2, 4, 2), **_POOL)
raw("AvgPool3D", input=N(1, 3, 3, 3, 1), **_POOL3, dtype=tf.float32)
raw("AvgPool3DGrad", orig_input_shape=[1, 3, 3, 3, 1], grad=N(1, 2, 1, 2, 1), **_POOL3, dtype=tf.float32)
raw("MaxPool", input=D(1, 4, 4, 2), **_POOL)
raw("MaxPoolV2", input=D(1, 4, 4, 2), **_POOL)
raw("MaxPool3D", input=D(1, 3, 3, 3, 1), **_POOL3, dtype=tf.float32)
raw("MaxPoolWithArgmax", input=D(2, 4, 4, 2), **_POOL)
raw("MaxPoolWithArgmax", "include_batch_in_index", input=D(2, 4, 4, 2), **_POOL, include_batch_in_index=True)
for _overlapping in (False, True):
    for _op in ["FractionalMaxPool", "FractionalAvgPool"]:
        raw(_op, "overlapping" if _overlapping else "", value=D(2, 5, 6, 2), pooling_ratio=[1.0, 1.6, 1.5, 1.0],
            overlapping=_overlapping, deterministic=True, seed=3, seed2=4, of=[0])  # fmt: skip
raw("BiasAdd", value=N(2, 3), bias=N(3))
raw("BiasAddV1", value=N(2, 3), bias=N(3))
raw("BiasAddGrad", out_backprop=N(2, 2, 3))
raw("Conv2D", input=N(1, 4, 4, 2), filter=N(2, 2, 2, 3), **_CONV)
raw("Conv2DBackpropInput", input_sizes=[1, 4, 4, 2], filter=N(2, 2, 2, 3), out_backprop=N(1, 2, 4, 3), **_CONV)
raw("Conv2DBackpropFilter", input=N(1, 4, 4, 2), filter_sizes=[2, 2, 2, 3], out_backprop=N(1, 2, 4, 3), **_CONV)
raw("Conv3D", input=N(1, 3, 3, 3, 1), filter=N(2, 2, 2, 1, 2), **_CONV3)
raw("Conv3DBackpropInputV2", input_sizes=[1, 3, 3, 3, 1], filter=N(2, 2, 2, 1, 2), out_backprop=N(1, 3, 3, 3, 2),
    **_CONV3, options={"special": {"no columns": "TensorFlow leaves the output as the memory was"}})  # fmt: skip
raw("Conv3DBackpropFilterV2", input=N(1, 3, 3, 3, 1), filter_sizes=[2, 2, 2, 1, 2], out_backprop=N(1, 3, 3, 3, 2),
    **_CONV3)  # fmt: skip
_DEPTHWISE = {"strides": [1, 1, 1, 1], "padding": "SAME"}
raw("DepthwiseConv2dNative", input=N(1, 4, 4, 2), filter=N(2, 2, 2, 2), **_DEPTHWISE)
raw("DepthwiseConv2dNativeBackpropInput", input_sizes=[1, 4, 4, 2], filter=N(2, 2, 2, 2), out_backprop=N(1, 4, 4, 4),
    **_DEPTHWISE, options={"special": {"no columns": "TensorFlow leaves the output as the memory was"}})  # fmt: skip
raw("DepthwiseConv2dNativeBackpropFilter", input=N(1, 4, 4, 2), filter_sizes=[2, 2, 2, 2],
    out_backprop=N(1, 4, 4, 4), **_DEPTHWISE,
    options={"special": {"no rows": "TensorFlow leaves the output as the memory was"}})  # fmt: skip
for _pad in ("SAME", "VALID"):
    raw("Dilation2D", _pad, input=D(1, 5, 5, 2), filter=X(lambda rng, s: 0.05 * rng.uniform(0, 1, s), (2, 2, 2)),
        strides=[1, 2, 1, 1], rates=[1, 1, 2, 1], padding=_pad,
        options={"special": {"no rows": "a filter without rows"}})  # fmt: skip
raw("LRN", input=N(1, 2, 2, 6), depth_radius=2, bias=1.0, alpha=0.4, beta=0.6, dtype=tf.float32)
raw("Softmax", logits=N(2, 3))
raw("LogSoftmax", logits=N(2, 3))
raw("SoftmaxCrossEntropyWithLogits", features=N(2, 3), labels=np.float64([[0.2, 0.3, 0.5], [1, 0, 0]]))
raw("SoftmaxCrossEntropyWithLogits", "labels", features=N(2, 3),
    labels=X(lambda rng, s: np.array([[0.2, 0.3, 0.5], [0.7, 0.1, 0.2]]), (2, 3)), of=[0])  # fmt: skip
raw("SparseSoftmaxCrossEntropyWithLogits", features=N(2, 3), labels=[0, 2])
raw("BatchNormWithGlobalNormalization", t=N(2, 2, 2, 3), m=N(3), v=P(3), beta=N(3), gamma=P(3),
    variance_epsilon=1e-3, scale_after_normalization=True, dtype=tf.float32)  # fmt: skip
for _op in ["FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"]:
    raw(_op, "training", x=N(2, 2, 2, 3), scale=P(3), offset=N(3), mean=[], variance=[], epsilon=1e-2, of=[0],
        dtype=tf.float32)  # fmt: skip
    raw(_op, "inference", x=N(2, 2, 2, 3), scale=P(3), offset=N(3), mean=np.float32([0.1, 0.2, 0.3]),
        variance=np.float32([1, 2, 1]), epsilon=1e-2, is_training=False, of=[0], dtype=tf.float32)  # fmt: skip
raw("IsotonicRegression", input=D(2, 4), output_dtype=tf.float64,
    options={"special": {"no columns": "TensorFlow's gradient fails there"}})  # fmt: skip
raw("CTCLoss", dtype=tf.float32, inputs=N(5, 2, 4),
    labels_indices=np.int64([[0, 0], [0, 1], [1, 0]]), labels_values=[1, 2, 0],
    sequence_length=[5, 4], of=[0])  # fmt: skip
raw("CTCLossV2", inputs=N(5, 2, 4), labels_indices=np.int64([[0, 0], [0, 1], [1, 0]]), labels_values=[1, 2, 0],
    sequence_length=[5, 4], of=[0], dtype=tf.float32)  # fmt: skip


@built("CTCLoss", "ctc_loss_v2 on dense labels", coarse=True)
def _(rng):
    logits = tf.constant(rng.standard_normal((4, 2, 5)), tf.float32)
    return tf.nn.ctc_loss_v2(tf.constant([[1, 2], [3, 3]]), logits, [2, 1], [4, 4]), logits


def _block(op, steps, **options):
    units, inputs = 3, 2

    def build(rng):
        def draw(*shape):
            return tf.constant(0.5 * rng.standard_normal(shape), tf.float32)

        xs = {"x": draw(2, 2, inputs), "cs_prev": draw(2, units), "h_prev": draw(2, units),
                  "w": draw(inputs + units, 4 * units), "wci": draw(units), "wcf": draw(units), "wco": draw(units),
                  "b": draw(4 * units)}  # fmt: skip
        found = getattr(tf.raw_ops, op)(seq_len_max=np.int64(steps), use_peephole=True, cell_clip=0.0, **xs, **options)
        # behind its last step the op leaves all but cs and h as it finds them
        return list(found) if steps == 2 else [found.cs, found.h], list(xs.values())

    row(op, build, f"{steps} of 2 steps", coarse=True)


for _steps in (1, 2):
    _block("BlockLSTM", _steps, forget_bias=1.0)
    _block("BlockLSTMV2", _steps)

_QUANT = {"check": "adjoint"}
raw("FakeQuantWithMinMaxArgs", inputs=N(2, 3), min=-1.0, max=1.0, dtype=tf.float32, options=_QUANT)
raw("FakeQuantWithMinMaxVars", inputs=N(2, 3), min=X(lambda rng, s: -P(*s).draw(rng, s), ()), max=P(),
    dtype=tf.float32, options=_QUANT)  # fmt: skip
raw("FakeQuantWithMinMaxVarsPerChannel", inputs=N(2, 3), min=X(lambda rng, s: -P(*s).draw(rng, s), (3,)), max=P(3),
    dtype=tf.float32, options=_QUANT)  # fmt: skip
raw("QuantizeAndDequantize", input=N(2, 3), input_min=-1, input_max=1, range_given=True, options=_QUANT)
raw("QuantizeAndDequantizeV2", input=N(2, 3), input_min=np.float64(-1), input_max=np.float64(1), range_given=True,
    options=_QUANT)  # fmt: skip
raw("QuantizeAndDequantizeV3", input=N(2, 3), input_min=np.float64(-1), input_max=np.float64(1), num_bits=8,
    range_given=True, options=_QUANT)  # fmt: skip
raw("QuantizeAndDequantizeV4", input=N(2, 3), input_min=np.float64(-1), input_max=np.float64(1), range_given=True,
    options=_QUANT)  # fmt: skip
raw("QuantizeAndDequantizeV4Grad", gradients=N(2, 3), input=np.float64([[0.1, 2, -3], [0, 0, 0.5]]),
    input_min=np.float64(-1), input_max=np.float64(1))  # fmt: skip


def _pool_gradient(op, orig, grad, options, **more):
    """A pooling gradient as a forward op: its derivative with respect to the incoming gradient."""
    forward = {"MaxPoolGrad": "MaxPool", "MaxPoolGradV2": "MaxPool", "MaxPool3DGrad": "MaxPool3D",
               "MaxPoolGradGrad": "MaxPool", "MaxPool3DGradGrad": "MaxPool3D"}[op]  # fmt: skip

    def build(rng):
        x = D(*orig)(rng, tf.float32 if "3D" in op else tf.float64)
        y = getattr(tf.raw_ops, forward)(input=x, **options)
        dy = tf.cast(tf.constant(rng.standard_normal(grad)), x.dtype)
        return getattr(tf.raw_ops, op)(orig_input=x, orig_output=y, grad=dy, **options), dy

    row(op, build, coarse="3D" in op)


_pool_gradient("MaxPoolGrad", (1, 4, 4, 2), (1, 2, 4, 2), _POOL)
_pool_gradient("MaxPoolGradV2", (1, 4, 4, 2), (1, 2, 4, 2), _POOL)
_pool_gradient("MaxPoolGradGrad", (1, 4, 4, 2), (1, 4, 4, 2), _POOL)
_pool_gradient("MaxPool3DGrad", (1, 3, 3, 3, 1), (1, 2, 1, 2, 1), _POOL3)
_pool_gradient("MaxPool3DGradGrad", (1, 3, 3, 3, 1), (1, 3, 3, 3, 1), _POOL3)


def _batch_norm_gradient(op):
    def build(rng):
        x, scale = N(2, 2, 2, 3)(rng, tf.float32), P(3)(rng, tf.float32)
        dy = N(2, 2, 2, 3)(rng, tf.float32)
        forward = getattr(tf.raw_ops, op.replace("Grad", ""))
        found = forward(x=x, scale=scale, offset=tf.zeros(3), mean=[], variance=[], epsilon=1e-2)
        extra = {"reserve_space_3": found[5]} if op.endswith("V3") else {}
        grads = getattr(tf.raw_ops, op)(y_backprop=dy, x=x, scale=scale, reserve_space_1=found[3],
                                        reserve_space_2=found[4], epsilon=1e-2, **extra)  # fmt: skip
        return [grads[0], grads[1], grads[2]], [dy, x, scale]

    row(op, build, coarse=True)


for _op in ["FusedBatchNormGrad", "FusedBatchNormGradV2", "FusedBatchNormGradV3"]:
    _batch_norm_gradient(_op)
