// The part of the MPI standard's ABI (MPI 5.0, chapter 20) that dsop uses: types, values, functions.
#pragma once

#include <cstdint>

namespace dsop::abi {

using Comm = struct MPI_ABI_Comm*;
using Datatype = struct MPI_ABI_Datatype*;
using Errhandler = struct MPI_ABI_Errhandler*;
using File = struct MPI_ABI_File*;
using Info = struct MPI_ABI_Info*;
using Op = struct MPI_ABI_Op*;
using Request = struct MPI_ABI_Request*;
using Aint = std::intptr_t;
using Offset = std::int64_t;
struct alignas(8) Status {
  int MPI_SOURCE;
  int MPI_TAG;
  int MPI_ERROR;
  int internal[5];
};
using Comm_copy_attr_function = int(Comm, int, void*, void*, void*, int*);
using Comm_delete_attr_function = int(Comm, int, void*, void*);

// Handles that need no library.
enum Handle : std::uintptr_t {
  op_sum = 0x21,
  comm_null = 0x100,
  comm_world = 0x101,
  comm_self = 0x102,
  file_null = 0x118,
  info_null = 0x130,
  errors_return = 0x143,
  request_null = 0x180,
  datatype_null = 0x200,
  datatype_int = 0x209,
  datatype_float = 0x210,
  datatype_double = 0x214,
  datatype_byte = 0x247,
  datatype_uint64 = 0x259,
};
constexpr int any_source = -1;
constexpr int any_tag = -2;
constexpr int comm_type_shared = 221;
constexpr int err_pending = 18;
constexpr int err_in_status = 19;
constexpr int keyval_invalid = 0;
constexpr int mode_rdonly = 16;
constexpr int thread_funneled = 1024;
constexpr int thread_serialized = 2048;
constexpr int thread_multiple = 4096;
constexpr std::uintptr_t in_place = 1;

/// F(result, name without MPI_, parameters) for each function.
#define DSOP_MPI_FUNCTIONS(F)                                                                     \
  F(int, Abort, (Comm, int))                                                                      \
  F(int, Allgather, (const void*, int, Datatype, void*, int, Datatype, Comm))                     \
  F(int, Allgatherv, (const void*, int, Datatype, void*, const int*, const int*, Datatype, Comm)) \
  F(int, Allreduce, (const void*, void*, int, Datatype, Op, Comm))                                \
  F(int, Bcast, (void*, int, Datatype, int, Comm))                                                \
  F(int, Cancel, (Request*))                                                                      \
  F(int, Comm_create_keyval, (Comm_copy_attr_function*, Comm_delete_attr_function*, int*, void*)) \
  F(int, Comm_dup, (Comm, Comm*))                                                                 \
  F(int, Comm_free, (Comm*))                                                                      \
  F(Comm, Comm_fromint, (int))                                                                    \
  F(int, Comm_get_attr, (Comm, int, void*, int*))                                                 \
  F(int, Comm_rank, (Comm, int*))                                                                 \
  F(int, Comm_set_attr, (Comm, int, void*))                                                       \
  F(int, Comm_set_errhandler, (Comm, Errhandler))                                                 \
  F(int, Comm_size, (Comm, int*))                                                                 \
  F(int, Comm_split_type, (Comm, int, int, Info, Comm*))                                          \
  F(int, Comm_test_inter, (Comm, int*))                                                           \
  F(int, Error_class, (int, int*))                                                                \
  F(int, Error_string, (int, char*, int*))                                                        \
  F(int, File_close, (File*))                                                                     \
  F(int, File_get_size, (File, Offset*))                                                          \
  F(int, File_open, (Comm, const char*, int, Info, File*))                                        \
  F(int, File_read_at, (File, Offset, void*, int, Datatype, Status*))                             \
  F(int, Finalize, ())                                                                            \
  F(int, Finalized, (int*))                                                                       \
  F(int, Get_address, (const void*, Aint*))                                                       \
  F(int, Get_count, (const Status*, Datatype, int*))                                              \
  F(int, Get_library_version, (char*, int*))                                                      \
  F(int, Init_thread, (int*, char***, int, int*))                                                 \
  F(int, Initialized, (int*))                                                                     \
  F(int, Iprobe, (int, int, Comm, int*, Status*))                                                 \
  F(int, Irecv, (void*, int, Datatype, int, int, Comm, Request*))                                 \
  F(int, Isend, (const void*, int, Datatype, int, int, Comm, Request*))                           \
  F(int, Query_thread, (int*))                                                                    \
  F(int, Recv, (void*, int, Datatype, int, int, Comm, Status*))                                   \
  F(int, Reduce, (const void*, void*, int, Datatype, Op, int, Comm))                              \
  F(int, Request_free, (Request*))                                                                \
  F(int, Request_get_status, (Request, int*, Status*))                                            \
  F(int, Test, (Request*, int*, Status*))                                                         \
  F(int, Testall, (int, Request*, int*, Status*))                                                 \
  F(int, Type_commit, (Datatype*))                                                                \
  F(int, Type_create_hindexed, (int, const int*, const Aint*, Datatype, Datatype*))               \
  F(int, Type_free, (Datatype*))                                                                  \
  F(int, Wait, (Request*, Status*))                                                               \
  F(double, Wtime, ())

}  // namespace dsop::abi
