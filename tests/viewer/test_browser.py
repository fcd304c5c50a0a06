"""The viewer in a real browser, used as a person uses it. Every page must stay silent and ask for nothing."""

import re

import networkx as nx
import pytest
import tensorflow as tf2
import tensorflow.compat.v1 as tf

from symgrad.graph import build, show


def test_opens_and_closes_a_scope_where_it_is(view, mlp):
    viewer = view(mlp, fold=0, motion=True)
    assert not viewer.shows("first/inside/Tanh")
    canvas = viewer.page.locator("#picture").bounding_box()
    left, top = viewer.page.evaluate("symgradViewer.onScreen('first').slice(0, 2)")
    viewer.double_click("first")
    viewer.settled()
    assert viewer.page.evaluate("symgradViewer.onScreen('first').slice(0, 2)") == pytest.approx([left, top], abs=0.6)
    assert not viewer.shows("first/inside/Tanh")
    viewer.double_click("first/inside")
    viewer.settled()
    assert viewer.shows("first/inside/Tanh")
    assert viewer.shows("first/inside/matmul")
    # closing, by the frame's header
    left, top = viewer.page.evaluate("symgradViewer.onScreen('first').slice(0, 2)")
    viewer.page.mouse.dblclick(canvas["x"] + left + 20, canvas["y"] + top + 10)
    viewer.settled()
    assert not viewer.shows("first/inside/matmul")
    assert viewer.page.evaluate("symgradViewer.onScreen('first').slice(0, 2)") == pytest.approx([left, top], abs=0.6)


def test_click_tells_all_about_an_op_and_lights_up_its_gradient(view, mlp):
    viewer = view(mlp, fold=9)
    viewer.click("second/inside/Tanh")
    text = viewer.panel.inner_text()
    for expected in ("second/inside/Tanh", "float32 [?, 8]", "TanhGrad", "conftest.py:", "Attributes", "Its gradient"):
        assert expected in text, text
    lit = viewer.page.evaluate(
        "[...symgradViewer.marks().kin].map(i => symgradViewer.model.names()[symgradViewer.placed.op[i]])"
    )
    assert set(lit) == {"second/inside/Tanh", "gradients/second/inside/Tanh_grad/TanhGrad"}
    # and from the gradient back
    viewer.panel.get_by_role("button", name="gradients/second/inside/Tanh_grad/TanhGrad").first.click()
    assert "Gradient of" in viewer.panel.inner_text()
    viewer.panel.get_by_role("button", name="second/inside/Tanh", exact=True).first.click()
    assert viewer.app("model.names()[symgradViewer.chosen.op]") == "second/inside/Tanh"


def test_lit_pixels_are_really_drawn(view, mlp):
    viewer = view(mlp, fold=9)
    glowing = "d.filter((v, i) => i % 4 === 0 && v === 0xcc && d[i + 1] === 0x79 && d[i + 2] === 0xa7).length"
    before = viewer.pixels(glowing)
    viewer.page.evaluate("symgradViewer.choose({op: symgradViewer.model.positions().get('loss')})")
    viewer.settled()
    assert viewer.pixels(glowing) > before + 50
    viewer.page.get_by_role("button", name="Close details").click()
    viewer.settled()
    assert viewer.pixels(glowing) == before


def test_search_reveals_what_is_folded(view, mlp):
    viewer = view(mlp, fold=0)
    viewer.page.keyboard.press("/")
    viewer.page.keyboard.type("third/inside/mat")
    options = viewer.page.get_by_role("option")
    assert options.first.inner_text().startswith("third/inside/matmul")
    viewer.page.keyboard.press("ArrowDown")
    viewer.page.keyboard.press("ArrowUp")
    viewer.page.keyboard.press("Enter")
    viewer.settled()
    assert viewer.shows("third/inside/matmul")
    x, y = viewer.spot("third/inside/matmul")
    assert 0 < x < 1110
    assert 0 < y < 900
    assert "MatMul" in viewer.panel.inner_text()
    viewer.page.keyboard.press("/")
    viewer.page.locator("#search").fill("no such op")
    assert "nothing is called" in viewer.page.locator("#results").inner_text()
    viewer.page.keyboard.press("Escape")
    assert viewer.page.locator("#results").is_hidden()


def test_search_shows_what_the_filters_hide(view, mlp):
    viewer = view(mlp, fold=0)
    assert mlp.nodes["Momentum/learning_rate"]["type"] == "Const"
    viewer.page.locator("#search").fill("Momentum/learning_rate")
    viewer.page.keyboard.press("Enter")
    assert viewer.shows("Momentum/learning_rate")
    viewer.page.locator("#filters summary").click()
    checked = [viewer.page.locator(f"[data-show={kind}]").is_checked() for kind in ("constant", "initializer")]
    assert sorted(checked) == [False, True]


