"""Optimizers in the style of TensorFlow 1, extended by declarations and one method."""

__all__: list[str] = []
