#!/usr/bin/env python3
"""A perceptron in plain PyTorch. One added line, marked below, trains it on all ranks that mpirun starts.

The data are made: a teacher network's answers to random inputs.
"""
import torch
from torch import nn

import dsop
import dsop.torch

everybody = dsop.communicator()
torch.manual_seed(0)
teacher = nn.Linear(784, 10)
model = nn.Sequential(nn.Linear(784, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 10))
attachment = dsop.torch.attach(model)  # the added line

optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
samples = torch.Generator().manual_seed(everybody.rank)  # each rank has its own
for step in range(20):
    inputs = torch.randn(16, 784, generator=samples)
    with torch.no_grad():
        labels = teacher(inputs).argmax(1)
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(inputs), labels)
    loss.backward()  # .grad is now the mean over ranks
    optimizer.step()

if everybody.rank == 0:
    print(f"loss {loss.item():.3f} after {step + 1} steps of {everybody.size} ranks")
    print(attachment.describe())