def test_path_from_one_op_to_another(view, mlp):
    viewer = view(mlp, fold=9)
    viewer.click("second/inside/Tanh")
    viewer.panel.get_by_role("button", name="Path from here").click()
    viewer.page.evaluate("symgradViewer.choose({op: symgradViewer.model.positions().get('loss')})")
    viewer.panel.get_by_role("button", name="Path to here").click()
    path = set(viewer.page.evaluate("[...symgradViewer.path.ops].map(i => symgradViewer.model.names()[i])"))
    data = nx.DiGraph((a, b) for a, b, kind in mlp.edges(data="kind") if kind == "data")
    between = (nx.descendants(data, "second/inside/Tanh") & nx.ancestors(data, "loss")) | {"second/inside/Tanh", "loss"}
    assert path == between
    assert f"{len(between)} ops" in viewer.page.locator("#path").inner_text()
    viewer.page.keyboard.press("Escape")
    assert viewer.page.locator("#path").is_hidden()


def test_no_path_says_so(view, mlp):
    viewer = view(mlp, fold=9)
    viewer.page.evaluate("symgradViewer.choose({op: symgradViewer.model.positions().get('loss')})")
    viewer.page.locator("#picture").focus()
    viewer.page.keyboard.press("p")
    viewer.page.evaluate("symgradViewer.choose({op: symgradViewer.model.positions().get('x')})")
    viewer.page.keyboard.press("p")
    assert "No data path from loss to x" in viewer.page.locator("#path").inner_text()


def test_keyboard_moves_opens_zooms_and_lets_go(view, mlp):
    viewer = view(mlp, fold=0)
    viewer.click("first")
    viewer.page.keyboard.press("ArrowDown")
    assert "second" in viewer.panel.locator("h2").inner_text()
    viewer.page.keyboard.press("Enter")
    viewer.settled()
    assert viewer.app("placed.open.includes(1)")
    viewer.page.keyboard.press("ArrowUp")
    scale = viewer.app("view.scale")
    viewer.page.keyboard.press("+")
    assert viewer.app("view.scale") > scale
    viewer.page.keyboard.press("Escape")
    assert viewer.panel.is_hidden()
    x = viewer.app("view.x")
    viewer.page.keyboard.press("ArrowRight")
    assert viewer.app("view.x") < x
    viewer.page.keyboard.press("?")
    assert "Keys" in viewer.page.locator("#keys").inner_text()
    viewer.page.keyboard.press("Escape")
    assert viewer.page.locator("#keys").is_hidden()


def test_drag_pans_and_the_wheel_zooms_at_the_pointer(view, mlp):
    viewer = view(mlp)
    x, y = viewer.app("view.x"), viewer.app("view.y")
    viewer.page.mouse.move(30, 400)
    viewer.page.mouse.down()
    viewer.page.mouse.move(90, 430, steps=4)
    viewer.page.mouse.up()
    assert (viewer.app("view.x"), viewer.app("view.y")) == pytest.approx((x + 60, y + 30), abs=0.01)
    assert viewer.panel.is_hidden(), "a drag is no click"
    before, scale = viewer.spot("loss"), viewer.app("view.scale")
    viewer.page.mouse.move(*before)
    viewer.page.mouse.wheel(0, -300)
    viewer.until(f"symgradViewer.view.scale > {scale}")
    assert viewer.spot("loss") == pytest.approx(before, abs=0.5)


def test_two_fingers_zoom_at_the_fingers_and_one_pans(view, mlp):
    viewer = view(mlp, touch=True)
    viewer.page.touchscreen.tap(*viewer.spot("loss"))
    viewer.until("symgradViewer.chosen !== null")
    assert "loss" in viewer.panel.inner_text()
    viewer.page.keyboard.press("Escape")
    touch = viewer.page.context.new_cdp_session(viewer.page)

    def fingers(kind, *points):
        listed = [{"x": x, "y": y, "id": i} for i, (x, y) in enumerate(points)]
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": listed})

    x, y = viewer.spot("loss")
    scale = viewer.app("view.scale")
    fingers("touchStart", (x, y))
    fingers("touchStart", (x, y), (x + 100, y))
    for step in range(1, 6):
        fingers("touchMove", (x, y), (x + 100 + 20 * step, y))
    fingers("touchEnd")
    assert viewer.app("view.scale") == pytest.approx(2 * scale, rel=1e-3)
    assert viewer.spot("loss") == pytest.approx((x, y), abs=1)
    assert viewer.panel.is_hidden(), "a pinch is no tap"
    left, top = viewer.app("view.x"), viewer.app("view.y")
    fingers("touchStart", (300, 300))
    fingers("touchMove", (310, 300))
    fingers("touchMove", (340, 350))
    fingers("touchEnd")
    assert (viewer.app("view.x"), viewer.app("view.y")) == pytest.approx((left + 40, top + 50), abs=0.5)


