"""Values and names that an optimizer cannot take: refused when it is made, or when they come."""

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from symgrad.errors import DisconnectedError, OptimizerError
from symgrad.optimizers import (
    LAMB,
    SGD,
    Adadelta,
    Adagrad,
    Adam,
    Ftrl,
    Momentum,
    Optimizer,
    RMSProp,
    clip_by_global_norm,
    clip_by_norm,
    hyperparameter,
    option,
    shared_slot,
)


@pytest.mark.parametrize("value", [np.array(-0.1), np.float64(-0.1), -0.1, 1 + 0j, np.complex64(1), b"1", np.True_])
def test_a_rate_that_is_none_is_refused_when_it_is_given(value):
    with pytest.raises(OptimizerError, match="learning_rate"):
        SGD(value)


@pytest.mark.parametrize("nesterov", ["yes", 1, None])
def test_a_switch_is_true_or_false(nesterov):
    with pytest.raises(OptimizerError, match=r"nesterov.*True or False"):
        Momentum(0.1, nesterov=nesterov)


@pytest.mark.parametrize("transforms", [clip_by_norm(1.0), [1.0], ["clip"]])
def test_transforms_are_a_list_of_functions(transforms):
    with pytest.raises(OptimizerError, match="wanted a list of functions"):
        SGD(0.1, transforms=transforms)


@pytest.mark.parametrize("name", ["t", "variable", "use_locking", "option"])
@pytest.mark.parametrize(
    "declaration", [lambda: hyperparameter(0.1), lambda: option(0.1), lambda: shared_slot(0.1, advance=lambda v, h: v)]
)
def test_names_that_h_has_are_refused_where_they_are_declared(name, declaration):
    with pytest.raises(OptimizerError, match=rf"declares '{name}'.*rename it"):
        type("Mine", (Optimizer,), {name: declaration()})


@pytest.mark.parametrize(
    ("make", "bad", "good"),
    [
        (lambda p: SGD(p), -0.1, 0.1),  # at least 0
        (lambda p: Adam(0.1, p), 1.0, 0.5),  # below 1
    ],
    ids=["low", "below"],
)
def test_a_tensor_out_of_range_is_refused_when_it_comes(make, bad, good, graph, session):
    p, x = tf.placeholder(tf.float32, []), tf.Variable(1.0)
    train = make(p).minimize(x * x)
    session.run(tf.global_variables_initializer(), {p: good})
    with pytest.raises(tf.errors.InvalidArgumentError, match="wanted a number"):
        session.run(train, {p: bad})
    assert session.run(x) == 1.0
    session.run(train, {p: good})
    assert session.run(x) < 1.0


@pytest.mark.parametrize(
    ("theirs", "ours", "values"),
    [
        (tf.train.FtrlOptimizer, Ftrl, (0.1, -0.4, 0.2, 0.01, 0.02)),
        (tf.train.AdagradOptimizer, Adagrad, (0.1, 0.3)),
        (tf.train.AdadeltaOptimizer, Adadelta, (0.1, 0.9, 1e-6)),
        (tf.train.RMSPropOptimizer, RMSProp, (0.1, 0.8, 0.5, 1e-6)),
        (tf.train.AdamOptimizer, Adam, (0.1, 0.8, 0.9, 1e-6)),
        (tf.train.MomentumOptimizer, Momentum, (0.1, 0.7)),
        (tf.train.GradientDescentOptimizer, SGD, (0.1,)),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_positions_mean_what_they_mean_in_tf_train(theirs, ours, values, graph, session):
    ends = [tf.Variable([1.0, -2.0]) for _ in range(2)]
    steps = [
        make(*values).minimize(tf.reduce_sum(x * x), var_list=[x]) for make, x in zip((theirs, ours), ends, strict=True)
    ]
    session.run(tf.global_variables_initializer())
    session.run(steps)
    session.run(steps)
    np.testing.assert_array_equal(*session.run(ends))  # one kernel


def test_lambs_positions_are_those_of_its_page():
    words = [line.split(":")[0].strip() for line in LAMB.__doc__.split("Args:")[1].splitlines()[1:6]]
    config = LAMB(*(i / 10 for i in range(1, 6))).get_config()
    assert [config[word] for word in words] == [0.1, 0.2, 0.3, 0.4, 0.5]


@pytest.mark.parametrize(
    ("dtype", "long"), [(np.float16, [300, 400]), (np.float32, [3e20, 4e20]), (np.float64, [3e20, 4e20])]
)
@pytest.mark.parametrize("clip", [clip_by_norm, clip_by_global_norm])
def test_lengths_whose_squares_overflow_are_clipped(clip, dtype, long, graph, session):
    x = tf.Variable(np.ones(2, dtype))
    clipped = [clip(1.0)([(tf.constant(np.array(g, dtype)), x)])[0][0] for g in (long, [0, 0], [0.3, 0.4])]
    tolerance = 2 * np.finfo(dtype).eps  # one rounding of the factor, one of the product
    for got, want in zip(session.run(clipped), ([0.6, 0.8], [0, 0], [0.3, 0.4]), strict=True):
        np.testing.assert_allclose(got, want, rtol=tolerance)


@pytest.mark.parametrize(("name", "meant"), [("learning_rat", "learning_rate"), ("momentm", "momentum")])
def test_a_misspelt_name_that_is_set_is_refused(name, meant):
    optimizer = Momentum(0.1)
    with pytest.raises(OptimizerError, match=f"Momentum has no '{name}' to set; did you mean '{meant}'"):
        setattr(optimizer, name, 0.01)
    setattr(optimizer, meant, 0.25)
    assert getattr(optimizer, meant) == 0.25


def test_what_is_ones_own_may_be_set():
    optimizer = Adam(0.1)
    optimizer.beta = optimizer.note = "mine"
    assert optimizer.beta == optimizer.note == "mine"


def test_several_variables_without_a_gradient_share_one_cause(graph):
    xs = [tf.Variable(1.0, name=name) for name in "ab"]
    with pytest.raises(
        DisconnectedError, match=r"(?s)nothing to minimize:\n  a, b: from this op on[^\n]*'best'[^\n]*$"
    ):
        SGD(0.1).minimize(tf.cast(tf.argmax(tf.stack(xs), name="best"), tf.float32))
