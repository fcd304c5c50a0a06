"""Control flow of either kind, whatever is on for the process."""

import pytest
from worlds import control_flow


@pytest.fixture
def control_flow_v2():
    """A context in which tf.cond and tf.while_loop build V2 ops, or V1 frames."""
    return lambda on: control_flow(v2=on)
