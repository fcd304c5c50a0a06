"""Which layers of a loaded model are trained, and which are frozen? Ask its gradient graph."""

import tensorflow.compat.v1 as tf

import symgrad


def save_a_model(path: str) -> None:
    """A three-layer network whose middle layer somebody froze."""
    with tf.Graph().as_default() as graph:
        h = tf.placeholder(tf.float32, [None, 8], name="x")
        variables = []
        for layer in ("first", "middle", "last"):
            with tf.variable_scope(layer):
                weights = tf.get_variable("weights", [8, 8], use_resource=False)
                h = tf.tanh(h @ weights)
                variables += [weights] if layer != "middle" else []
        tf.train.MomentumOptimizer(0.1, 0.9).minimize(tf.reduce_mean(tf.square(h), name="loss"), var_list=variables)
        tf.train.write_graph(graph, ".", path, as_text=False)


def main() -> None:
    save_a_model("model.pb")
    graph = symgrad.graph.build("model.pb")  # read, not imported
    found = symgrad.graph.summary(graph)
    print(f"{found['ops']} ops: {found['roles']}")
    for variable in found["variables"]:
        if not variable["name"].endswith("Momentum"):
            print(f"{variable['name']:16} {'trained' if variable['trained'] else 'frozen'}")
    for layer in ("first", "middle", "last"):
        ops = {name for name in graph if name.startswith(layer + "/")}
        backward = [name for name, pair in graph.nodes(data="pair") if pair in ops]
        print(f"{layer:7} {len(ops)} ops, {len(backward)} ops in its gradient")
    symgrad.graph.to_svg(graph, "model.svg", title="Which layers are trained?")
    print("Wrote model.svg")


if __name__ == "__main__":
    main()
