"""Ranks that torchrun has started: they find each other through its store."""

from __future__ import annotations

import importlib
import os
from typing import Any

from dsop._communicators import Communicator
from dsop._stores import connect

_LIMIT_SECONDS = 300.0  # ranks may load data before they come here
_stores: list[Any] = []  # rank 0 has the server, which others may have come to as init_process_group() does


def under_torchrun() -> bool:
    """Whether the environment is that of torchrun's workers."""
    return all(name in os.environ for name in
               ("TORCHELASTIC_RUN_ID", "RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"))


def _store() -> Any:
    distributed: Any = importlib.import_module("torch.distributed")
    if distributed.is_initialized():
        return distributed.distributed_c10d._get_default_store()
    agents = os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"
    # One server may serve init_process_group() too, which comes to the same port.
    return distributed.TCPStore(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]),
                                is_master=not agents and os.environ["RANK"] == "0", multi_tenant=True)


def connect_workers() -> Communicator:
    """All ranks that torchrun has started, over Gloo; its run id and restart count keep runs apart."""
    store = _store()
    _stores.append(store)
    return connect(store, int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]),
                   run="dsop/" + os.environ["TORCHELASTIC_RUN_ID"],
                   restart=int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")), limit_seconds=_LIMIT_SECONDS)
