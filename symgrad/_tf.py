"""The one place that imports TensorFlow's private modules.

Every import says why it is needed and since which version the name is where it is (checked on 2.15 to 2.21).
"""

# The message of a saved_model.pb; tf.compat.v1 exports GraphDef and MetaGraphDef but not this one. Since 1.0.
# The message behind Variable.from_proto; no public name for it. Since 1.0.
from tensorflow.core.framework.variable_pb2 import VariableDef
from tensorflow.core.protobuf.saved_model_pb2 import SavedModel

# The ops this process knows, to name every unknown one before an import fails at the first. Since 1.0, get() since 2.0.
from tensorflow.python.framework import op_def_registry

# tf.train.import_meta_graph without its Saver(), which would add ops to the graph. Since 1.0.
from tensorflow.python.framework.meta_graph import import_scoped_meta_graph

# The class of symbolic tensors and ops' graph; the public tf.Tensor also covers eager tensors. Since 2.0.
from tensorflow.python.framework.ops import get_gradient_function

# To rebuild resource variables of graphs that were stored without collections; tf.Variable.from_proto makes
# reference variables only. Since 1.3.
from tensorflow.python.ops.resource_variable_ops import ResourceVariable

# The op that initialises the tables of a SavedModel and the asset files to feed it, in each of the three places where
# versions 1 and 2 stored them; the public loader gives them only with a second import of the graph. Since 1.14.
from tensorflow.python.saved_model.loader_impl import get_asset_tensors, get_init_op

__all__ = [
    "ResourceVariable",
    "SavedModel",
    "VariableDef",
    "get_asset_tensors",
    "get_gradient_function",
    "get_init_op",
    "import_scoped_meta_graph",
    "op_def_registry",
]
