"""What every test relies on: quiet TensorFlow, reproducible random tests, and the versions in the closing summary."""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import importlib.metadata
import platform

import hypothesis
import numpy as np
import pytest

hypothesis.settings.register_profile("ci", derandomize=True, deadline=None, max_examples=30, database=None)
hypothesis.settings.load_profile("ci")


@pytest.fixture
def rng():
    """A seeded generator; every test sees the same numbers in any order of tests."""
    return np.random.default_rng(20170623)


def pytest_terminal_summary(terminalreporter):
    versions = [f"{name} {importlib.metadata.version(name)}" for name in ("tensorflow", "numpy", "networkx", "scipy")]
    terminalreporter.write_line(f"ran on Python {platform.python_version()}, {', '.join(versions)}")
