"""Every test here builds in a graph of its own."""

import pytest


@pytest.fixture(autouse=True)
def in_a_graph(graph):
    """Make the test's graph the default one, whether the test names it or not."""
