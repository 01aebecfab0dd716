"""Gradients of a PyTorch model summed over ranks: of nn.Linear as factors where that is cheaper, of all else densely.

Examples
--------
>>> model = torch.nn.Sequential(torch.nn.Linear(3, 2))
>>> attachment = dsop.torch.attach(model)
"""

from dsop.torch._attach import attach
from dsop.torch._attachment import Attachment

__all__ = ["Attachment", "attach"]
