"""Where products run, on which data: the keywords that all operators share."""

import contextlib
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from .._jacobians._sizing import check_block_size
from ..errors import ShapeError

Feeds = Mapping[Any, Any]


@dataclass(frozen=True)
class Data:
    """The data of an operator.

    Attributes:
      feed_dict: what every run is fed.
      batches: a list of feed_dicts, or a function that gives an iterator over them anew; None for one run.
      reduction: "mean" or "sum": how the matrices of batches make up that of all data.
    """

    feed_dict: Feeds
    batches: Sequence[Feeds] | Callable[[], Iterable[Feeds]] | None
    reduction: str

    @staticmethod
    def of(feed_dict: Feeds | None, batches: Any, reduction: str) -> "Data":
        """The checked keywords."""
        if reduction not in ("mean", "sum"):
            raise ValueError(f"reduction={reduction!r}; wanted 'mean' or 'sum'")
        if batches is not None and not callable(batches) and not isinstance(batches, Sequence):
            raise ValueError(
                f"batches is a {type(batches).__name__}, which can be gone through once only; wanted a list of "
                "feed_dicts, or a function that gives an iterator over them anew"
            )
        return Data(dict(feed_dict or {}), batches, reduction)

    def feeds(self) -> Iterator[dict[Any, Any]]:
        """What to feed in each run, with a line of progress on a terminal if there are several."""
        if self.batches is None:
            yield dict(self.feed_dict)
            return
        given = self.batches() if callable(self.batches) else self.batches
        with _progress(given) as tracked:
            for batch in tracked:
                yield {**self.feed_dict, **batch}

    def examples(self, feeds: Feeds) -> int:
        """How many examples a batch has: the leading dimension of what is fed for it."""
        sizes = {np.shape(value)[0] for value in feeds.values() if np.ndim(value) > 0}
        if len(sizes) != 1:
            raise ShapeError(
                f"the arrays of a batch have the leading sizes {sorted(sizes)}; wanted one, the number of examples, by "
                'which reduction="mean" weighs batches. Put what is not data into feed_dict, or take reduction="sum"'
            )
        return sizes.pop()

    def weight(self, feeds: Feeds) -> float:
        """What the matrix of a batch counts for."""
        if self.batches is None or self.reduction == "sum":
            return 1.0
        return float(self.examples({key: value for key, value in feeds.items() if key not in self.feed_dict}))


@contextlib.contextmanager
def _progress(batches: Iterable[Feeds]) -> Iterator[Iterable[Feeds]]:
    if not sys.stderr.isatty():
        yield batches
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        yield progress.track(batches, description="batches")


def default_session(session: Any) -> Any:
    """The session given, or the default one."""
    session = session or tf.get_default_session()
    if session is None:
        raise ValueError("an operator needs a session, and there is no default one; give session=")
    return session


def check_keywords(session: Any, block_size: int | None, disconnected: str) -> None:
    """Refuse what every operator refuses, before anything is built."""
    default_session(session)
    check_block_size(block_size)
    if disconnected not in ("raise", "zero"):
        raise ValueError(f"disconnected={disconnected!r}; wanted 'raise', or 'zero' for a block of zeros")
