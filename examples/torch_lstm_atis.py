#!/usr/bin/env python3
"""Finds what the words of flight queries mean, by an LSTM. One added line, marked below, trains it on all ranks.

Usage: torch_lstm_atis.py FILE [--ddp] [--steps N] [--hidden N]

FILE, such as atis.train.iob, has a query a line: words, a tab, and a tag for each word but the last, then the intent.
Each rank that mpirun starts takes two queries a step; the last tenth of the file is kept for the test.

--ddp trains with nn.LSTM and DistributedDataParallel over Gloo, which finds rank 0 by MASTER_ADDR and MASTER_PORT.
"""
import argparse
import os
import time

import torch
from torch import distributed, nn
from torch.nn.utils.rnn import pack_sequence

import dsop
import dsop.torch

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("file")
parser.add_argument("--ddp", action="store_true")
parser.add_argument("--steps", type=int, default=100)
parser.add_argument("--hidden", type=int, default=512)
options = parser.parse_args()

with open(options.file, encoding="utf-8") as lines:
    queries = [[half.split()[:-1] for half in line.split("\t")] for line in lines]
word_of, tag_of = ({name: at for at, name in enumerate(sorted({name for query in queries for name in query[i]}))}
                   for i in (0, 1))
samples = [(torch.tensor([word_of[word] for word in words]), torch.tensor([tag_of[tag] for tag in tags]))
           for words, tags in queries]
train, test = samples[:-len(samples) // 10], samples[-len(samples) // 10:]


class Tagger(nn.Module):
    def __init__(self, lstm):
        super().__init__()
        self.embedding = nn.Embedding(len(word_of), 128)
        self.lstm = lstm(128, options.hidden)
        self.head = nn.Linear(options.hidden, len(tag_of))

    def forward(self, words):
        output, _ = self.lstm(words._replace(data=self.embedding(words.data)))
        return self.head(output.data)


torch.manual_seed(0)
if options.ddp:
    rank = int(os.environ.get("OMPI_COMM_WORLD_RANK", 0))
    ranks = int(os.environ.get("OMPI_COMM_WORLD_SIZE", 1))
    address = f"tcp://{os.environ.get('MASTER_ADDR', '127.0.0.1')}:{os.environ.get('MASTER_PORT', '29500')}"
    distributed.init_process_group("gloo", address, rank=rank, world_size=ranks)
    model = nn.parallel.DistributedDataParallel(Tagger(nn.LSTM))
else:
    rank, ranks = dsop.communicator().rank, dsop.communicator().size
    model = Tagger(dsop.torch.LSTM)
    dsop.torch.attach(model)  # the added line

optimizer = torch.optim.Adam(model.parameters())
generator = torch.Generator().manual_seed(rank)
begin = time.perf_counter()
for step in range(options.steps):
    words, tags = zip(*(train[i] for i in torch.randint(len(train), (2,), generator=generator)))
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(pack_sequence(words, enforce_sorted=False)),
                                       pack_sequence(tags, enforce_sorted=False).data)
    loss.backward()
    optimizer.step()
seconds = (time.perf_counter() - begin) / options.steps

if rank == 0:
    words, tags = (pack_sequence(half, enforce_sorted=False) for half in zip(*test))
    with torch.no_grad():
        scores = (model.module if options.ddp else model)(words)
    right = (scores.argmax(1) == tags.data).float().mean().item()
    print(f"{100 * right:.1f} % of tags are right after {options.steps} steps of {ranks} ranks, {seconds:.3f} s each")
