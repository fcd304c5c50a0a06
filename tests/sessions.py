"""How tests run graphs."""

import tensorflow.compat.v1 as tf

# Without Grappler: a test runs a graph a few times, so optimising it takes longer than it saves. And its constant
# folding takes a loop variable whose shape grows for one of constant shape (TensorFlow 2.21).
AS_BUILT = tf.ConfigProto()
AS_BUILT.graph_options.rewrite_options.disable_meta_optimizer = True
