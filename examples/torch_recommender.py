#!/usr/bin/env python3
"""A recommender in plain PyTorch: which user likes which item. One added line, marked below, trains it on all ranks.

Of the embeddings' gradients only the rows that some rank has looked up travel. The data are made: how easily a user
is pleased and how pleasing an item is decide.
"""
import torch
from torch import nn

import dsop
import dsop.torch

USERS, ITEMS, WIDTH = 2000, 1000, 32


class Recommender(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.users = nn.Embedding(USERS, WIDTH, sparse=True)  # .grad has only rows, for SparseAdam
        self.items = nn.Embedding(ITEMS, WIDTH, sparse=True)
        self.head = nn.Sequential(nn.Linear(2 * WIDTH, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, users: torch.Tensor, items: torch.Tensor) -> torch.Tensor:
        looked_up = torch.cat([self.users(users), self.items(items)], 1)
        return self.head(looked_up).squeeze(1)


everybody = dsop.communicator()
torch.manual_seed(0)
model = Recommender()
attachment = dsop.torch.attach(model)  # the added line

rows = torch.optim.SparseAdam([model.users.weight, model.items.weight], lr=0.05)
rest = torch.optim.Adam(model.head.parameters(), lr=0.005)
easily, pleasing = torch.randn(USERS), torch.randn(ITEMS)
samples = torch.Generator().manual_seed(everybody.rank)  # each rank has its own
for step in range(40):
    users = torch.randint(USERS, (256,), generator=samples)
    items = torch.randint(ITEMS, (256,), generator=samples)
    likes = (easily[users] + pleasing[items] > 0).float()
    model.zero_grad(set_to_none=True)
    loss = nn.functional.binary_cross_entropy_with_logits(model(users, items), likes)
    loss.backward()  # .grad is now the mean over ranks
    rows.step()
    rest.step()

if everybody.rank == 0:
    print(f"loss {loss.item():.3f} after {step + 1} steps of {everybody.size} ranks")
    print(attachment.describe())
