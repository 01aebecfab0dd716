// Stands for a library's mpi.h in a build that links none: MPI in the standard's ABI, through pointers that are null
// until open_mpi() has found a library.
#pragma once

#include "mpi_plugins/abi.hpp"

using MPI_Aint = dsop::abi::Aint;
using MPI_Comm = dsop::abi::Comm;
using MPI_Datatype = dsop::abi::Datatype;
using MPI_Errhandler = dsop::abi::Errhandler;
using MPI_File = dsop::abi::File;
using MPI_Info = dsop::abi::Info;
using MPI_Offset = dsop::abi::Offset;
using MPI_Op = dsop::abi::Op;
using MPI_Request = dsop::abi::Request;
using MPI_Status = dsop::abi::Status;

namespace dsop {
namespace abi {
#define DECLARE(result, name, parameters) extern result(*MPI_##name) parameters;
DSOP_MPI_FUNCTIONS(DECLARE)
#undef DECLARE

template <class Type>
Type made_of(std::uintptr_t value) {
  return reinterpret_cast<Type>(value);
}
}  // namespace abi

#define USE(result, name, parameters) using abi::MPI_##name;
DSOP_MPI_FUNCTIONS(USE)
#undef USE
}  // namespace dsop

#define MPI_Comm_f2c MPI_Comm_fromint
#define MPI_ANY_SOURCE dsop::abi::any_source
#define MPI_ANY_TAG dsop::abi::any_tag
#define MPI_BOTTOM nullptr
#define MPI_BYTE dsop::abi::made_of<MPI_Datatype>(dsop::abi::datatype_byte)
#define MPI_COMM_NULL dsop::abi::made_of<MPI_Comm>(dsop::abi::comm_null)
#define MPI_COMM_NULL_COPY_FN nullptr
#define MPI_COMM_SELF dsop::abi::made_of<MPI_Comm>(dsop::abi::comm_self)
#define MPI_COMM_TYPE_SHARED dsop::abi::comm_type_shared
#define MPI_COMM_WORLD dsop::abi::made_of<MPI_Comm>(dsop::abi::comm_world)
#define MPI_DATATYPE_NULL dsop::abi::made_of<MPI_Datatype>(dsop::abi::datatype_null)
#define MPI_DOUBLE dsop::abi::made_of<MPI_Datatype>(dsop::abi::datatype_double)
#define MPI_ERRORS_RETURN dsop::abi::made_of<MPI_Errhandler>(dsop::abi::errors_return)
#define MPI_ERR_IN_STATUS dsop::abi::err_in_status
#define MPI_ERR_PENDING dsop::abi::err_pending
#define MPI_FILE_NULL dsop::abi::made_of<MPI_File>(dsop::abi::file_null)
#define MPI_FLOAT dsop::abi::made_of<MPI_Datatype>(dsop::abi::datatype_float)
#define MPI_INFO_NULL dsop::abi::made_of<MPI_Info>(dsop::abi::info_null)
#define MPI_INT dsop::abi::made_of<MPI_Datatype>(dsop::abi::datatype_int)
#define MPI_IN_PLACE dsop::abi::made_of<void*>(dsop::abi::in_place)
#define MPI_KEYVAL_INVALID dsop::abi::keyval_invalid
#define MPI_MAX_ERROR_STRING 512
#define MPI_MODE_RDONLY dsop::abi::mode_rdonly
#define MPI_REQUEST_NULL dsop::abi::made_of<MPI_Request>(dsop::abi::request_null)
#define MPI_STATUS_IGNORE nullptr
#define MPI_SUCCESS 0
#define MPI_SUM dsop::abi::made_of<MPI_Op>(dsop::abi::op_sum)
#define MPI_THREAD_FUNNELED dsop::abi::thread_funneled
#define MPI_THREAD_MULTIPLE dsop::abi::thread_multiple
#define MPI_THREAD_SINGLE 0
#define MPI_UINT64_T dsop::abi::made_of<MPI_Datatype>(dsop::abi::datatype_uint64)