def test_a_call_opens_to_the_functions_that_it_runs(view):
    @tf2.function
    def function(a):
        return tf.tanh(tf.sin(a, name="inner"), name="outer")

    with tf.Graph().as_default() as graph:
        call = function(tf.placeholder(tf.float32, [3], name="x")).op.name
    viewer = view(build(graph))
    assert not viewer.shows(f"{call}/f/inner")
    viewer.double_click(call)
    viewer.settled()
    viewer.double_click(f"{call}/f")
    viewer.settled()
    viewer.click(f"{call}/f/inner")
    text = viewer.panel.inner_text()
    assert f"{call}/f/inner" in text
    assert "Sin" in text
    assert "float32 [3]" in text


def test_filters_bring_constants_and_take_them_away(view, mlp):
    viewer = view(mlp, fold=9)
    constants = [name for name, kind in mlp.nodes(data="type") if kind == "Const"]
    assert not any(viewer.shows(name) for name in constants)
    viewer.page.locator("#filters summary").click()
    viewer.page.locator("[data-show=constant]").check()
    viewer.page.locator("[data-show=initializer]").check()
    viewer.page.locator("[data-show=dead]").check()
    assert all(viewer.shows(name) for name in constants)
    viewer.page.locator("[data-show=constant]").uncheck()
    viewer.page.locator("[data-show=initializer]").uncheck()
    viewer.page.locator("[data-show=dead]").uncheck()
    assert not any(viewer.shows(name) for name in constants)


def test_state_is_in_the_address_and_comes_back(view, mlp):
    viewer = view(mlp, fold=0)
    viewer.double_click("second")
    viewer.page.locator("#colour").select_option("type")
    viewer.page.keyboard.press("Escape")
    viewer.page.locator("#theme").click()
    viewer.page.evaluate("symgradViewer.go(symgradViewer.model.positions().get('first/inside/Tanh'))")
    viewer.settled()
    fragment = viewer.page.evaluate("location.hash")
    names = "[symgradViewer.colour, symgradViewer.theme, symgradViewer.chosen.op, symgradViewer.placed.count]"
    before = viewer.page.evaluate(names)
    spot = viewer.spot("first/inside/Tanh")
    viewer.open()
    assert viewer.app("colour") == "role"
    viewer.open(fragment)
    assert viewer.page.evaluate(names) == before
    assert viewer.page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert viewer.spot("first/inside/Tanh") == pytest.approx(spot, abs=2)


@pytest.mark.parametrize(
    "fragment", ["#open=9e9-x&view=a,b,c&op=no&group=-1.7&colour=__proto__&theme=x&from=&show=y", "#%%%"]
)
def test_a_broken_address_is_the_first_view(view, mlp, fragment):
    viewer = view(mlp, fold=0)
    first = viewer.app("placed.count")
    viewer.open(fragment)
    assert viewer.app("chosen") is None
    assert viewer.app("colour") == "role"
    assert viewer.app("placed.count") == first


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_theme_follows_the_system_and_the_button(view, mlp, scheme):
    viewer = view(mlp)
    viewer.page.emulate_media(color_scheme=scheme)
    viewer.open()
    corner = "[...d.slice(0, 3)]"
    colours = {"light": [255, 255, 255], "dark": [0x15, 0x18, 0x1D]}
    assert viewer.pixels(corner) == colours[scheme]
    viewer.page.locator("#theme").click()
    viewer.settled()
    assert viewer.pixels(corner) == colours["dark" if scheme == "light" else "light"]


def test_every_colouring_has_a_legend(view, mlp):
    graph = mlp.copy()
    nx.set_node_attributes(graph, {name: float(i) for i, name in enumerate(graph)}, "flops")
    viewer = view(graph, color="flops")
    assert "flops" in viewer.page.locator("#legend").inner_text()
    wanted = {"role": "gradient", "type": "Const", "dtype": "float32", "device": "not set", "flops": "flops"}
    for key, text in wanted.items():
        viewer.page.locator("#colour").select_option(key)
        assert text in viewer.page.locator("#legend").inner_text()


def test_the_small_map_moves_the_picture(view, mlp):
    for size in ((1440, 900), (800, 600)):
        viewer = view(mlp, fold=9, size=size)
        box = viewer.page.locator("#map").bounding_box()
        middle = "(a => [(a.room().width / 2 - a.view.x) / a.view.scale / a.placed.width, "
        middle += "(a.room().height / 2 - a.view.y) / a.view.scale / a.placed.height])(symgradViewer)"
        viewer.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        assert viewer.page.evaluate(middle) == pytest.approx([0.5, 0.5], abs=0.03)


