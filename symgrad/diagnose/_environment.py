"""What of TensorFlow 1 this environment still has, and what takes the place of the rest."""

import importlib.metadata
import os
import platform
from dataclasses import asdict, dataclass

SUPPORTED = ((2, 15), (2, 21))  # TensorFlow, first and last minor version
LIBRARIES = ("numpy", "networkx", "scipy", "keras", "tf_keras", "tf_slim", "tensorflow_probability")

# What went away with tf.contrib and tf.estimator, and what to use.
REPLACEMENTS = {
    "tf.contrib.opt.ScipyOptimizerInterface": "symgrad.optimizers.ScipyOptimizer",
    "tf.contrib.opt.AdamWOptimizer": "symgrad.optimizers.AdamW",
    "tf.contrib.opt.AdaMaxOptimizer": "symgrad.optimizers.Adamax",
    "tf.contrib.opt.NadamOptimizer": "symgrad.optimizers.Nadam",
    "tf.contrib.graph_editor": "symgrad.graph.build, with networkx to query it",
    "tf.contrib.layers, tf.contrib.slim": "tf_slim (pip install tf_slim)",
    "tf.contrib.rnn": "tf.nn.rnn_cell, which needs TF_USE_LEGACY_KERAS=1",
    "tf.contrib.distributions": "tensorflow_probability",
    "tf.contrib.gradients_impl, tf.hessians": "symgrad.hessian, symgrad.hvp, symgrad.jacobian",
    "tf.estimator": "a tf.Session or MonitoredTrainingSession of your own; gone since TensorFlow 2.16",
}


@dataclass(frozen=True)
class Check:
    """One fact about the environment.

    Attributes:
      name: what was looked at.
      found: what was found.
      ok: False if something will not work.
      advice: what to do then.
    """

    name: str
    found: str
    ok: bool = True
    advice: str = ""

    def __str__(self) -> str:
        return f"{self.name}: {self.found}" + (f". {self.advice}" if self.advice else "")

    def to_dict(self) -> dict[str, object]:
        """Everything as plain values, for JSON."""
        return asdict(self)


def check_environment() -> list[Check]:
    """What of the environment matters to TensorFlow 1 code: versions, the layers of Keras 2, control flow.

    Returns:
      A list of `Check`, those first whose `ok` is False.

    Example:
      >>> all(check.advice for check in symgrad.diagnose.check_environment() if not check.ok)
      True
    """
    checks = [
        Check("Python", platform.python_version()),
        _tensorflow(),
        *(Check(name, version) for name, version in ((n, _version(n)) for n in LIBRARIES) if version),
        _layers(),
        _control_flow(),
    ]
    return sorted(checks, key=lambda check: check.ok)


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""


def _tensorflow() -> Check:
    import tensorflow as tf

    minor = tuple(int(part) for part in tf.__version__.split(".")[:2])
    if SUPPORTED[0] <= minor <= SUPPORTED[1]:
        return Check("TensorFlow", tf.__version__)
    first, last = (".".join(map(str, version)) for version in SUPPORTED)
    return Check("TensorFlow", tf.__version__, False, f"symgrad is tested with {first} to {last}")


def _layers() -> Check:
    """tf.layers and tf.nn.rnn_cell are of Keras 2, which since 2.16 has to be asked for before TensorFlow loads."""
    import tensorflow.compat.v1 as tf

    name = "tf.layers and tf.nn.rnn_cell"
    missing = []
    for package, attribute in ((tf.layers, "dense"), (tf.nn.rnn_cell, "LSTMCell")):
        try:
            getattr(package, attribute)
        except (AttributeError, ImportError):
            missing.append(attribute)
    if not missing:
        return Check(name, "they work")
    asked = os.environ.get("TF_USE_LEGACY_KERAS") in ("1", "true", "True")
    install = "" if _version("tf_keras") else f"pip install 'tf_keras=={tf.__version__.rsplit('.', 1)[0]}.*'. "
    how = f"{install}Set TF_USE_LEGACY_KERAS=1 before TensorFlow is imported; tf.keras is Keras 2 then"
    found = "not available with Keras 3" + (", although TF_USE_LEGACY_KERAS is set" if asked else "")
    return Check(name, found, False, how)


def _control_flow() -> Check:
    import tensorflow.compat.v1 as tf

    kind = "V2 (If, While)" if tf.control_flow_v2_enabled() else "V1 (Switch, Merge)"
    return Check("tf.cond and tf.while_loop build", kind)
