"""`why_none` over every op type that this TensorFlow registers: findings or none, never an exception, nothing built."""

import pytest
import tensorflow.compat.v1 as tf
from tensorflow.core.framework import op_def_pb2
from tensorflow.python.client import pywrap_tf_session

import symgrad

pytestmark = pytest.mark.core

# TensorFlow 2.21 itself ends the process when an op of this type is made: its shape function reads an input too many.
_DEADLY = frozenset({"_QuantizedMatMul"})


def registered():
    """The OpDefs of all op types, the internal ones too, in the order of their names."""
    buffer = pywrap_tf_session.TF_GetAllOpList()
    ops = op_def_pb2.OpList.FromString(pywrap_tf_session.TF_GetBuffer(buffer)).op
    return sorted((op for op in ops if op.name not in _DEADLY), key=lambda op: op.name)


def value_for(declared):
    """A value that an attribute may have: its default, else the plainest one."""
    if declared.HasField("default_value"):
        return declared.default_value
    value = tf.AttrValue()
    kind, is_list = declared.type.removeprefix("list(").removesuffix(")"), declared.type.startswith("list(")
    to = value.list if is_list else value
    plain = {"int": ("i", max(1, declared.minimum)), "float": ("f", 1.0), "bool": ("b", False), "string": ("s", b"a")}
    allowed = declared.allowed_values.list
    plain["string"] = ("s", allowed.s[0] if allowed.s else b"a")
    plain["type"] = ("type", tf.float32.as_datatype_enum)
    if allowed.type and tf.float32.as_datatype_enum not in allowed.type:
        plain["type"] = ("type", allowed.type[0])
    for _ in range(max(1, declared.minimum) if is_list else 1):
        if kind in ("shape", "func", "tensor"):
            inner = getattr(to, kind).add() if is_list else getattr(to, kind)
            if kind == "shape":
                inner.unknown_rank = True
            elif kind == "func":
                inner.name = "function"
            else:
                inner.CopyFrom(tf.make_tensor_proto(1.0))
        elif is_list:
            getattr(to, plain[kind][0]).append(plain[kind][1])
        else:
            setattr(to, *plain[kind])
    return value


def graph_with(definition):
    """A GraphDef with one op of the type that reads placeholders, or variables where it takes references."""
    attrs = {declared.name: value_for(declared) for declared in definition.attr}
    graph_def = tf.GraphDef()
    function = graph_def.library.function.add()
    function.signature.name = "function"
    function.signature.input_arg.add(name="a", type=tf.float32.as_datatype_enum)
    function.signature.output_arg.add(name="b", type=tf.float32.as_datatype_enum)
    function.ret["b"] = "a"
    op = tf.NodeDef(name="op", op=definition.name)
    for name, value in attrs.items():
        op.attr[name].CopyFrom(value)
    for argument in definition.input_arg:
        own = attrs[argument.type_attr].type if argument.type_attr else argument.type
        types = list(attrs[argument.type_list_attr].list.type) if argument.type_list_attr else [own]
        for dtype in types * (attrs[argument.number_attr].i if argument.number_attr else 1):
            source = graph_def.node.add(name=f"x{len(op.input)}", op="VariableV2" if argument.is_ref else "Placeholder")
            source.attr["dtype"].type = dtype
            source.attr["shape"].shape.CopyFrom(tf.TensorShape([2] if argument.is_ref else None).as_proto())
            op.input.append(source.name)
    graph_def.node.append(op)
    return graph_def


def test_why_none_of_every_op_type():
    raised, asked, unmade = {}, 0, []
    for definition in registered():
        with tf.Graph().as_default() as graph:
            try:
                tf.import_graph_def(graph_with(definition), name="")
            except (ValueError, TypeError, tf.errors.OpError):  # wants attributes of a special form
                unmade.append(definition.name)
                continue
        op = graph.get_operation_by_name("op")
        count = len(graph.get_operations())
        for y in op.outputs if op.inputs else ():
            asked += 1
            try:
                symgrad.diagnose.why_none(y, list(op.inputs))
            except Exception as error:
                raised[definition.name] = repr(error)
        assert len(graph.get_operations()) == count, definition.name
    assert not raised
    assert asked > 1200
    assert len(unmade) < 200, unmade


@pytest.mark.parametrize("adjust", [tf.image.adjust_hue, tf.image.adjust_saturation, tf.image.adjust_contrast])
def test_an_op_without_an_entry_in_the_gradient_registry(adjust):
    """adjust_contrast and adjust_saturation have rules here; the hue's op has none."""
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [2, 2, 3])
        w = tf.placeholder(tf.float32, [2, 2, 3])
        findings = symgrad.diagnose.why_none(adjust(x, 0.1) * w, [x, w])
    assert all(f.x == x.name for f in findings)
