"""Control flow that TensorFlow cannot differentiate as it stands: private copies of V2 ops, V1 contexts rebuilt."""

from ._in_context import inside, v1_control_flow, v2_control_flow
from ._inline import can_inline, declared_gradient, graft
from ._loop_variables import add_variable, enter, exit_of, switch
from ._own_bodies import bodies, own_bodies
from ._places import Place, Places, is_loop_merge, is_loop_switch
from ._private import PrivateCopy, alias, behind, clone, needs_copy, private, refuse_copies, refuse_inlining
from ._rebuild import rebuild, rebuild_for, rebuild_for_reverse
from ._side_effects import refuse_side_effects
from ._surroundings import encloses, home_of, leads_to_the_call, place_for
from ._zero_gradients import mend_zero_gradients

__all__ = [
    "Place",
    "Places",
    "PrivateCopy",
    "add_variable",
    "alias",
    "behind",
    "bodies",
    "can_inline",
    "clone",
    "declared_gradient",
    "encloses",
    "enter",
    "exit_of",
    "graft",
    "home_of",
    "inside",
    "is_loop_merge",
    "is_loop_switch",
    "leads_to_the_call",
    "mend_zero_gradients",
    "needs_copy",
    "own_bodies",
    "place_for",
    "private",
    "rebuild",
    "rebuild_for",
    "rebuild_for_reverse",
    "refuse_copies",
    "refuse_inlining",
    "refuse_side_effects",
    "switch",
    "v1_control_flow",
    "v2_control_flow",
]
