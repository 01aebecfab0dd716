"""One fully connected layer in PyTorch: every rank has two samples, everybody gets the mean gradient of all."""
import torch

import dsop.torch

layer = torch.nn.Linear(300, 200)
dsop.torch.attach(layer)  # the added line

rank = dsop.communicator().rank
(layer(torch.ones(2, 300)) * rank).sum(1).mean().backward()  # .grad is now the mean over ranks
if rank == 0:
    print(f"every element is {layer.weight.grad[0, 0].item():g}")
