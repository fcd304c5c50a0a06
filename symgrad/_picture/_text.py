"""Text in pictures: how wide it is, how to shorten it, how to make a stranger's name safe to write."""

from html import escape as _escape
from math import log10

# Advance widths in thousandths of the size, by kind of character; unlisted ones count as wide. They are those of DejaVu
# Sans, the widest of the fonts that a viewer may choose, so that a label fits its box in all of them.
WIDTHS = {
    **dict.fromkeys("ijl'|", 290),
    **dict.fromkeys("I.,:; !ft()[]/\\-r`", 370),
    **dict.fromkeys('csxzkvyJ_?"*^', 540),
    **dict.fromkeys("abdeghnopqu0123456789LFEPTSYZXB$", 640),
    **dict.fromkeys("ACDGHKNOQRUVw&#<>=+~×", 780),
    **dict.fromkeys("mMW%@", 990),
    **dict.fromkeys("∇²³⁴…", 700),
}
WIDE = 1000


def width(text: str, size: float) -> float:
    """Estimated width of `text` in pixels at a font size in pixels."""
    return sum(WIDTHS.get(character, WIDE) for character in text) * size / 1000


def shorten(text: str, size: float, room: float) -> str:
    """`text`, with its middle left out where it is wider than `room` pixels: names differ at their ends."""
    if width(text, size) <= room:
        return text
    keep = max(2, int(len(text) * room / width(text, size)) - 1)
    while keep > 2 and width(text[: keep // 2] + "…" + text[-(keep - keep // 2) :], size) > room:
        keep -= 1
    return text[: keep // 2] + "…" + text[-(keep - keep // 2) :]


def safe(text: object) -> str:
    """`text` for an XML text or attribute: markup escaped, what XML or a reader's eye cannot bear replaced.

    Control characters are illegal in XML; characters that reverse the direction of writing could make a name look
    like another one.
    """
    return _escape(plain(text), quote=True)


def plain(text: object) -> str:
    """`text` on one line, with a replacement for each character that no picture should hold."""
    shown = str(text)
    if shown.isascii() and shown.isprintable():
        return shown
    return "".join(character if _is_plain(character) else "\ufffd" for character in shown)


def human_number(value: float) -> str:
    """A count or measured value as people write it: 1234 -> "1,234", 3.8e9 -> "3.8 G"; the viewer writes alike."""
    size = abs(value)
    if size >= 1e4:
        power = min(6, int(log10(size) / 3))
        return f"{float(f'{value / 10 ** (3 * power):.3g}'):g} {' kMGTPE'[power]}"
    return f"{value:.2e}" if 0 < size < 1e-3 else f"{float(f'{value:.4g}'):,g}"


def shape_text(shape: tuple | None) -> str:
    """A shape as people write it: "[?, 8]"."""
    return "shape unknown" if shape is None else "[" + ", ".join("?" if d is None else str(d) for d in shape) + "]"


def _is_plain(character: str) -> bool:
    code = ord(character)
    if code < 32 or 0x7F <= code < 0xA0 or 0xD800 <= code < 0xE000 or code in (0xFFFE, 0xFFFF, 0x200E, 0x200F, 0x061C):
        return False
    return not (0x202A <= code <= 0x202E or 0x2066 <= code <= 0x2069)
