"""Made from dsop.h by make_table.py: don't edit."""

from __future__ import annotations

from ctypes import (CFUNCTYPE, POINTER, Structure, c_char_p, c_double, c_int, c_size_t, c_uint32, c_uint64,
                    c_void_p)
from typing import Any

VERSION = "0.1.0"

DSOP_SUCCESS = 0
DSOP_ERROR_ARGUMENT = 1
DSOP_ERROR_TRANSPORT = 2
DSOP_ERROR_MEMORY = 3
DSOP_ERROR_INTERRUPTED = 4
DSOP_ERROR_OTHER = 5
DSOP_F32 = 0
DSOP_F64 = 1


class Matrix(Structure):
    _fields_ = [
        ("values", c_void_p),
        ("rows", c_size_t),
        ("columns", c_size_t),
        ("stride", c_size_t),
    ]


class Factor(Structure):
    _fields_ = [
        ("values", c_void_p),
        ("rows", c_size_t),
        ("columns", c_size_t),
        ("stride", c_size_t),
        ("row_offsets", c_void_p),
        ("column_indices", c_void_p),
        ("nonzeros", c_size_t),
    ]


class Vector(Structure):
    _fields_ = [
        ("dimension", c_size_t),
        ("count", c_size_t),
        ("indices", c_void_p),
        ("values", c_void_p),
    ]


FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "dsop_last_error": (c_char_p, []),
    "dsop_version": (c_char_p, []),
    "dsop_init": (c_int, []),
    "dsop_finalize": (c_int, []),
    "dsop_abort": (None, [c_int]),
    "dsop_info": (c_int, [POINTER(c_char_p)]),
    "dsop_set_interrupt": (c_int, [CFUNCTYPE(c_int)]),
    "dsop_algorithm_count": (c_int, [POINTER(c_size_t)]),
    "dsop_algorithm_describe": (c_int, [c_size_t, POINTER(c_char_p), POINTER(c_char_p), POINTER(c_char_p), POINTER(c_char_p)]),
    "dsop_communicator_world": (c_int, [POINTER(c_uint64)]),
    "dsop_communicator_from_mpi": (c_int, [c_int, POINTER(c_uint64)]),
    "dsop_communicator_from_store": (c_int, [CFUNCTYPE(c_int, c_char_p, c_char_p, c_void_p), CFUNCTYPE(c_int, c_char_p, c_void_p, c_size_t, c_void_p), CFUNCTYPE(c_int, c_char_p, c_double, c_void_p), c_void_p, c_int, c_int, c_char_p, POINTER(c_uint64)]),
    "dsop_communicator_from_file": (c_int, [c_char_p, c_int, c_int, c_char_p, POINTER(c_uint64)]),
    "dsop_communicator_count_traffic": (c_int, [c_uint64, POINTER(c_uint64)]),
    "dsop_communicator_traffic": (c_int, [c_uint64, POINTER(c_size_t), POINTER(c_size_t), POINTER(c_size_t), POINTER(c_size_t)]),
    "dsop_communicator_rank": (c_int, [c_uint64, POINTER(c_int), POINTER(c_int)]),
    "dsop_communicator_fail": (c_int, [c_uint64, c_char_p]),
    "dsop_communicator_free": (c_int, [c_uint64]),
    "dsop_run_on_threads": (c_int, [c_int, CFUNCTYPE(c_int, c_uint64, c_void_p), c_void_p, c_int]),
    "dsop_set_stall_watch": (c_int, [c_uint64, c_double, CFUNCTYPE(None, c_char_p, c_void_p), c_void_p, c_int]),
    "dsop_arrivals": (c_int, [c_uint64, c_int, POINTER(c_uint64), POINTER(c_double), POINTER(c_double), POINTER(c_uint64)]),
    "dsop_allreduce": (c_int, [c_uint64, c_int, c_void_p, c_size_t, c_char_p]),
    "dsop_broadcast": (c_int, [c_uint64, c_int, c_void_p, c_size_t, c_int, c_char_p]),
    "dsop_reduce": (c_int, [c_uint64, c_int, c_void_p, c_size_t, c_int, c_char_p]),
    "dsop_start_allreduce": (c_int, [c_uint64, c_int, c_void_p, c_size_t, c_char_p, POINTER(c_uint64)]),
    "dsop_start_broadcast": (c_int, [c_uint64, c_int, c_void_p, c_size_t, c_int, c_char_p, POINTER(c_uint64)]),
    "dsop_start_reduce": (c_int, [c_uint64, c_int, c_void_p, c_size_t, c_int, c_char_p, POINTER(c_uint64)]),
    "dsop_wait": (c_int, [c_uint64]),
    "dsop_test": (c_int, [c_uint64, POINTER(c_int)]),
    "dsop_sum_outer_products": (c_int, [c_uint64, c_int, POINTER(Factor), POINTER(Factor), POINTER(Matrix), c_char_p]),
    "dsop_last_plan": (c_int, [c_uint64, POINTER(c_char_p)]),
    "dsop_outer_product_create": (c_int, [c_uint64, c_int, c_size_t, c_size_t, c_size_t, c_char_p, POINTER(c_uint64)]),
    "dsop_outer_product_run": (c_int, [c_uint64, POINTER(Factor), POINTER(Factor), POINTER(Matrix)]),
    "dsop_outer_product_run_sharded": (c_int, [c_uint64, POINTER(Factor), POINTER(Factor), POINTER(Matrix)]),
    "dsop_outer_product_run_rows": (c_int, [c_uint64, POINTER(Factor), POINTER(Factor), POINTER(c_uint64)]),
    "dsop_outer_product_start": (c_int, [c_uint64, POINTER(Factor), POINTER(Factor), POINTER(Matrix), POINTER(c_uint64)]),
    "dsop_outer_product_plan": (c_int, [c_uint64, POINTER(c_char_p), POINTER(c_char_p)]),
    "dsop_outer_product_row_bounds": (c_int, [c_uint64, POINTER(c_void_p), POINTER(c_size_t)]),
    "dsop_outer_product_free": (c_int, [c_uint64]),
    "dsop_rows_get": (c_int, [c_uint64, POINTER(c_size_t), POINTER(c_size_t), POINTER(c_void_p), POINTER(c_void_p)]),
    "dsop_rows_free": (c_int, [c_uint64]),
    "dsop_sum_sparse": (c_int, [c_uint64, c_int, POINTER(Vector), c_char_p, POINTER(c_uint64)]),
    "dsop_start_sum_sparse": (c_int, [c_uint64, c_int, POINTER(Vector), c_char_p, POINTER(c_uint64), POINTER(c_uint64)]),
    "dsop_sparse_allreduce_create": (c_int, [c_uint64, c_int, c_char_p, POINTER(c_uint64)]),
    "dsop_sparse_allreduce_run": (c_int, [c_uint64, POINTER(Vector), POINTER(c_uint64)]),
    "dsop_sparse_allreduce_start": (c_int, [c_uint64, POINTER(Vector), POINTER(c_uint64), POINTER(c_uint64)]),
    "dsop_sparse_allreduce_free": (c_int, [c_uint64]),
    "dsop_sum_get": (c_int, [c_uint64, POINTER(Vector), POINTER(c_char_p)]),
    "dsop_sum_chosen": (c_int, [c_uint64, POINTER(c_size_t), POINTER(c_size_t), POINTER(c_size_t), POINTER(c_void_p), POINTER(c_size_t), POINTER(c_int), POINTER(c_int)]),
    "dsop_sum_free": (c_int, [c_uint64]),
    "dsop_topk_allreduce_create": (c_int, [c_uint64, c_int, c_size_t, c_char_p, c_char_p, POINTER(c_uint64)]),
    "dsop_topk_allreduce_run": (c_int, [c_uint64, c_void_p, c_size_t, c_size_t, POINTER(c_uint64)]),
    "dsop_topk_allreduce_start": (c_int, [c_uint64, c_void_p, c_size_t, c_size_t, POINTER(c_uint64), POINTER(c_uint64)]),
    "dsop_topk_allreduce_state": (c_int, [c_uint64, POINTER(c_char_p)]),
    "dsop_topk_allreduce_free": (c_int, [c_uint64]),
    "dsop_synchronizer_create": (c_int, [c_uint64, c_int, c_char_p, POINTER(c_uint64)]),
    "dsop_synchronizer_add": (c_int, [c_uint64, c_char_p, c_size_t, c_size_t, c_size_t, c_char_p, c_char_p]),
    "dsop_synchronizer_set_policy": (c_int, [c_uint64, c_char_p, c_char_p]),
    "dsop_policy_selects": (c_int, [c_char_p, POINTER(c_int)]),
    "dsop_synchronizer_begin": (c_int, [c_uint64, c_double, c_double]),
    "dsop_synchronizer_give_factors": (c_int, [c_uint64, c_char_p, POINTER(Factor), POINTER(Factor), POINTER(Matrix), c_double, c_double]),
    "dsop_synchronizer_give_gradient": (c_int, [c_uint64, c_char_p, POINTER(Matrix)]),
    "dsop_synchronizer_give_vector": (c_int, [c_uint64, c_char_p, POINTER(Vector), POINTER(Matrix), c_double, c_double]),
    "dsop_synchronizer_fail": (c_int, [c_uint64, c_char_p, c_char_p]),
    "dsop_synchronizer_finish": (c_int, [c_uint64]),
    "dsop_synchronizer_describe": (c_int, [c_uint64, POINTER(c_char_p)]),
    "dsop_synchronizer_residual": (c_int, [c_uint64, c_char_p, POINTER(c_void_p), POINTER(c_size_t)]),
    "dsop_synchronizer_reset_residuals": (c_int, [c_uint64]),
    "dsop_synchronizer_last_step": (c_int, [c_uint64, c_char_p, POINTER(c_char_p), POINTER(c_size_t), POINTER(c_size_t), POINTER(c_size_t), POINTER(c_size_t), POINTER(c_size_t), POINTER(c_int), POINTER(c_int)]),
    "dsop_synchronizer_last_selection": (c_int, [c_uint64, c_char_p, POINTER(c_size_t), POINTER(c_double)]),
    "dsop_synchronizer_save": (c_int, [c_uint64, POINTER(c_void_p), POINTER(c_size_t)]),
    "dsop_synchronizer_load": (c_int, [c_uint64, c_void_p, c_size_t]),
    "dsop_synchronizer_free": (c_int, [c_uint64]),
    "dsop_selector_create": (c_int, [c_int, c_char_p, c_uint64, c_uint64, c_double, POINTER(c_uint64)]),
    "dsop_selector_select": (c_int, [c_uint64, c_void_p, c_size_t, c_size_t, c_void_p, c_void_p, c_size_t, POINTER(c_size_t), POINTER(c_double), POINTER(c_size_t), POINTER(c_size_t)]),
    "dsop_selector_last": (c_int, [c_uint64, POINTER(c_int), POINTER(c_size_t)]),
    "dsop_selector_state": (c_int, [c_uint64, POINTER(c_uint64), POINTER(c_uint64), POINTER(c_double)]),
    "dsop_selector_free": (c_int, [c_uint64]),
    "dsop_machine_default": (c_int, [c_int, POINTER(c_uint64)]),
    "dsop_machine_of": (c_int, [c_uint64, POINTER(c_uint64)]),
    "dsop_machine_read": (c_int, [c_char_p, POINTER(c_uint64)]),
    "dsop_machine_write": (c_int, [c_uint64, c_char_p]),
    "dsop_machine_text": (c_int, [c_uint64, POINTER(c_char_p)]),
    "dsop_machine_of_text": (c_int, [c_char_p, POINTER(c_uint64)]),
    "dsop_machine_seconds": (c_int, [c_uint64, c_int, c_size_t, c_double, c_double, c_double, POINTER(c_double), POINTER(c_double), POINTER(c_double), POINTER(c_double)]),
    "dsop_machine_free": (c_int, [c_uint64]),
    "dsop_plan_outer_products": (c_int, [c_int, c_size_t, c_size_t, c_void_p, c_int, c_char_p, POINTER(c_char_p), POINTER(c_double)]),
    "dsop_plan_sparse": (c_int, [c_int, c_size_t, c_void_p, c_int, c_char_p, POINTER(c_char_p), POINTER(c_double)]),
    "dsop_plan_topk": (c_int, [c_int, c_size_t, c_size_t, c_int, c_char_p, POINTER(c_size_t), POINTER(c_size_t), POINTER(c_double)]),
}
