"""Sums over ranks for data-parallel training: outer products, sparse, top-k and dense vectors.

Everything takes NumPy arrays, and as `comm` an mpi4py communicator, or None for all ranks that mpirun has started.
"""

from dsop._arrays import SparseMatrix, SparseVector
from dsop._collectives import (Pending, allreduce, broadcast, reduce, start_allreduce, start_broadcast, start_reduce)
from dsop._communicators import Arrivals, Communicator, run_on_threads
from dsop._info import algorithms, info
from dsop._library import ArgumentError, Error, TransportError
from dsop._machine import Machine, plan_outer_products, plan_sparse, plan_topk
from dsop._mpi import communicator, init
from dsop._outer_products import OuterProduct, outer_product
from dsop._sparse import (SparseAllreduce, SparseSum, sparse_allreduce,
                          start_sparse_allreduce)
from dsop._stores import connect
from dsop._synchronizer import Synchronizer
from dsop._table import VERSION as __version__
from dsop._topk import Selector, TopKAllreduce, TopKSum

__all__ = ["ArgumentError", "Arrivals", "Communicator", "Error", "Machine", "OuterProduct", "Pending", "Selector",
           "SparseAllreduce", "SparseMatrix", "SparseSum", "SparseVector", "Synchronizer", "TopKAllreduce", "TopKSum",
           "TransportError", "__version__", "algorithms", "allreduce", "broadcast", "communicator", "connect", "info",
           "init", "outer_product", "plan_outer_products", "plan_sparse", "plan_topk", "reduce", "run_on_threads",
           "sparse_allreduce", "start_allreduce", "start_broadcast", "start_reduce",
           "start_sparse_allreduce"]
