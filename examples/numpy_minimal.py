#!/usr/bin/env python3
"""One fully connected layer, in Python: every rank has two samples, everybody gets the mean gradient of all."""
import numpy as np

import dsop

n, m, k = 300, 200, 2  # inputs, outputs, samples a rank
everybody = dsop.communicator()  # all ranks that mpirun has started; mpi4py's communicators serve too

a = np.ones((k, n), np.float32)  # what went into the layer, a sample a row
b = np.full((k, m), everybody.rank, np.float32)  # the error that came back, a sample a row
scale = 1 / (k * everybody.size)

# One call that picks the algorithm ...
gradient = dsop.outer_product(a, b, scale=scale)

# ... or a layer that plans once and keeps its buffers.
layer = dsop.OuterProduct(n, m, max_pairs=k, scale=scale)
layer.run(a, b, out=gradient)

if everybody.rank == 0:
    print(f"{layer.algorithm}: every element is {gradient[0, 0]:g}")
