"""A browser, pages in it that must stay silent, and the graph that most of the tests look at."""

import os
import shutil

import pytest
import tensorflow.compat.v1 as tf

from symgrad.graph import build, to_html

FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip


@pytest.fixture(scope="session")
def browser():
    path = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        missing = pytest.fail if os.environ.get("SYMGRAD_NEEDS_BROWSER") else pytest.skip
        missing("browser tests need Chromium: apt-get install chromium, or its path in CHROMIUM")
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="browser tests need playwright: pip install playwright"
    )
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=list(FLAGS))
        yield browser
        browser.close()


class Viewer:
    """A page with a picture, as a person uses it; `app` reads the state of the viewer."""

    def __init__(self, page, address):
        self.page = page
        self.address = address
        self.open()

    def open(self, fragment=""):
        self.page.goto("about:blank")
        self.page.goto(self.address + fragment)
        self.page.wait_for_selector("html[data-ready=yes]")

    def app(self, expression):
        return self.page.evaluate(f"symgradViewer.{expression}")

    def spot(self, name):
        """The middle of what shows an op or a group, brought into sight where it is not."""
        canvas = self.page.locator("#picture").bounding_box()
        rect = self.page.evaluate("name => symgradViewer.onScreen(name)", name)
        assert rect, f"nothing shows {name}"
        if not (0 <= rect[0] <= canvas["width"] - 400 and 0 <= rect[1] <= canvas["height"] - 40):
            self.page.evaluate("symgradViewer.fit()")
            self.settled()
            rect = self.page.evaluate("name => symgradViewer.onScreen(name)", name)
        return canvas["x"] + rect[0] + rect[2] / 2, canvas["y"] + rect[1] + rect[3] / 2

    def click(self, name):
        self.page.mouse.click(*self.spot(name))

    def double_click(self, name):
        self.page.mouse.dblclick(*self.spot(name))

    def shows(self, op):
        """Whether an op has a box of its own."""
        return self.page.evaluate(
            "name => symgradViewer.placed.op.includes(symgradViewer.model.positions().get(name))", op
        )

    def settled(self):
        """Waits until animations are over and the address is written."""
        self.until("!symgradViewer.flight && !symgradViewer.motion && !symgradViewer.requested")
        self.page.wait_for_timeout(300)

    def until(self, condition):
        """Waits for a condition; Playwright's own way needs eval, which the page forbids."""
        for _ in range(100):
            if self.page.evaluate(condition):
                return
            self.page.wait_for_timeout(30)
        raise AssertionError(f"never came true: {condition}")

    def pixels(self, expression):
        """The value of an expression in `d`, the picture's bytes (red, green, blue, opacity, ...)."""
        return self.page.evaluate(f"""() => {{
            const picture = document.getElementById('picture');
            const canvas = new OffscreenCanvas(picture.width, picture.height);
            const copy = canvas.getContext('2d', {{ willReadFrequently: true }});
            copy.drawImage(picture, 0, 0);
            const d = copy.getImageData(0, 0, picture.width, picture.height).data;
            return {expression};
        }}""")

    @property
    def panel(self):
        return self.page.locator("#panel")


@pytest.fixture
def view(browser, tmp_path):
    """A function from a graph to a `Viewer`; afterwards no page may have complained or asked for anything."""
    complaints, requests, contexts = [], [], []

    def open_page(graph, *, size=(1440, 900), motion=False, touch=False, **options):
        context = browser.new_context(
            viewport={"width": size[0], "height": size[1]},
            reduced_motion="no-preference" if motion else "reduce",
            has_touch=touch,
        )
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        path = tmp_path / "picture.html"
        to_html(graph, path, **options)
        return Viewer(page, path.as_uri())

    yield open_page
    for context in contexts:
        context.close()
    assert not complaints
    assert all(url.startswith(tmp_path.as_uri()) or url == "about:blank" for url in requests), requests


@pytest.fixture(scope="session")
def mlp():
    """Three layers with gradients and updates."""
    with tf.Graph().as_default() as graph:
        h = tf.placeholder(tf.float32, [None, 8], name="x")
        for name in ("first", "second", "third"):
            with tf.variable_scope(name):
                w = tf.get_variable("w", [8, 8], use_resource=False)
                b = tf.get_variable("b", [8], use_resource=False)
                with tf.name_scope("inside"):
                    h = tf.tanh(tf.nn.bias_add(h @ w, b))
        loss = tf.reduce_mean(h**2, name="loss")
        tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss)
    return build(graph)
