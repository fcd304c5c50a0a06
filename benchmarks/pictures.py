"""What the interactive picture costs: to write, to open in a browser, to use; also at 100,000 ops.

    python benchmarks/pictures.py [MODEL ...]

Each graph is drawn in a process of its own; then Chromium, without a graphics card, opens the page. Peer in the same
process: networkx's own layout in layers, which places nodes and neither avoids crossings nor draws.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

FLAGS = ("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking")
OPS = 100_000


def resnet50():
    """tf_keras's ResNet50 in graph mode, with the gradients of all its weights."""
    import tensorflow.compat.v1 as tf
    import tf_keras

    with tf.Graph().as_default() as graph:
        model = tf_keras.applications.ResNet50(weights=None)
        loss = tf.reduce_mean(model(tf.placeholder(tf.float32, [None, 224, 224, 3], name="images"), training=True) ** 2)
        tf.gradients(loss, model.trainable_weights)
    return graph


def deep_net():
    from gradient_graph import deep_net

    return deep_net(OPS)


def draw(name, page):
    """Build and draw once; print seconds and sizes as JSON."""
    import networkx as nx

    from symgrad.graph import build, to_html

    sources = {"resnet50": resnet50, "deep net": deep_net}
    source = sources[name]() if name in sources else name
    began, processor = time.perf_counter(), time.process_time()
    graph = build(source)
    built = time.perf_counter()
    text = to_html(graph, page)
    drawn, processor = time.perf_counter(), time.process_time() - processor
    plain = nx.DiGraph(graph.edges())
    condensed = nx.condensation(plain)
    for layer, nodes in enumerate(nx.topological_generations(condensed)):
        for node in nodes:
            condensed.nodes[node]["layer"] = layer
    nx.multipartite_layout(condensed, subset_key="layer")
    placed = time.perf_counter()
    print(
        json.dumps(
            {
                "ops": len(graph),
                "build_s": built - began,
                "to_html_s": drawn - built,
                "of_processor_s": processor,
                "networkx_layout_s": placed - drawn,
                "file_MB": len(text.encode()) / 1e6,
            }
        )
    )


USE = """async () => {
    const app = symgradViewer;
    const frames = (count) => new Promise((done) => {
        const began = performance.now();
        let left = count;
        const step = () => {
            app.pan(left % 2 ? 3 : -2, left % 3 ? -4 : 5);
            if (left-- > 0) requestAnimationFrame(step);
            else done((1000 * count) / (performance.now() - began));
        };
        step();
    });
    const found = { ready_ms: app.times.sinceOpened, first_view_boxes: app.placed.count };
    const groups = app.placed.group.filter((at, i) => app.placed.op[i] < 0 && !app.placed.open[i]);
    const size = (at) => app.model.opsIn(at, -1).length;
    const largest = groups.reduce((best, at) => (size(at) > size(best) ? at : best), groups[0]);
    let began = performance.now();
    app.toggle(largest, 0);
    app.draw();
    found.open_ms = performance.now() - began;
    began = performance.now();
    app.setAll(true);
    app.draw();
    found.open_all_ms = performance.now() - began;
    found.boxes = app.placed.count;
    for (const [key, scale] of [["pan_all_fps", 0], ["pan_tenth_fps", 0.1], ["pan_full_size_fps", 1]]) {
        app.fit();
        await new Promise((done) => setTimeout(done, 400));
        const { width, height } = app.placed;
        if (scale) app.view = { scale, x: 700 - (scale * width) / 2, y: 400 - (scale * height) / 2 };
        found[key] = await frames(60);
    }
    return found;
}"""


def use(page):
    """Open the page, open groups, pan."""
    from playwright.sync_api import sync_playwright

    path = os.environ.get("CHROMIUM") or shutil.which("chromium")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=list(FLAGS))
        tab = browser.new_page(viewport={"width": 1440, "height": 900}, reduced_motion="reduce")
        tab.goto(page.as_uri())
        tab.wait_for_selector("html[data-ready=yes]", timeout=60_000)
        found = tab.evaluate(USE)
        browser.close()
    return found


def main(names):
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            page = Path(folder) / "picture.html"
            command = [sys.executable, __file__, "--draw", name, str(page)]
            output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            found = {**json.loads(output.splitlines()[-1]), **use(page)}
            print(f"{name}:")
            for key, value in found.items():
                print(f"  {key:18} {value:,.2f}" if isinstance(value, float) else f"  {key:18} {value:,}")
            print(f"  to_html / networkx layout: {found['to_html_s'] / found['networkx_layout_s']:.2f}", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--draw"]:
        draw(sys.argv[2], sys.argv[3])
    else:
        main(sys.argv[1:] or ["resnet50", "deep net"])
