#!/usr/bin/env python3
"""A perceptron in plain PyTorch. One added line, marked below, trains it on all ranks that mpirun starts.

The data are made: a teacher network's answers to random inputs. With --ddp DistributedDataParallel over Gloo trains it;
MASTER_ADDR then names rank 0's host where there are several.
"""
import os
import sys
import time

import torch
from torch import distributed, nn

import dsop
import dsop.torch

everybody = dsop.communicator()
torch.manual_seed(0)
teacher = nn.Linear(784, 10)
model = nn.Sequential(nn.Linear(784, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 10))
by_ddp = "--ddp" in sys.argv
if by_ddp:
    store = f"tcp://{os.environ.get('MASTER_ADDR', '127.0.0.1')}:{os.environ.get('MASTER_PORT', '29500')}"
    distributed.init_process_group("gloo", store, rank=everybody.rank, world_size=everybody.size)
    model = nn.parallel.DistributedDataParallel(model)
else:
    attachment = dsop.torch.attach(model)  # the added line

optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
samples = torch.Generator().manual_seed(everybody.rank)  # each rank has its own
begin = time.perf_counter()
for step in range(20):
    inputs = torch.randn(16, 784, generator=samples)
    with torch.no_grad():
        labels = teacher(inputs).argmax(1)
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(inputs), labels)
    loss.backward()  # .grad is now the mean over ranks
    optimizer.step()
seconds = (time.perf_counter() - begin) / (step + 1)

if everybody.rank == 0:
    print(f"loss {loss.item():.3f} after {step + 1} steps of {everybody.size} ranks, {seconds:.3f} s each")
    if not by_ddp:
        print(attachment.describe())
