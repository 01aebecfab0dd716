"""The models: each with data that are drawn, and a loss."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any, NamedTuple

import torch
from torch import Generator, Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import PackedSequence, pack_sequence
from torch.utils.checkpoint import checkpoint_sequential


class Problem(NamedTuple):
    model: nn.Module
    draw: Callable[[Generator], tuple[Any, Tensor]]  # one rank's inputs and targets of a step
    loss: Callable[[Tensor, Tensor], Tensor]


def layers(*widths: int) -> nn.Sequential:
    """Linear ones with ReLU between them."""
    made: list[nn.Module] = []
    for inputs, outputs in zip(widths, widths[1:]):
        made += [nn.Linear(inputs, outputs), nn.ReLU()]
    return nn.Sequential(*made[:-1])


def mlp(_: Any) -> Problem:
    return Problem(layers(784, 4096, 4096, 10),
                   lambda random: (torch.rand(16, 784, generator=random), torch.randint(10, (16,), generator=random)),
                   functional.cross_entropy)


def autoencoder(_: Any) -> Problem:
    def draw(random: Generator) -> tuple[Tensor, Tensor]:
        expressions = torch.rand(16, 7560, generator=random)
        return expressions, expressions
    return Problem(layers(7560, 2000, 600, 2000, 7560), draw, functional.mse_loss)


class Recommender(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.items, self.score = nn.Embedding(200_000, 64), layers(8 * 64, 512, 256, 1)

    def forward(self, items: Tensor) -> Tensor:
        return self.score(self.items(items).flatten(1))  # type: ignore[no-any-return]


def recommender(_: Any) -> Problem:
    return Problem(Recommender(),
                   lambda random: (torch.randint(200_000, (64, 8), generator=random), torch.rand(64, 1, generator=random)),
                   functional.mse_loss)


class Tagger(nn.Module):
    def __init__(self, lstm: Any) -> None:
        super().__init__()
        self.words, self.lstm, self.head = nn.Embedding(900, 128), lstm(128, 512), nn.Linear(512, 127)

    def forward(self, words: PackedSequence) -> Tensor:
        output, _ = self.lstm(words._replace(data=self.words(words.data)))
        return self.head(output.data)  # type: ignore[no-any-return]


def lstm(kind: Any) -> Problem:
    """As many words, tags and words a sentence as ATIS has."""
    def draw(random: Generator) -> tuple[PackedSequence, Tensor]:
        lengths = torch.randint(6, 20, (2,), generator=random).tolist()
        return (pack_sequence([torch.randint(900, (length,), generator=random) for length in lengths], enforce_sorted=False),
                torch.randint(127, (sum(lengths),), generator=random))
    return Problem(Tagger(kind), draw, functional.cross_entropy)


def convolutions(_: Any) -> Problem:
    made: list[nn.Module] = []
    for inputs, outputs in ((3, 32), (32, 64), (64, 128)):
        made += [nn.Conv2d(inputs, outputs, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
    return Problem(nn.Sequential(*made, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(128, 10)),
                   lambda random: (torch.rand(16, 3, 32, 32, generator=random), torch.randint(10, (16,), generator=random)),
                   functional.cross_entropy)


class Checkpointed(nn.Sequential):
    """Backward computes its inner values once more."""

    _options = {"use_reentrant": False} if "use_reentrant" in signature(checkpoint_sequential).parameters else {}  # torch 2

    def forward(self, x: Tensor) -> Tensor:
        return checkpoint_sequential(self, 4, x.requires_grad_(), **self._options)  # type: ignore[no-any-return]


def _many(count: int, width: int, samples: int, kind: type[nn.Sequential] = nn.Sequential) -> Callable[[Any], Problem]:
    """So many of Linear and Tanh, as wide."""
    def make(_: Any) -> Problem:
        made = [module for _ in range(count) for module in (nn.Linear(width, width), nn.Tanh())]
        return Problem(kind(*made),
                       lambda random: (torch.rand(samples, width, generator=random), torch.rand(samples, width, generator=random)),
                       functional.mse_loss)
    return make


MODELS: dict[str, Callable[[Any], Problem]] = {"mlp": mlp, "autoencoder": autoencoder, "recommender": recommender,
                                               "lstm": lstm, "convolutions": convolutions,
                                               "100x16": _many(100, 16, 2), "800x16": _many(800, 16, 2),
                                               "400x64": _many(400, 64, 2), "100x128": _many(100, 128, 2),
                                               "60x512": _many(60, 512, 4), "40x512": _many(40, 512, 8192),
                                               "40x512-checkpointed": _many(40, 512, 8192, Checkpointed)}
