"""The one place that imports TensorFlow's private modules.

Every import says why it is needed and since which version the name is where it is (checked on 2.15 to 2.21).
"""

# The class of symbolic tensors and ops' graph; the public tf.Tensor also covers eager tensors. Since 2.0.
from tensorflow.python.framework.ops import get_gradient_function

__all__ = ["get_gradient_function"]
