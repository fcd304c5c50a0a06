# What `symgrad.<name>` is to type checkers and editors; at run time __init__.py loads these names at their first use.
from . import cli as cli
from . import diagnose as diagnose
from . import errors as errors
from . import graph as graph
from . import linops as linops
from . import loaders as loaders
from . import operators as operators
from . import optimizers as optimizers
from . import rules as rules
from . import sparsity as sparsity
from . import testing as testing
from .operators import Lop as Lop
from .operators import Rop as Rop
from .operators import batch_jacobian as batch_jacobian
from .operators import biharmonic as biharmonic
from .operators import compiled as compiled
from .operators import curl as curl
from .operators import directional as directional
from .operators import divergence as divergence
from .operators import example_jacobian as example_jacobian
from .operators import ggnvp as ggnvp
from .operators import gradients as gradients
from .operators import hessian as hessian
from .operators import hvp as hvp
from .operators import jacobian as jacobian
from .operators import jacobian_blocks as jacobian_blocks
from .operators import jet as jet
from .operators import laplacian as laplacian
from .operators import partials as partials
from .sparsity import sparse_hessian as sparse_hessian
from .sparsity import sparse_jacobian as sparse_jacobian

__version__: str
__all__: list[str]
