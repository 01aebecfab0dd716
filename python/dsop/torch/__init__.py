"""Gradients of a PyTorch model summed over ranks: as factors or rows where that is cheaper, densely where it is not.

Examples
--------
>>> model = torch.nn.Sequential(torch.nn.Linear(3, 2))
>>> attachment = dsop.torch.attach(model)
"""

import dsop.torch._embedding
import dsop.torch._linear  # these enter themselves into GIVERS
from dsop.torch._advise import advise
from dsop.torch._attach import attach
from dsop.torch._attachment import Attachment
from dsop.torch._hook import TopKHook, topk_hook
from dsop.torch._recurrent import GRU, LSTM
from dsop.torch._sums import Arrivals

__all__ = ["GRU", "LSTM", "Arrivals", "Attachment", "TopKHook", "advise", "attach", "topk_hook"]
