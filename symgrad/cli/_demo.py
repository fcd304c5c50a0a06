"""`symgrad demo`: the library's main job from end to end, on real handwritten digits."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import SymgradError
from ._progress import progress_bar

if TYPE_CHECKING:
    import numpy as np

PIXELS, HIDDEN, CLASSES, BATCH = 64, 32, 10, 64


def demo(
    out: Annotated[Path, typer.Option(help="Folder to write into; made if it is not there.")] = Path("symgrad-demo"),
    steps: Annotated[int, typer.Option(min=1, help=f"Training steps of {BATCH} digits.")] = 600,
    seed: Annotated[int, typer.Option(help="Seed of the split, the weights, the batches and the test vectors.")] = 0,
) -> None:
    """Train on real digits, save, load from disk, differentiate, check, draw."""
    digits = _read_digits(seed)
    out.mkdir(parents=True, exist_ok=True)
    typer.echo(f"Training {PIXELS} pixels -> {HIDDEN} tanh -> {CLASSES} scores, in a V1 graph with symgrad.optimizers,")
    typer.echo(f"on {len(digits.train_images)} handwritten digits of scikit-learn ...")
    prefix, accuracy = _train_and_save(digits, out / "model.ckpt", steps, seed)
    typer.echo(f"It reads {accuracy:.1%} of {len(digits.test_images)} other digits right.")
    typer.echo(f"Saved {prefix}.meta with its checkpoint; loading it from these files alone ...")
    result = _differentiate(f"{prefix}.meta", digits.test_images[:1], seed)
    typer.echo(f"J is the Jacobian of the {CLASSES} scores with respect to the {PIXELS} pixels of one digit:")
    _print_checks(result.checks)
    _draw_graph(f"{prefix}.meta", out / "gradient_graph.svg", out / "gradient_graph.html")
    _draw_jacobian(result, digits.test_labels[0], out / "jacobian.png")
    typer.echo(f"Wrote {out / 'gradient_graph.svg'}: the loss and its gradients, forward and backward side by side.")
    typer.echo(f"Wrote {out / 'gradient_graph.html'}: the same to click through, in any browser.")
    typer.echo(f"Wrote {out / 'jacobian.png'}: the rows of J as images.")
    failed = [check.name for check in result.checks if not check.passed]
    if failed:
        raise SymgradError(f"these checks failed: {'; '.join(failed)}")


@dataclass(frozen=True)
class _Digits:
    """Images in [0, 1], one row of 64 pixels each, float64; labels 0 to 9."""

    train_images: "np.ndarray"
    train_labels: "np.ndarray"
    test_images: "np.ndarray"
    test_labels: "np.ndarray"


@dataclass(frozen=True)
class _Check:
    """A relative difference of two numbers that must agree, and how large it may be."""

    name: str
    difference: float
    allowed: float

    @property
    def passed(self) -> bool:
        return self.difference <= self.allowed


@dataclass(frozen=True)
class _Result:
    image: "np.ndarray"
    scores: "np.ndarray"
    jacobian: "np.ndarray"
    checks: list[_Check]


def _read_digits(seed: int) -> _Digits:
    try:
        import matplotlib  # noqa: F401  (needed at the end: said here, before the work)
        from sklearn.datasets import load_digits
        from sklearn.model_selection import train_test_split
    except ImportError as error:
        raise SymgradError(f"the demo needs {error.name}; install it by: pip install 'symgrad[demo]'") from error
    images, labels = load_digits(return_X_y=True)
    split = train_test_split(images / 16.0, labels, test_size=0.2, random_state=seed, stratify=labels)
    train_images, test_images, train_labels, test_labels = split
    return _Digits(train_images, train_labels, test_images, test_labels)


def _build_classifier() -> None:
    """A multilayer perceptron in the default graph; its tensors are found by their names, as in any legacy graph."""
    import tensorflow.compat.v1 as tf

    images = tf.placeholder(tf.float64, [None, PIXELS], name="images")
    labels = tf.placeholder(tf.int64, [None], name="labels")
    layer = images
    for name, units, activation in (("hidden", HIDDEN, tf.tanh), ("scores", CLASSES, tf.identity)):
        with tf.variable_scope(name):
            shape = [layer.shape.as_list()[1], units]
            weights = tf.get_variable("weights", shape, tf.float64, tf.glorot_uniform_initializer())
            bias = tf.get_variable("bias", [units], tf.float64, tf.zeros_initializer())
            layer = activation(layer @ weights + bias, name="output")
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=layer))
    tf.identity(loss, name="loss")
    hits = tf.equal(tf.argmax(layer, axis=1), labels)
    tf.reduce_mean(tf.cast(hits, tf.float64), name="accuracy")


def _train_and_save(digits: _Digits, path: Path, steps: int, seed: int) -> tuple[str, float]:
    """Train and write a MetaGraph with its checkpoint; returns their prefix and the accuracy on the test digits."""
    import numpy as np
    import tensorflow.compat.v1 as tf

    from ..optimizers import Momentum

    rng = np.random.default_rng(seed)
    with tf.Graph().as_default() as graph, tf.Session() as session:
        tf.set_random_seed(seed)
        _build_classifier()
        loss = graph.get_tensor_by_name("loss:0")
        train = Momentum(learning_rate=0.1, momentum=0.9).minimize(loss)
        session.run(tf.global_variables_initializer())
        with progress_bar() as progress:
            for _ in progress.track(range(steps), description="training"):
                batch = rng.integers(len(digits.train_images), size=BATCH)
                session.run(train, {"images:0": digits.train_images[batch], "labels:0": digits.train_labels[batch]})
        accuracy = session.run("accuracy:0", {"images:0": digits.test_images, "labels:0": digits.test_labels})
        return tf.train.Saver().save(session, str(path)), float(accuracy)


def _differentiate(meta: str, image: "np.ndarray", seed: int) -> _Result:
    """Load the model by its files alone; Jacobian of the scores with respect to the pixels, checked against others."""
    import numpy as np
    import tensorflow.compat.v1 as tf

    from ..loaders import load
    from ..operators import Lop, Rop, jacobian

    model = load(meta)
    pixels, scores = (model.graph.get_tensor_by_name(f"{name}:0") for name in ("images", "scores/output"))
    rng = np.random.default_rng(seed)
    u, v = rng.standard_normal((1, CLASSES)), rng.standard_normal((1, PIXELS))
    with model.graph.as_default(), tf.Session() as session:
        model.restore(session)
        derivatives = {
            "lop": Lop(scores, pixels, tf.constant(u)),
            "rop": Rop(scores, pixels, tf.constant(v)),
            "jacobian": jacobian(scores, pixels),
        }
        found = session.run(derivatives, {pixels: image})
        step = 1e-5
        ahead, behind = (session.run(scores, {pixels: image + sign * step * v}) for sign in (1, -1))
        values = session.run(scores, {pixels: image})
    matrix = found["jacobian"].reshape(CLASSES, PIXELS)
    checks = [
        _Check("<u, Rop(v)> = <Lop(u), v>", _apart(np.vdot(u, found["rop"]), np.vdot(found["lop"], v)), 1e-10),
        _Check("Rop(v) = central difference", _apart(found["rop"], (ahead - behind) / (2 * step)), 1e-6),
        _Check("Rop(v) = J v", _apart(found["rop"], v @ matrix.T), 1e-10),
        _Check("Lop(u) = u^T J", _apart(found["lop"], u @ matrix), 1e-10),
    ]
    return _Result(image[0], values[0], matrix, checks)


def _apart(a: Any, b: Any) -> float:
    """Largest difference, relative to the largest entry."""
    import numpy as np

    return float(np.max(np.abs(a - b)) / np.max(np.abs(b)))


def _print_checks(checks: list[_Check]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("check", "relative difference", "allowed", "")
    for check in checks:
        verdict = "[green]holds" if check.passed else "[red]FAILS"
        table.add_row(check.name, f"{check.difference:.1e}", f"{check.allowed:.0e}", verdict)
    Console().print(table)


def _draw_graph(meta: str, svg: Path, html: Path) -> None:
    """The loss with the gradients that the optimizer built, from the file."""
    from ..graph import build, to_html, to_svg

    graph = build(meta, ys="loss")
    to_svg(graph, svg, title="symgrad demo: the loss (left) and its gradients (right)")
    to_html(graph, html, title="symgrad demo: the loss and its gradients")


def _draw_jacobian(result: _Result, label: int, path: Path) -> None:
    """The digit and, per class, the row of the Jacobian as an image."""
    import numpy as np

    from ..graph import rows_as_images

    rows_as_images(
        result.jacobian,
        (8, 8),
        titles=[f"score of {k}: {score:.1f}" for k, score in enumerate(result.scores)],
        image=result.image,
        image_title=f"a {label}, read as {np.argmax(result.scores)}",
        title="How each score answers to each pixel: the rows of the Jacobian",
    ).savefig(path, dpi=120)
