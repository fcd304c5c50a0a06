"""`symgrad inspect` and `symgrad render` on files as users have them."""

import json
import xml.etree.ElementTree as ET

import pytest
import tensorflow.compat.v1 as tf

from symgrad.cli import main


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The same training graph as .pb, .pbtxt and .meta."""
    folder = tmp_path_factory.mktemp("models")
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 4], name="x")
        with tf.variable_scope("layer"):
            w = tf.get_variable("w", [4, 2], use_resource=False)
            y = tf.tanh(tf.stop_gradient(x) @ w, name="y")
        tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(y, name="loss"))
        tf.train.write_graph(graph, str(folder), "model.pb", as_text=False)
        tf.train.write_graph(graph, str(folder), "model.pbtxt", as_text=True)
        tf.train.export_meta_graph(str(folder / "model.meta"))
    return folder


def run(arguments, capsys):
    with pytest.raises(SystemExit) as end:
        main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return end.value.code or 0, captured.out, captured.err


@pytest.mark.parametrize("name", ["model.pb", "model.pbtxt", "model.meta"])
def test_inspect_json(folder, name, capsys):
    code, out, _ = run(["inspect", folder / name, "--json"], capsys)
    found = json.loads(out)
    assert code == 0
    assert found["roles"]["backward"] > 0
    assert [v["name"] for v in found["variables"]] == ["layer/w"]
    assert found["parameters"] == 8
    assert {row["scope"]: row["backward"] > 0 for row in found["scopes"]}["layer"]
    assert found["no_gradient"][0]["type"] == "StopGradient"


def test_inspect_tables(folder, capsys):
    code, out, err = run(["inspect", folder / "model.pb"], capsys)
    assert (code, err) == (0, "")
    for text in ("Op types", "Placeholder", "8 parameters in trained variables", "Scopes with a backward half", "layer",
                 "No gradient passes through", "not differentiable"):  # fmt: skip
        assert text in out, text


def test_inspect_cost(folder, capsys):
    arguments = ["inspect", folder / "model.pb", "--cost", "--size", "batch=10", "--fetch", "loss"]
    code, out, _ = run([*arguments, "--json"], capsys)
    assert code == 0
    assert json.loads(out)["types"]["MatMul"]["flops"] == 2 * 10 * 4 * 2
    code, out, err = run(arguments, capsys)
    assert (code, err) == (0, "")
    for text in ("By role", "By scope", "MatMul", "160", "Alive at the peak"):
        assert text in out, text
    code, _, err = run([*arguments, "--size", "batch=many"], capsys)
    assert code == 2
    assert "batch=many" in err


def test_inspect_lint(tmp_path, capsys):
    with tf.Graph().as_default() as graph:
        y = tf.sin(tf.placeholder(tf.float32, [3], name="x"))
        (tmp_path / "clean.pb").write_bytes(graph.as_graph_def().SerializeToString())
        for _ in range(2):
            tf.gradients(y, graph.get_tensor_by_name("x:0"))
        (tmp_path / "twice.pb").write_bytes(graph.as_graph_def().SerializeToString())
    _, out, _ = run(["inspect", tmp_path / "twice.pb", "--lint", "--json"], capsys)
    assert [finding["cause"] for finding in json.loads(out)["findings"]] == ["duplicate_gradients"]
    code, out, err = run(["inspect", tmp_path / "twice.pb", "--lint"], capsys)
    assert (code, err) == (0, "")
    assert "built more than once: 'gradients', 'gradients_1' hold the same" in out
    assert "gradients_1/Sin_grad/mul" in out
    _, out, _ = run(["inspect", tmp_path / "clean.pb", "--lint"], capsys)
    assert out == "nothing found\n"


def test_inspect_signatures(tmp_path, capsys):
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 4], name="x")
        tf.saved_model.simple_save(session, str(tmp_path / "saved"), {"features": x}, {"sines": tf.sin(x, name="y")})
    code, out, err = run(["inspect", tmp_path / "saved"], capsys)
    assert (code, err) == (0, "")
    for text in ("Signatures", "serving_default", "features", "x:0", "sines", "y:0"):
        assert text in out, text


def test_inspect_shows_hostile_names_as_text(tmp_path, capsys):
    node = tf.NodeDef(name="[red]\x1b[31m\u202e", op="Placeholder")
    (tmp_path / "evil.pb").write_bytes(tf.GraphDef(node=[node]).SerializeToString())
    code, out, _ = run(["inspect", tmp_path / "evil.pb"], capsys)
    assert code == 0
    assert "[red]" in out
    assert "\x1b" not in out
    assert "\u202e" not in out


@pytest.mark.parametrize("command", [["inspect"], ["render", "-o", "x.svg"]])
def test_no_model_is_one_line_and_exit_code_1(command, tmp_path, capsys):
    (tmp_path / "prose.pb").write_text("Dear reader")
    for path, message in ((tmp_path / "none.pb", "no such file"), (tmp_path / "prose.pb", "not a TensorFlow graph")):
        code, out, err = run([command[0], path, *command[1:]], capsys)
        assert (code, out) == (1, "")
        assert message in err
        assert err.count("\n") == 1


def test_render(folder, tmp_path, capsys):
    code, out, _ = run(["render", folder / "model.meta", "-o", tmp_path / "g.svg"], capsys)
    assert code == 0
    assert "backward" in out
    assert "TanhGrad" in "".join(ET.parse(tmp_path / "g.svg").getroot().itertext())
    assert run(["render", folder / "model.pb", "-o", tmp_path / "g.dot"], capsys)[0] == 0
    assert (tmp_path / "g.dot").read_text().startswith("digraph")


def test_render_only_a_part(folder, tmp_path, capsys):
    part = ["--ys", "layer/y", "--xs", "layer/w"]
    code, _, _ = run(["render", folder / "model.pb", "-o", tmp_path / "g.svg", *part], capsys)
    text = "".join(ET.parse(tmp_path / "g.svg").getroot().itertext())
    assert code == 0
    assert "loss" not in text
    assert "layer/y" in text
    code, _, err = run(["render", folder / "model.pb", "-o", tmp_path / "g.svg", "--ys", "nope"], capsys)
    assert (code, "no op named 'nope'" in err) == (1, True)


def test_inspect_compilable(tmp_path, capsys):
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [4, 4], name="x")
        tf.exp(tf.linalg.inv(tf.sin(x), name="inverse"), name="y")
        tf.train.write_graph(graph, str(tmp_path), "model.pb", as_text=False)
    code, out, _ = run(["inspect", tmp_path / "model.pb", "--compilable", "--json", "--exit-code"], capsys)
    assert code == 1
    assert [(f["op"], f["cause"]) for f in json.loads(out)["findings"]] == [("inverse", "differs")]
    code, out, err = run(["inspect", tmp_path / "model.pb", "--compilable"], capsys)
    assert (code, err) == (0, "")
    assert "differently without saying so" in out
