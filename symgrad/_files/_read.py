"""Bytes and paths to GraphDef, MetaGraphDef and SavedModel, in binary and text form."""

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import LoadError
from ._foreign import as_text, describe
from ._wiring import Wiring, wiring

_FIRST_FIELDS = {
    "GraphDef": ("node", "versions", "version", "library", "debug_info"),
    "MetaGraphDef": (
        "meta_info_def", "graph_def", "saver_def", "collection_def", "signature_def", "asset_file_def",
        "object_graph_def",
    ),
    "SavedModel": ("saved_model_schema_version", "meta_graphs"),
}  # fmt: skip

_PROTOBUF_LIMIT = 2**31 - 1


@dataclass(frozen=True)
class GraphFile:
    """A graph as it was stored.

    Attributes:
      kind: `"GraphDef"`, `"MetaGraphDef"` or `"SavedModel"`.
      label: what to call it in messages.
      graph_def: the checked GraphDef.
      meta_graph: the MetaGraphDef around it, None for a bare GraphDef.
      checkpoint: prefix of the checkpoint that belongs to it, whether or not it exists; None where there cannot be one.
      directory: the SavedModel's directory, None for other kinds.
      wiring: ops and edges of `graph_def` as arrays.
    """

    kind: str
    label: str
    graph_def: Any
    wiring: Wiring
    meta_graph: Any = None
    checkpoint: str | None = None
    directory: Path | None = None


def read(source: str | os.PathLike | bytes, *, tags: str | list[str] | None = None) -> GraphFile:
    """Read a graph without importing it into TensorFlow.

    Args:
      source: path of a .pb, .pbtxt, .meta or of a SavedModel directory; or the bytes of such a file.
      tags: tag or tags of the MetaGraph to take from a SavedModel; None takes the only one, or `serve`.

    Returns:
      A `GraphFile` whose GraphDef has unique names, no missing inputs and no cycle but V1 loops.

    Raises:
      LoadError: the file is missing, damaged, truncated or of another format; the message says which.
    """
    if isinstance(source, bytes):
        return _from_bytes(source, f"{len(source):,} bytes", None, tags)
    if not isinstance(source, (str, os.PathLike)):
        raise LoadError(f"expected a path or bytes, got {type(source).__name__}")
    path = Path(source)
    try:
        if path.is_dir():
            path = _saved_model_in(path)
        if not path.exists():
            raise LoadError(_not_there(path))
        if path.stat().st_size > _PROTOBUF_LIMIT:
            raise LoadError(f"{path}: {path.stat().st_size:,} bytes; a protobuf file cannot exceed 2 GiB")
        data = path.read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        if isinstance(error, LoadError):
            raise
        raise LoadError(f"{path}: cannot be read: {error}") from error
    return _from_bytes(data, str(path), path, tags)


def read_graph_def(source: str | os.PathLike | bytes, *, tags: str | list[str] | None = None) -> Any:
    """The GraphDef in `source`, checked; see `read`."""
    return read(source, tags=tags).graph_def


def _from_bytes(data: bytes, label: str, path: Path | None, tags: str | list[str] | None) -> GraphFile:
    if not data:
        raise LoadError(f"{label}: the file is empty")
    kind, message = _parse(data, label)
    meta, directory, checkpoint = None, None, None
    if kind == "SavedModel":
        meta = _meta_graph_of(message, tags, label)
        if path is not None:
            directory = path.parent
            checkpoint = str(directory / "variables" / "variables")
    elif kind == "MetaGraphDef":
        meta = message
        if path is not None:
            checkpoint = str(path.with_suffix("")) if path.suffix == ".meta" else str(path)
    graph_def = message if meta is None else meta.graph_def
    if not graph_def.node:
        raise LoadError(f"{label}: a {kind} without a single op")
    return GraphFile(kind, label, graph_def, wiring(graph_def.node, label), meta, checkpoint, directory)


def _parse(data: bytes, label: str) -> tuple[str, Any]:
    text = as_text(data)
    if text is not None:
        kind = _kind_of_text(text)
        if kind is not None:
            return kind, _parse_text(text, kind, label)
    known = describe(data)
    if known is not None:
        raise LoadError(f"{label}: not a TensorFlow graph but {known}")
    found = _parse_binary(data)
    if found is None:
        raise LoadError(f"{label}: {_damage(data)}")
    return found


def _kind_of_text(text: str) -> str | None:
    """Which message a text protobuf is, by its first field."""
    first = re.match(r"(?:\s|#[^\n]*\n)*([A-Za-z_]\w*)\s*[:{<]", text)
    if first is None:
        return None
    return next((kind for kind, fields in _FIRST_FIELDS.items() if first[1] in fields), None)


