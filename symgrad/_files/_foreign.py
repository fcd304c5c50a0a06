"""What a file is that is not a TensorFlow graph, told from its first and last bytes."""

import re

# A LevelDB table, which is what a checkpoint's index is, ends in this magic number (little endian).
_TABLE_MAGIC = bytes.fromhex("57fb808b247547db")

_HEADS = (
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file (Keras weights or model); load it in Keras and export a SavedModel"),
    (b"PK\x03\x04", "a zip archive (a .keras model, a PyTorch file or an .npz); unpack or export it first"),
    (b"\x1f\x8b", "a gzip archive; unpack it first"),
    (b"BZh", "a bzip2 archive; unpack it first"),
    (b"\xfd7zXZ", "an xz archive; unpack it first"),
    (b"\x93NUMPY", "a NumPy array file; it holds no graph"),
    (b"\x80\x02", "a Python pickle; it holds no TensorFlow graph"),
    (b"\x80\x03", "a Python pickle; it holds no TensorFlow graph"),
    (b"\x80\x04", "a Python pickle; it holds no TensorFlow graph"),
    (b"\x80\x05", "a Python pickle; it holds no TensorFlow graph"),
    (b"\x89PNG", "a PNG picture"),
    (b"\xff\xd8\xff", "a JPEG picture"),
    (b"GIF8", "a GIF picture"),
    (b"%PDF", "a PDF document"),
    (b"\x7fELF", "a compiled library or program; if it defines ops, give it to tf.load_op_library"),
    (b"version https://git-lfs", "a Git LFS pointer, not the file itself; run `git lfs pull`"),
)

_TEXT_HEADS = (
    (
        r"model_checkpoint_path\s*:",
        "the `checkpoint` state file of a checkpoint directory; give the .meta file beside it",
    ),
    (r"<(!doctype html|html)", "an HTML page, perhaps an error page that was saved instead of the model"),
    (r"<(\?xml|svg)", "an XML or SVG file"),
    (r"(ir_version|opset_import)\s*[:{]", "an ONNX model in text form"),
    (r"[{\[]", "a JSON file"),
    (r"(import|from|def|class|#!)\s*", "a script"),
)


def describe(data: bytes) -> str | None:
    """A phrase that names the format of `data`, or None where nothing is recognised."""
    for head, meaning in _HEADS:
        if data.startswith(head):
            return meaning
    if data[4:8] == b"TFL3":
        return "a TensorFlow Lite model; it has no gradients, load the graph it was converted from"
    if data[-8:] == _TABLE_MAGIC:
        return "the index of a TensorFlow checkpoint: values without a graph; give the .meta file beside it"
    if _is_event_file(data):
        return "a TensorBoard event file; TensorBoard can download the graph that is in it"
    if len(data) > 1 and data[:1] == b"\x08" and b"onnx" in data[:200].lower():
        return "an ONNX model; convert it to a TensorFlow graph first"
    text = as_text(data)
    if text is not None:
        for pattern, meaning in _TEXT_HEADS:
            if re.match(pattern, text.lstrip(), re.IGNORECASE):
                return meaning
        return "a text file, but not the text form of a TensorFlow graph"
    return None


def as_text(data: bytes) -> str | None:
    """`data` as text, or None where it holds bytes that no text has."""
    head = data[:4096]
    if any(byte < 32 and byte not in b"\t\n\r\f" for byte in head):
        return None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None


def _is_event_file(data: bytes) -> bool:
    """TFRecord framing (8 bytes of length, 4 of checksum) around an Event that starts with a wall time."""
    length = int.from_bytes(data[:8], "little")
    return len(data) > 24 and 9 < length < len(data) and data[12:13] == b"\x09" and b"brain.Event" in data[:64]
