#!/usr/bin/env python3
"""Hugging Face Accelerate's training loop, whose gradients dsop sums: the model is attached instead of prepared."""
import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import dsop.torch

accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
torch.manual_seed(0)
inputs = torch.randn(1024, 784)
labels = nn.Linear(784, 10)(inputs).argmax(1)
model = nn.Sequential(nn.Linear(784, 1024), nn.ReLU(), nn.Linear(1024, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loader = DataLoader(TensorDataset(inputs, labels), batch_size=16, shuffle=True)

optimizer, loader = accelerator.prepare(optimizer, loader)  # without the model, which it would wrap
attachment = dsop.torch.attach(model)
model.no_sync = attachment.no_sync  # what accumulate() enters where it does not step

for epoch in range(2):
    for inputs, labels in loader:
        with accelerator.accumulate(model):
            loss = nn.functional.cross_entropy(model(inputs), labels)
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()

means = accelerator.gather(loss.detach()).mean()
accelerator.print(f"loss {means:.3f} after {epoch + 1} epochs of {accelerator.num_processes} ranks")
accelerator.end_training()