def _parse_text(text: str, kind: str, label: str) -> Any:
    from google.protobuf import text_format

    message = _messages()[kind]()
    try:
        text_format.Parse(text, message)
    except text_format.ParseError as error:
        raise LoadError(f"{label}: the text of a {kind}, damaged or cut short: {error}") from error
    except (ValueError, RecursionError, TypeError) as error:
        raise LoadError(f"{label}: the text of a {kind}, damaged: {type(error).__name__}: {error}") from error
    return message


def _parse_binary(data: bytes) -> tuple[str, Any] | None:
    """The message that `data` is: the three share field numbers, so the one whose content makes sense."""
    from google.protobuf.message import DecodeError

    plausible: dict[str, Callable[[Any], bool]] = {
        "SavedModel": lambda m: any(_looks_like_graph(meta.graph_def) for meta in m.meta_graphs),
        "MetaGraphDef": lambda m: _looks_like_graph(m.graph_def),
        "GraphDef": _looks_like_graph,
    }
    for kind, accept in plausible.items():
        message = _messages()[kind]()
        try:
            message.ParseFromString(data)
        except (DecodeError, ValueError, RuntimeError, RecursionError):
            continue
        if accept(message):
            return kind, message
    return None


def _looks_like_graph(graph_def: Any) -> bool:
    """At least one node with a name and an op type; a damaged node among them gets its own error later."""
    return any(node.name and node.op for node in graph_def.node)


def _messages() -> dict[str, Any]:
    import tensorflow.compat.v1 as tf

    from .._tf import SavedModel

    return {"GraphDef": tf.GraphDef, "MetaGraphDef": tf.MetaGraphDef, "SavedModel": SavedModel}


def _damage(data: bytes) -> str:
    """What is wrong with bytes that are no known format: walk the top-level protobuf records."""
    at, records = 0, 0
    while at < len(data):
        after = _after_record(data, at)
        if after is None or after > len(data):
            break
        at, records = after, records + 1
    if at == len(data):
        return "a protobuf file, but none of GraphDef, MetaGraphDef and SavedModel, or a damaged one"
    if records and data[0] in (0x0A, 0x08):
        return (
            f"a protobuf file that is truncated or damaged: after {records} whole records the one at byte {at:,} "
            f"does not fit into the {len(data):,} bytes; fetch the file again"
        )
    return "neither a TensorFlow graph nor a format known here, or too damaged to tell"


def _after_record(data: bytes, at: int) -> int | None:
    """Where the protobuf record that starts at `at` ends, None where there is no record."""
    tag, at = _varint(data, at)
    if tag is None or tag >> 3 == 0:
        return None
    wire = tag & 7
    if wire == 0:
        return _varint(data, at)[1]
    if wire in (1, 5):
        return at + (8 if wire == 1 else 4)
    if wire == 2:
        length, at = _varint(data, at)
        return None if length is None else at + length
    return None


def _varint(data: bytes, at: int) -> tuple[int | None, int]:
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            return None, at
        value |= (data[at] & 127) << shift
        at += 1
        if data[at - 1] < 128:
            return value, at
    return None, at


def _saved_model_in(directory: Path) -> Path:
    for name in ("saved_model.pb", "saved_model.pbtxt"):
        if (directory / name).exists():
            return directory / name
    metas = sorted(entry.name for entry in directory.glob("*.meta"))
    if metas:
        raise LoadError(
            f"{directory}: a checkpoint directory, not a SavedModel; give one of its graphs: {', '.join(metas)}"
        )
    if (directory / "keras_metadata.pb").exists() or (directory / "variables").exists():
        raise LoadError(f"{directory}: a SavedModel directory whose saved_model.pb is missing")
    raise LoadError(f"{directory}: a directory without saved_model.pb or saved_model.pbtxt, so not a SavedModel")


def _not_there(path: Path) -> str:
    if path.with_name(path.name + ".meta").exists():
        return f"{path}: the prefix of a checkpoint; give its graph, {path.name}.meta"
    return f"{path}: no such file or directory"


def _meta_graph_of(saved_model: Any, tags: str | list[str] | None, label: str) -> Any:
    """The MetaGraph with exactly these tags; without tags the only one, or the one tagged `serve`."""
    held = {frozenset(meta.meta_info_def.tags): meta for meta in saved_model.meta_graphs}
    shown = " or ".join(str(sorted(key)) for key in sorted(held, key=sorted))
    if tags is not None:
        wanted = frozenset([tags] if isinstance(tags, str) else tags)
        if wanted not in held:
            raise LoadError(f"{label}: no MetaGraph is tagged {sorted(wanted)}; this SavedModel has {shown}")
        return held[wanted]
    if len(held) == 1:
        return next(iter(held.values()))
    if frozenset(["serve"]) in held:
        return held[frozenset(["serve"])]
    raise LoadError(f"{label}: holds {len(held)} MetaGraphs; choose one by tags={shown}")
