"""The rows of the benchmark of derivatives, and what is compared in each."""

from .memory import MEMORY, memory_of
from .rows import builds, tensorflow_rows
from .torch_rows import torch_rows

__all__ = ["MEMORY", "builds", "memory_of", "tensorflow_rows", "torch_rows"]