def test_the_printed_page_is_light_and_whole(view, mlp):
    viewer = view(mlp, fold=0)
    viewer.page.locator("#theme").click()
    viewer.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert viewer.page.evaluate("Math.max(picture.width, picture.height)") > 2000
    assert viewer.page.evaluate("document.documentElement.dataset.theme") == "light"
    viewer.page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert viewer.page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_a_page_goes_to_paper_without_what_is_only_for_the_screen(view, mlp):
    viewer = view(mlp, fold=1)
    viewer.click("loss")
    shown = viewer.app("view")
    data = viewer.page.pdf(prefer_css_page_size=True)
    assert data.startswith(b"%PDF")
    assert len(re.findall(rb"/Type\s*/Page\b", data)) == 1
    assert viewer.app("view") == shown
    viewer.page.emulate_media(media="print")
    for name in ("panel", "map", "search", "tip"):
        assert viewer.page.locator(f"#{name}").is_hidden(), name
    for name in ("picture", "legend"):
        assert viewer.page.locator(f"#{name}").is_visible(), name


HOSTILE = [
    "</script><script>window.hacked=1</script>",
    "<img src=x onerror=window.hacked=1>",
    "<a href=javascript:window.hacked=1>x</a>",
    "javascript:window.hacked=1",
    "\"'><svg onload=window.hacked=1>",
    "\u202egnp.exe",
    "__proto__",
    "constructor",
]


def test_hostile_names_stay_text_in_every_panel(view):
    nodes = [
        tf.NodeDef(
            name=name, op=name, device=name, attr={name: tf.AttrValue(s=name.encode())}, input=HOSTILE[i - 1 : i]
        )
        for i, name in enumerate(HOSTILE)
    ]
    viewer = view(build(tf.GraphDef(node=nodes)), title=HOSTILE[0])
    elements = "document.querySelectorAll('script, img, svg, a, iframe, object, embed, link, base, form').length"
    before = viewer.page.evaluate(elements)
    assert before == 2, "the data and the viewer"
    viewer.page.evaluate("symgradViewer.startPath(0); symgradViewer.endPath(symgradViewer.model.opCount - 1)")
    for op in range(len(HOSTILE)):
        viewer.page.evaluate("op => symgradViewer.go(op)", op)
        x, y = viewer.spot(viewer.app(f"model.names()[{op}]"))
        viewer.page.mouse.move(x, y)
        assert viewer.page.locator("#tip").is_visible()
        viewer.page.locator("#search").fill(HOSTILE[op][:12])
        assert HOSTILE[op].replace("\u202e", "\ufffd") in viewer.panel.inner_text()
        for key in ("type", "device"):
            viewer.page.locator("#colour").select_option(key)
        viewer.page.keyboard.press("Escape")
    assert viewer.page.evaluate(elements) == before
    assert viewer.page.evaluate("window.hacked") is None
    assert viewer.page.evaluate("({}).hacked") is None


def test_nothing_covers_the_controls_in_a_small_window(view, mlp):
    viewer = view(mlp, size=(800, 600))
    viewer.click("loss")
    boxes = {
        name: viewer.page.locator(f"#{name}").bounding_box()
        for name in ("search", "colour", "filters", "theme", "fit", "help")
    }
    for name, box in boxes.items():
        assert box["x"] >= 0, name
        assert box["x"] + box["width"] <= 800, name
    listed = list(boxes.values())
    for i, one in enumerate(listed):
        for two in listed[:i]:
            apart_x = one["x"] >= two["x"] + two["width"] or two["x"] >= one["x"] + one["width"]
            assert apart_x or one["y"] >= two["y"] + two["height"] or two["y"] >= one["y"] + one["height"]
    assert viewer.page.evaluate("document.documentElement.scrollWidth") <= 800


def test_works_in_the_frame_of_a_notebook(view, mlp, tmp_path):
    viewer = view(mlp)
    (tmp_path / "notebook.html").write_text(f"<!doctype html><body>{show(mlp, fold=0)._repr_html_()}", encoding="utf-8")
    viewer.page.goto((tmp_path / "notebook.html").as_uri())
    frame = viewer.page.frames[-1] if len(viewer.page.frames) > 1 else viewer.page.wait_for_event("frameattached")
    frame.wait_for_selector("html[data-ready=yes]")
    frame.evaluate("symgradViewer.toggle(symgradViewer.placed.group[0], 0)")
    frame.wait_for_timeout(400)
    assert frame.evaluate("symgradViewer.placed.count") > 5
