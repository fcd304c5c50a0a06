"""General lists of what a step of a random graph may compute: expressions in `a`, `b` and `c`, the tensors before it.

`{x|y}` is a choice, `{axis}` an axis of `a`, `{n}` and `{m}` the first and the last size of `a`. An expression that
does not fit its operands is drawn again, so the lists need not say what fits.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Group:
    """Expressions that take the same operands.

    Attributes:
      expressions: the choices.
      numbers: "real", "complex" or "both": the dtypes of the operands.
      want: the shape that `a` is brought to: "any", "axes" (at least one), "full" (and not empty), "square", "image".
    """

    expressions: tuple[str, ...]
    numbers: str = "both"
    want: str = "any"


def group(text, **options):
    return Group(tuple(line.strip() for line in text.strip().splitlines() if line.strip()), **options)


GROUPS = {
    "elementwise": group("""
        tf.sin(a)
        tf.tanh(a)
        tf.exp(-tf.square(a))
        tf.negative(a)
        tf.square(a)
        tf.identity(a)
        tf.cosh(a)
        tf.math.sinh(a) / 2
        tf.math.reciprocal(3 + tf.cos(a))
        tf.sqrt(3 + a)
        tf.math.rsqrt(3 + a)
        tf.log(4 + a)
        tf.math.log1p(tf.square(a))
        tf.math.expm1(a)
        tf.atan(a * 0.3)
        tf.math.asinh(a)
        tf.sigmoid(a)
        tf.math.conj(a)
        tf.abs(a)
        tf.sign(a)
        tf.sign(a) * a
        tf.stop_gradient(a) * a
        a ** {2|3|0}
        tf.math.l2_normalize(a)
        tf.clip_by_norm(a, {0.5|100.0})
    """),
    "real elementwise": group(
        """
        tf.math.erf(a)
        tf.math.erfc(a)
        tf.lgamma(2 + tf.square(a))
        tf.digamma(2 + tf.square(a))
        tf.nn.softplus(a)
        tf.nn.softsign(a)
        tf.nn.elu(a)
        tf.nn.selu(a)
        tf.nn.relu(a)
        tf.nn.relu6(3 * a)
        tf.nn.leaky_relu(a)
        tf.nn.swish(a)
        tf.nn.gelu(a)
        tf.floor(a) + a
        tf.acos(0.9 * tf.tanh(a))
        tf.math.ndtri(tf.sigmoid(a))
        tf.math.erfinv(0.9 * tf.tanh(a))
        tf.math.bessel_i0e(a)
        tf.math.bessel_i1e(a)
        tf.clip_by_value(a, {-0.5|0.0}, {0.7|1.0})
        tf.math.igamma(1.5 + tf.square(a), 0.5 + tf.square(a))
        tf.complex(a, tf.sin(a))
        tf.cast(a, tf.complex128)
        tf.math.polygamma(1.0 + 0 * a, 2 + tf.square(a))
        tf.cast(tf.cast(a, tf.float64), a.dtype)
        tf.sqrt(a * a)
        tf.math.xlogy(a, 2 + a)
        tf.math.divide_no_nan(a, a)
        tf.nn.l2_loss(a)
        tf.nn.dropout(a, rate=0.0)
    """,
        numbers="real",
    ),
    "complex elementwise": group(
        """
        tf.math.real(a)
        tf.math.imag(a)
        tf.abs(a)
        tf.math.angle(2 + a)
        tf.math.conj(a) * a
        tf.cast(tf.abs(a), a.dtype) * a
    """,
        numbers="complex",
    ),
    "two": group("""
        a + b
        a - b
        a * b
        a * b
        a / (3 + tf.cos(b))
        tf.math.squared_difference(a, b)
        tf.raw_ops.SquaredDifference(x=a, y=b)
        tf.math.divide_no_nan(a, b)
        tf.math.multiply_no_nan(a, b)
        tf.where_v2({True|False}, a, b)
        tf.add_n([a, b])
        tf.broadcast_to(a, tf.broadcast_dynamic_shape(tf.shape(a), tf.shape(b)))
        a + tf.reduce_sum(b)
        tf.concat([a, b], 0)
        tf.stack([a, b])
        tf.matmul(a, b)
        tf.matmul(a, b, {transpose_a|transpose_b|adjoint_a|adjoint_b}=True)
        tf.tensordot(a, b, {0|1})
        tf.einsum("i,j->ij", tf.reshape(a, [-1]), tf.reshape(b, [-1]))
    """),
    "two real": group(
        """
        tf.maximum(a, b)
        tf.minimum(a, b)
        tf.atan2(a, 2 + tf.cos(b))
        tf.pow(1.5 + tf.sin(a), b)
        tf.where_v2(a > b, a, b * 2)
        tf.math.xlogy(a, 2 + tf.sin(b))
        tf.math.xdivy(a, 2 + tf.sin(b))
        tf.math.xlog1py(a, tf.square(b))
        tf.math.floormod(a, 2 + tf.sin(b))
        tf.math.mod(a, 2 + tf.sin(b))
        tf.complex(a, b)
        tf.math.betainc(1.5 + 0 * a, 1.5 + 0 * a, tf.sigmoid(b))
        tf.nn.sigmoid_cross_entropy_with_logits(labels=tf.sigmoid(a), logits=b)
        tf.math.zeta(3 + tf.square(a), 2 + tf.square(b))
        tf.math.nextafter(a, b)
    """,
        numbers="real",
    ),
    "reductions": group(
        """
        tf.reduce_sum(a, {axis}, keepdims={True|False})
        tf.reduce_mean(a, {axis}, keepdims={True|False})
        tf.reduce_prod(a, {axis}, keepdims={True|False})
        tf.reduce_prod(a)
        tf.reduce_sum(a)
        tf.reduce_euclidean_norm(a, {axis})
        tf.raw_ops.EuclideanNorm(input=a, axis={axis})
        tf.norm(a, axis={axis})
        tf.cumsum(a, {axis}, exclusive={True|False}, reverse={True|False})
        tf.cumprod(a, {axis}, exclusive={True|False}, reverse={True|False})
        tf.nn.moments(a, [{axis}])
    """,
        want="axes",
    ),
    "real reductions": group(
        """
        tf.reduce_max(a, {axis}, keepdims={True|False})
        tf.reduce_min(a, {axis})
        tf.reduce_logsumexp(a, {axis})
        tf.math.cumulative_logsumexp(a, {axis}, exclusive={True|False}, reverse={True|False})
        tf.math.reduce_std(a, {axis})
        tf.math.reduce_variance(a, {axis})
        tf.sort(a)
        tf.math.top_k(a, {1|2})[0]
        tf.nn.softmax(a)
        tf.nn.log_softmax(a)
    """,
        numbers="real",
        want="axes",
    ),
    "arrangements": group(
        """
        tf.reshape(a, [-1])
        tf.transpose(a)
        tf.reverse(a, [{axis}])
        tf.gather(a, [0, 0], axis={axis})
        tf.gather(a, tf.zeros([0], tf.int32), axis={axis})
        tf.gather(a, {n} - 1)
        tf.gather_nd(a, [[0], [{n} - 1], [0]])
        tf.nn.embedding_lookup(a, [[0, 0]])
        tf.expand_dims(a, {axis})
        tf.tile(a, [2] + [1] * (a.shape.rank - 1))
        tf.roll(a, 1, {axis})
        tf.repeat(a, 2, {axis})
        a[::-1]
        a[:1]
        a[..., :1]
        a[{n}:]
        a[tf.newaxis]
        tf.pad(a, [[1, 0]] * a.shape.rank, "{CONSTANT|REFLECT|SYMMETRIC}")
        tf.split(a, [1, {n} - 1])
        tf.unstack(a)
        tf.meshgrid(tf.reshape(a, [-1]), tf.reshape(a, [-1]))
        tf.boolean_mask(a, [True] + [False] * ({n} - 1))
        tf.dynamic_stitch([[0, 1], [1, 2]], [a[:2], a[-2:]])
        tf.dynamic_partition(a, [0] + [1] * ({n} - 1), 2)
        tf.scatter_nd([[0], [2], [0]], a[:3], [3] + [{m}] * (a.shape.rank - 1))
        tf.tensor_scatter_nd_add(a, [[0], [0]], tf.sin(a[:2]))
        tf.tensor_scatter_nd_update(a, [[0]], tf.sin(a[-1:]))
        tf.tensor_scatter_nd_update(a, [[0], [0]], tf.sin(a[:2]))
        tf.tensor_scatter_nd_sub(a, [[0], [0]], tf.sin(a[:2]))
        tf.reverse_sequence(a, [1] * {n}, seq_axis=1, batch_axis=0)
        tf.sequence_mask(1, {n}, a.dtype) * tf.transpose(a)
        tf.unstack(a, axis={axis})
        tf.concat([a, tf.sin(a), a[:0]], {axis})
        tf.IndexedSlices(a[:1], [0], tf.shape(a)) + a
    """,
        want="axes",
    ),
    "segments": group(
        """
        tf.math.segment_{sum|mean|prod}(a, [0] + [2] * ({n} - 1))
        tf.math.segment_{sum|prod}(a, [0] * {n})
        tf.math.unsorted_segment_{sum|mean|prod|sqrt_n}(a, [0] + [2] * ({n} - 1), {2|4})
        tf.sparse.segment_{sum|mean|sqrt_n}(a, [0, {n} - 1, {n} - 1], [0, 0, 2])
        tf.sparse.segment_{sum|mean|sqrt_n}(a, [0, {n} - 1], [0, 2], num_segments=4)
        tf.sparse_tensor_to_dense(sparse([[0, 0], [1, 1]], tf.reshape(a, [-1])[:2], [2, 2]))
        tf.sparse.sparse_dense_matmul(sparse([[0, 0], [1, 0]], tf.reshape(a, [-1])[:2], [2, {n}]), a)
        tf.sparse.reduce_sum(sparse([[0, 0], [1, 1]], tf.reshape(a, [-1])[:2], [2, 2]), 0)
    """,
        want="axes",
    ),
    "real segments": group(
        """
        tf.math.segment_{max|min}(a, [0] + [2] * ({n} - 1))
        tf.math.segment_{max|min}(a, [0] * {n})
        tf.math.unsorted_segment_{max|min}(a, [0] + [2] * ({n} - 1), {2|4})
        tf.tensor_scatter_nd_{max|min}(a, [[0], [0]], tf.sin(a[:2]))
        tf.nn.safe_embedding_lookup_sparse(a, sparse([[0, 0], [2, 0]], [0, {n} - 1], [3, 2]), None, "{sum|mean|sqrtn}")
        tf.nn.embedding_lookup_sparse(a, sparse([[0, 0], [1, 0]], [0, {n} - 1], [3, 2]), None, "{sum|mean|sqrtn}")
        tf.sparse.softmax(sparse([[0, 0], [1, 1]], tf.reshape(a, [-1])[:2], [2, 2])).values
    """,
        numbers="real",
        want="axes",
    ),
    "matrices": group(
        """
        tf.linalg.det(a)
        tf.linalg.slogdet(a)
        tf.linalg.inv(a + 3 * tf.eye({n}, dtype=a.dtype))
        tf.linalg.solve(a + 3 * tf.eye({n}, dtype=a.dtype), a, adjoint={True|False})
        tf.linalg.triangular_solve(a + 3 * tf.eye({n}, dtype=a.dtype), a, lower={True|False}, adjoint={True|False})
        tf.linalg.cholesky(tf.matmul(a, a, adjoint_b=True) + 2 * tf.eye({n}, dtype=a.dtype))
        tf.linalg.logdet(tf.matmul(a, a, adjoint_b=True) + 2 * tf.eye({n}, dtype=a.dtype))
        tf.linalg.expm(a * 0.3)
        tf.linalg.sqrtm(a + 4 * tf.eye({n}, dtype=a.dtype))
        tf.linalg.diag_part(a)
        tf.linalg.diag(a, k={0|1})
        tf.linalg.set_diag(a, tf.linalg.diag_part(tf.sin(a)))
        tf.linalg.band_part(a, {0|1|-1}, {0|-1})
        tf.linalg.trace(a)
        tf.linalg.matvec(a, a[0])
        tf.linalg.svd(a + tf.linalg.diag(tf.range({n})), compute_uv=False)
        tf.linalg.svd(a, compute_uv=False)
        tf.linalg.eigvalsh(a + tf.linalg.adjoint(a))
        tf.linalg.lstsq(a + 3 * tf.eye({n}, dtype=a.dtype), a)
        tf.linalg.tridiagonal_solve(a + 3 * tf.eye({n}, dtype=a.dtype), a[0], diagonals_format="matrix")
        tf.raw_ops.TridiagonalMatMul(superdiag=a[:1], maindiag=a[:1] + 2, subdiag=a[-1:], rhs=a)
        tf.matmul(a, a)
        tf.einsum("ij,kj->ki", a, a)
        tf.linalg.adjoint(a)
        csr_product(a, tf.sin(a))
        tf.linalg.eigh(a + tf.linalg.adjoint(a))[0]
    """,
        want="square",
    ),
    "real matrices": group(
        """
        tf.linalg.qr(a + 3 * tf.eye({n}, dtype=a.dtype))
        tf.linalg.eigh(a + tf.transpose(a) + tf.linalg.diag(tf.range({n}, dtype=a.dtype)))
        tf.linalg.svd(a + tf.linalg.diag(tf.range({n}, dtype=a.dtype)))
        tf.nn.softmax_cross_entropy_with_logits_v2(labels=tf.nn.softmax(a), logits=a[:1])
        tf.raw_ops.SoftmaxCrossEntropyWithLogits(features=a, labels=tf.nn.softmax(a[:1]))[0]
        tf.raw_ops.SoftmaxCrossEntropyWithLogits(features=a, labels=tf.nn.softmax(a))[0]
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[0] * {n}, logits=a)
        tf.nn.xw_plus_b(a, a, a[0])
        tf.nn.bias_add(a, a[0])
        tf.linalg.pinv(a + 3 * tf.eye({n}, dtype=a.dtype))
        tf.nn.ctc_loss(sparse([[0, 0]], [0], [1, 1]), tf.cast(a[:, None], tf.float32), [{n}])
        tf.nn.ctc_loss_v2([[1]], tf.cast(a[:, None], tf.float32), [1], [{n}])
    """,
        numbers="real",
        want="square",
    ),
    "images": group(
        """
        tf.nn.conv2d(a, tf.ones([2, 1, {m}, 2], a.dtype) * tf.sin(a[0, 0, 0, 0]), {1|2}, "{SAME|VALID}")
        tf.nn.conv2d(a, tf.ones([2, 1, {m}, 2], a.dtype) * tf.sin(a[0, 0, 0, 0]), 1, [[0, 0], [1, 0], [2, 1], [0, 0]])
        tf.nn.conv2d_transpose(a, tf.ones([2, 2, 1, {m}], a.dtype), [1] + [2 * d for d in a.shape[1:3]] + [1], 2)
        tf.nn.depthwise_conv2d(a, tf.ones([2, 1, {m}, 2], a.dtype), [1, 1, 1, 1], "{SAME|VALID}")
        tf.nn.max_pool(a, 2, 1, "{SAME|VALID}")
        tf.nn.avg_pool(a, 2, 1, "{SAME|VALID}")
        tf.image.resize(a, [3, 4], "{bilinear|nearest|bicubic|area}")
        tf.nn.space_to_batch(a, [[0, 0], [0, 0]], 1)
        tf.image.extract_patches(a, [1, 2, 2, 1], [1, 1, 1, 1], [1, 1, 1, 1], "VALID")
        tf.nn.fused_batch_norm(a, tf.ones([{m}]), tf.zeros([{m}]), is_training=True)[0]
        tf.nn.fused_batch_norm(a, tf.ones([{m}]), tf.zeros([{m}]), [0.1] * {m}, [2.0] * {m}, is_training=False)[0]
        tf.nn.lrn(a, 2, alpha=1.0, beta=0.75)
        tf.nn.erosion2d(a, tf.ones([2, 2, {m}], a.dtype), [1, 1, 1, 1], [1, 1, 1, 1], "VALID")
        tf.nn.fractional_max_pool(a, [1.0, 1.4, 1.4, 1.0], seed=1)[0]
        tf.image.adjust_contrast(a, 1.5)
        tf.image.adjust_hue(tf.sigmoid(tf.concat([a, a, a], -1)[..., :3]), 0.1)
        tf.image.flip_left_right(a)
        tf.quantization.fake_quant_with_min_max_args(a)
        tf.nn.depth_to_space(tf.concat([a] * 4, -1), 2)
        tf.nn.pool(a, [2, 2], "{AVG|MAX}", "VALID")
    """,
        numbers="real",
        want="image",
    ),
    "transforms": group(
        """
        tf.signal.fft(a)
        tf.signal.ifft(a)
        tf.signal.fft2d(a[tf.newaxis])
        tf.signal.irfft(a)
        tf.signal.irfft(a, [4])
        tf.signal.fftshift(a)
    """,
        numbers="complex",
        want="full",
    ),
    "real transforms": group(
        """
        tf.signal.rfft(a)
        tf.signal.rfft(a, [{2|4|6}])
        tf.signal.dct(tf.cast(a, tf.float32))
        tf.signal.frame(a, 2, 1)
    """,
        numbers="real",
        want="full",
    ),
    "storage": group(
        """
        tf.TensorArray(a.dtype, {n}).unstack(a).stack()
        tf.TensorArray(a.dtype, {n}).scatter(list(range({n}))[::-1], a).stack()
        tf.TensorArray(a.dtype, {n}).unstack(a).gather([0, 0])
        tf.TensorArray(a.dtype, {n}).unstack(a).gather([{n} - 1, 0])
        tf.TensorArray(a.dtype, 2, clear_after_read=False).write(0, a).write(1, tf.sin(a)).read({0|1})
        tf.TensorArray(a.dtype, 2).write(0, a).write(1, tf.sin(a)).concat()
        tf.TensorArray(a.dtype, 3, infer_shape=False).split(tf.reshape(a, [-1]), [1, 0, tf.size(a) - 1]).concat()
    """,
        want="axes",
    ),
    "harmless": group("""
        tf.debugging.check_numerics(a, "m")
        after(tf.debugging.assert_equal(tf.size(a), tf.size(a)), a)
        after(tf.print("a", output_stream="file:///dev/null"), a)
        a + 0 * tf.cast(tf.timestamp(), a.dtype)
        a * tf.cast(table(1), a.dtype)
        tf.py_function(lambda t: t * t, [a], a.dtype)
        tf.numpy_function(lambda t: t * t, [a], a.dtype) + a
        tf.recompute_grad(lambda t: tf.tanh(t) * t)(a)
        tf.ensure_shape(a, a.shape)
        tf.custom_gradient(lambda p: (p * p, lambda d: 2 * d * tf.math.conj(p)))(a)
        tf.identity_n([a, tf.sin(a)])
        tf.grad_pass_through(tf.sin)(a)
        tf.raw_ops.Snapshot(input=a)
    """),
}

# What a step that opens a body runs it by; each has a way to be written in `build`.
BODIES = ("loop", "loop", "cond", "case", "mapped", "scanned", "filled", "function", "defun", "custom", "recomputed")

# Bodies whose gradient TensorFlow takes by their arguments alone: they see nothing else.
CLOSED = ("custom", "recomputed")

# Where these stand, differences see what derivatives are told not to.
CUTS = ("stop_gradient", "nn.moments", "grad_pass_through", "fake_quant", "numpy_function")

# Operators built inside a body, as expressions of what the body has.
OPERATORS = (
    "symgrad.Lop({y}, {x}, tf.ones_like({y}))",
    "symgrad.Rop({y}, {x}, tf.ones_like({x}))",
    "symgrad.Rop({y}, {x}, tf.ones_like({x}), method='double_vjp')",
    "symgrad.hvp(tf.reduce_sum({y}), {x}, tf.ones_like({x}))",
    "symgrad.gradients(tf.reduce_sum({y}), {x})[0]",
    "tf.reduce_sum(symgrad.jacobian({y}, {x}))",
    "tf.reduce_sum(symgrad.jacobian({y}, {x}, mode='columns', block_size=2))",
)

# What is asked of each graph: the first two always, and one or two of the others.
CALLS = (
    "symgrad.Lop(ys, xs, u, disconnected='zero')",
    "symgrad.Rop(ys, xs, v, method='{auto|forward|double_vjp}', disconnected='zero')",
    "symgrad.Rop(ys, xs, v, method='{forward|double_vjp}', disconnected='zero')",
    "symgrad.hvp(loss, xs, v, disconnected='zero')",
    "symgrad.hvp(loss, xs, v, disconnected='zero')",
    "symgrad.ggnvp(half, ys[0], xs, v, disconnected='zero')",
    "symgrad.gradients(ys, xs, u, unconnected_gradients='zero')",
    "symgrad.diagnose.why_none(ys, xs)",
    "symgrad.hvp(ys[0], xs, v, disconnected='zero')",
    "symgrad.Rop(ys, xs, holes_v, disconnected='zero')",
    "symgrad.Lop(ys, xs, holes_u, disconnected='zero')",
)

# Built of many derivatives: rarely for graphs with many bodies.
LONG_CALLS = (
    "symgrad.jacobian(ys, xs, mode='{rows|columns}', block_size={None|1|2}, disconnected='zero')",
    "symgrad.jacobian(ys, xs, mode='{rows|columns}', disconnected='zero')",
    "symgrad.jacobian(ys, xs, disconnected='zero')",
    "symgrad.hessian(loss, xs, block_size={None|1|2}, disconnected='zero')",
    "symgrad.Lop(symgrad.Rop(ys, xs, v, disconnected='zero'), xs, u, disconnected='zero')",
)

# For a y that has as many rows as x.
ROW_CALLS = ("symgrad.batch_jacobian(ys[0], xs[0], mode='{auto|rows|columns}', disconnected='zero')",) * 4
