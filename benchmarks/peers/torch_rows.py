"""torch.func's part of the rows, in a process of its own: beside TensorFlow and JAX its times mean little."""

import numpy as np

from . import models


def torch_rows(options):
    """Quartiles of milliseconds by row and candidate."""
    try:
        import torch
    except ImportError:
        return {}
    from __main__ import alternate

    found = {}
    for name, candidates in _rows(torch).items():
        if options.only in name:
            found[name] = alternate({k: (lambda f=f, x=x: f(x)) for k, (f, x) in candidates.items()}, options.seconds)
    return found


def _rows(torch):
    from torch.func import jacfwd, jacrev, vmap

    def tensors(arrays):
        return [torch.from_numpy(np.ascontiguousarray(a)) for a in arrays]

    def both(f, x):
        return {"torch jacrev": (jacrev(f), x), "torch jacfwd": (jacfwd(f), x)}

    def mlp(x, w):
        return torch.tanh(torch.tanh(x @ w[0]) @ w[1]) @ w[2]

    rows = {}
    for n, m, h in models.MLPS:
        w = tensors(models.weights(models.mlp_shapes(n, m, h)))
        (x,) = tensors([models.point(1, m)])
        rows[f"Jacobian MLP {n}x{m}"] = both(lambda x, w=w: mlp(x, w), x)

    k = tensors(models.weights(models.CONV))
    kernels = [k[0].permute(3, 2, 0, 1).contiguous(), k[1].permute(3, 2, 0, 1).contiguous(), k[2]]

    def conv(x, k):
        h = torch.nn.functional.pad(x.reshape(-1, 1, 28, 28), (1, 2, 1, 2))  # SAME at stride 2: more on the right
        h = torch.relu(torch.nn.functional.conv2d(h, k[0], stride=2))
        h = torch.relu(torch.nn.functional.conv2d(torch.nn.functional.pad(h, (0, 1, 0, 1)), k[1], stride=2))
        return h.reshape(-1, 784) @ k[2]

    (image,) = tensors([models.point(1, 784)])
    rows["Jacobian conv logits by image"] = both(lambda x: conv(x, kernels), image)
    rows["Jacobian conv logits by kernels"] = both(lambda q: conv(image, [kernels[0], q, kernels[2]]), kernels[1])
    w = tensors(models.weights(models.mlp_shapes(10, 100, 128)))
    (x,) = tensors([models.point(64, 100)])
    rows["batch Jacobian 64x10x100"] = {
        "torch vmap(jacrev)": (vmap(jacrev(lambda x: mlp(x, w))), x),
        "torch vmap(jacfwd)": (vmap(jacfwd(lambda x: mlp(x, w))), x),
    }
    return rows
