"""Pushforward rules of neural network ops."""

from ._rows import linear, multilinear

linear("BiasAdd", "BiasAddV1", "BiasAddGrad", moves=None)
linear("AvgPool", "AvgPool3D", moves=0)
linear("AvgPoolGrad", "AvgPool3DGrad", moves=1)

multilinear("Conv2D", "Conv3D", "DepthwiseConv2dNative", moves=(0, 1))
multilinear("Conv2DBackpropInput", "Conv3DBackpropInputV2", "DepthwiseConv2dNativeBackpropInput", moves=(1, 2))
multilinear("Conv2DBackpropFilter", "Conv3DBackpropFilterV2", "DepthwiseConv2dNativeBackpropFilter", moves=(0, 2))
