"""What torch_test.py runs on each rank: a DataLoader whose workers have copies of an attached model."""

from __future__ import annotations

import sys

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset


class Lines(Dataset[Tensor]):
    """Data that a worker process makes with its copy of the model."""

    def __init__(self, model: nn.Module) -> None:
        self.model = model

    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> Tensor:
        with torch.no_grad():
            return self.model(torch.ones(2))  # type: ignore[no-any-return]


def main() -> None:
    import dsop.torch  # a worker process that is spawned imports this file, and has no need of dsop
    model = nn.Linear(2, 2)
    dsop.torch.attach(model, average="sum")
    ranks = dsop.communicator().size
    for method in ("fork", "spawn"):
        for x in DataLoader(Lines(model), 2, num_workers=2, multiprocessing_context=method):
            model.zero_grad()
            model(x).sum().backward()
            assert model.bias.grad is not None and (model.bias.grad == 2 * ranks).all()
    sys.stdout.write("all passed\n")


if __name__ == "__main__":
    main()
