"""Checks for derivatives: the adjoint identity, linearity, central differences; and a cluster to run them on."""

from ._checks import check_adjoint, check_linear, verify_grad
from ._cluster import Cluster, local_cluster
from ._numeric import numeric_jacobian

__all__ = ["Cluster", "check_adjoint", "check_linear", "local_cluster", "numeric_jacobian", "verify_grad"]
