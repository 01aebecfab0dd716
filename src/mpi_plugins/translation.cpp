// MPI in the standard's ABI by a library that has another: Open MPI up to 5, or MPICH and those that share its ABI.
// Compiled with the library's mpi.h and linked with none: the process has loaded it. No exception leaves a function,
// and no type of C++'s library.
#include <mpi.h>

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "mpi_plugins/abi.hpp"
#include "mpi_plugins/may_be_communicator.hpp"

namespace abi = dsop::abi;

extern "C" {
#define DECLARE(result, name, parameters) [[gnu::visibility("default")]] result dsop_MPI_##name parameters noexcept;
namespace dsop::abi {
DSOP_MPI_FUNCTIONS(DECLARE)
}
#undef DECLARE
}

namespace {

// The library's handles are pointers, or ints none of which is as small as the standard's values.
template <class Native, class Standard>
Native plain_native(Standard handle) {
  const auto value = reinterpret_cast<std::uintptr_t>(handle);
  if constexpr (std::is_pointer_v<Native>)
    return reinterpret_cast<Native>(value);
  else
    return static_cast<Native>(value);
}
template <class Standard, class Native>
Standard plain_standard(Native handle) {
  if constexpr (std::is_pointer_v<Native>)
    return reinterpret_cast<Standard>(handle);
  else
    return reinterpret_cast<Standard>(std::uintptr_t{static_cast<unsigned>(handle)});
}

MPI_Comm native(abi::Comm handle) {
  switch (reinterpret_cast<std::uintptr_t>(handle)) {
    case abi::comm_null:
      return MPI_COMM_NULL;
    case abi::comm_world:
      return MPI_COMM_WORLD;
    case abi::comm_self:
      return MPI_COMM_SELF;
    default:
      return plain_native<MPI_Comm>(handle);
  }
}
MPI_Datatype native(abi::Datatype handle) {
  switch (reinterpret_cast<std::uintptr_t>(handle)) {
    case abi::datatype_null:
      return MPI_DATATYPE_NULL;
    case abi::datatype_int:
      return MPI_INT;
    case abi::datatype_float:
      return MPI_FLOAT;
    case abi::datatype_double:
      return MPI_DOUBLE;
    case abi::datatype_byte:
      return MPI_BYTE;
    case abi::datatype_uint64:
      return MPI_UINT64_T;
    default:
      return plain_native<MPI_Datatype>(handle);
  }
}
MPI_Request native(abi::Request handle) {
  const bool is_null = reinterpret_cast<std::uintptr_t>(handle) == abi::request_null;
  return is_null ? MPI_REQUEST_NULL : plain_native<MPI_Request>(handle);
}
abi::Comm standard_comm(MPI_Comm handle) {
  return plain_standard<abi::Comm>(handle);
}
abi::Request standard_request(MPI_Request handle) {
  return handle == MPI_REQUEST_NULL ? reinterpret_cast<abi::Request>(abi::request_null)
                                    : plain_standard<abi::Request>(handle);
}

const void* native(const void* data) {
  return reinterpret_cast<std::uintptr_t>(data) == abi::in_place ? MPI_IN_PLACE : data;
}
const void* native_or_bottom(const void* data) {
  return data == nullptr ? MPI_BOTTOM : data;
}
int native_rank(int rank) {
  return rank == abi::any_source ? MPI_ANY_SOURCE : rank;
}
int native_tag(int tag) {
  return tag == abi::any_tag ? MPI_ANY_TAG : tag;
}

// The library's own codes are negative in the standard's, of which dsop looks at three.
int standard_code(int code) {
  if (code == MPI_SUCCESS) return 0;
  return code == MPI_ERR_IN_STATUS ? abi::err_in_status : code == MPI_ERR_PENDING ? abi::err_pending : -code;
}
int native_code(int code) {
  return code == abi::err_in_status ? MPI_ERR_IN_STATUS : code == abi::err_pending ? MPI_ERR_PENDING : -code;
}

int standard_level(int level) {
  if (level == MPI_THREAD_MULTIPLE) return abi::thread_multiple;
  if (level == MPI_THREAD_SERIALIZED) return abi::thread_serialized;
  return level == MPI_THREAD_FUNNELED ? abi::thread_funneled : 0;
}

abi::Status standard_status(const MPI_Status& status) {
  int bytes = 0;
  MPI_Get_count(&status, MPI_BYTE, &bytes);
  return {status.MPI_SOURCE, status.MPI_TAG, standard_code(status.MPI_ERROR), {bytes}};
}
void put(abi::Status* to, const MPI_Status& status) {
  if (to != nullptr) *to = standard_status(status);
}

// An array of the standard's that holds the library's in the meantime, which are no longer.
template <class Native, class Standard, auto standard>
class InPlace {
  static_assert(sizeof(Native) <= sizeof(Standard) && alignof(Native) <= alignof(Standard));

 public:
  InPlace(Standard* all, int count) : bytes_(reinterpret_cast<char*>(all)), count_(count) {}

  Native* natives() { return reinterpret_cast<Native*>(bytes_); }
  void to_native() {
    for (int i = 0; i < count_; ++i) {
      Standard from;
      std::memcpy(&from, bytes_ + place<Standard>(i), sizeof from);
      const Native to = native(from);
      std::memcpy(bytes_ + place<Native>(i), &to, sizeof to);
    }
  }
  void to_standard() {
    for (int i = count_ - 1; i >= 0; --i) {
      Native from;
      std::memcpy(&from, bytes_ + place<Native>(i), sizeof from);
      const Standard to = standard(from);
      std::memcpy(bytes_ + place<Standard>(i), &to, sizeof to);
    }
  }

 private:
  template <class Item>
  static std::size_t place(int i) {
    return static_cast<std::size_t>(i) * sizeof(Item);
  }

  char* bytes_;
  int count_;
};

}  // namespace

namespace dsop::abi {

int dsop_MPI_Abort(Comm comm, int code) noexcept {
  return standard_code(::MPI_Abort(native(comm), code));
}
int dsop_MPI_Allgather(const void* own, int own_count, Datatype own_type, void* all, int count, Datatype type,
                       Comm comm) noexcept {
  return standard_code(
      ::MPI_Allgather(native(own), own_count, native(own_type), all, count, native(type), native(comm)));
}
int dsop_MPI_Allgatherv(const void* own, int own_count, Datatype own_type, void* all, const int* counts,
                        const int* offsets, Datatype type, Comm comm) noexcept {
  return standard_code(
      ::MPI_Allgatherv(native(own), own_count, native(own_type), all, counts, offsets, native(type), native(comm)));
}
int dsop_MPI_Allreduce(const void* own, void* sum, int count, Datatype type, Op, Comm comm) noexcept {
  return standard_code(::MPI_Allreduce(native(own), sum, count, native(type), MPI_SUM, native(comm)));
}
int dsop_MPI_Bcast(void* data, int count, Datatype type, int root, Comm comm) noexcept {
  return standard_code(::MPI_Bcast(data, count, native(type), root, native(comm)));
}
int dsop_MPI_Cancel(Request* request) noexcept {
  ::MPI_Request of_library = native(*request);
  return standard_code(::MPI_Cancel(&of_library));
}
// Where the library's handles are ints the functions get one for a communicator, at which dsop's do not look.
int dsop_MPI_Comm_create_keyval(Comm_copy_attr_function* copy, Comm_delete_attr_function* remove, int* key,
                                void* state) noexcept {
  const auto as_any = [](auto* function) { return reinterpret_cast<void (*)()>(function); };
  ::MPI_Comm_copy_attr_function* own_copy = MPI_COMM_NULL_COPY_FN;
  if (copy != nullptr) own_copy = reinterpret_cast<::MPI_Comm_copy_attr_function*>(as_any(copy));
  const auto own_remove = reinterpret_cast<::MPI_Comm_delete_attr_function*>(as_any(remove));
  return standard_code(::MPI_Comm_create_keyval(own_copy, own_remove, key, state));
}
int dsop_MPI_Comm_dup(Comm comm, Comm* copy) noexcept {
  ::MPI_Comm made = ::MPI_Comm();
  const int code = ::MPI_Comm_dup(native(comm), &made);
  *copy = standard_comm(made);
  return standard_code(code);
}
int dsop_MPI_Comm_free(Comm* comm) noexcept {
  ::MPI_Comm freed = native(*comm);
  const int code = ::MPI_Comm_free(&freed);
  *comm = reinterpret_cast<Comm>(comm_null);
  return standard_code(code);
}
Comm dsop_MPI_Comm_fromint(int number) noexcept {
  const ::MPI_Comm found = MPI_Comm_f2c(number);
  const bool is_one = may_be_communicator(found) && found != MPI_COMM_NULL;
  return is_one ? standard_comm(found) : reinterpret_cast<Comm>(comm_null);
}
int dsop_MPI_Comm_get_attr(Comm comm, int key, void* value, int* found) noexcept {
  return standard_code(::MPI_Comm_get_attr(native(comm), key, value, found));
}
int dsop_MPI_Comm_rank(Comm comm, int* rank) noexcept {
  return standard_code(::MPI_Comm_rank(native(comm), rank));
}
int dsop_MPI_Comm_set_attr(Comm comm, int key, void* value) noexcept {
  return standard_code(::MPI_Comm_set_attr(native(comm), key, value));
}
int dsop_MPI_Comm_set_errhandler(Comm comm, Errhandler) noexcept {
  return standard_code(::MPI_Comm_set_errhandler(native(comm), MPI_ERRORS_RETURN));
}
int dsop_MPI_Comm_size(Comm comm, int* size) noexcept {
  return standard_code(::MPI_Comm_size(native(comm), size));
}
int dsop_MPI_Comm_split_type(Comm comm, int, int key, Info, Comm* part) noexcept {
  ::MPI_Comm made = ::MPI_Comm();
  const int code = ::MPI_Comm_split_type(native(comm), MPI_COMM_TYPE_SHARED, key, MPI_INFO_NULL, &made);
  *part = standard_comm(made);
  return standard_code(code);
}
int dsop_MPI_Comm_test_inter(Comm comm, int* is_inter) noexcept {
  return standard_code(::MPI_Comm_test_inter(native(comm), is_inter));
}
int dsop_MPI_Error_class(int code, int* error_class) noexcept {
  const int own_code = ::MPI_Error_class(native_code(code), error_class);
  *error_class = standard_code(*error_class);
  return standard_code(own_code);
}
int dsop_MPI_Error_string(int code, char* text, int* length) noexcept {
  return standard_code(::MPI_Error_string(native_code(code), text, length));
}
int dsop_MPI_File_close(File* file) noexcept {
  ::MPI_File closed = plain_native<::MPI_File>(*file);
  const int code = ::MPI_File_close(&closed);
  *file = reinterpret_cast<File>(file_null);
  return standard_code(code);
}
int dsop_MPI_File_get_size(File file, Offset* bytes) noexcept {
  ::MPI_Offset found = 0;
  const int code = ::MPI_File_get_size(plain_native<::MPI_File>(file), &found);
  *bytes = found;
  return standard_code(code);
}
int dsop_MPI_File_open(Comm comm, const char* path, int, Info, File* file) noexcept {
  ::MPI_File opened = ::MPI_File();
  const int code = ::MPI_File_open(native(comm), path, MPI_MODE_RDONLY, MPI_INFO_NULL, &opened);
  *file = plain_standard<File>(opened);
  return standard_code(code);
}
int dsop_MPI_File_read_at(File file, Offset offset, void* data, int count, Datatype type, Status* status) noexcept {
  ::MPI_Status of_library;
  const int code = ::MPI_File_read_at(plain_native<::MPI_File>(file), offset, data, count, native(type), &of_library);
  if (code == MPI_SUCCESS) put(status, of_library);
  return standard_code(code);
}
int dsop_MPI_Finalize() noexcept {
  return standard_code(::MPI_Finalize());
}
int dsop_MPI_Finalized(int* finalized) noexcept {
  return standard_code(::MPI_Finalized(finalized));
}
int dsop_MPI_Get_address(const void* place, Aint* address) noexcept {
  return standard_code(::MPI_Get_address(place, address));
}
int dsop_MPI_Get_count(const Status* status, Datatype, int* bytes) noexcept {
  *bytes = status->internal[0];  // of which dsop asks alone
  return 0;
}
int dsop_MPI_Get_library_version(char* text, int* length) noexcept {
  return standard_code(::MPI_Get_library_version(text, length));
}
int dsop_MPI_Init_thread(int* argc, char*** argv, int level, int* granted) noexcept {
  const int code =
      ::MPI_Init_thread(argc, argv, level == thread_multiple ? MPI_THREAD_MULTIPLE : MPI_THREAD_FUNNELED, granted);
  *granted = standard_level(*granted);
  return standard_code(code);
}
int dsop_MPI_Initialized(int* initialized) noexcept {
  return standard_code(::MPI_Initialized(initialized));
}
int dsop_MPI_Iprobe(int from, int tag, Comm comm, int* found, Status* status) noexcept {
  ::MPI_Status of_library;
  const int code = ::MPI_Iprobe(native_rank(from), native_tag(tag), native(comm), found, &of_library);
  if (code == MPI_SUCCESS && *found != 0) put(status, of_library);
  return standard_code(code);
}
int dsop_MPI_Irecv(void* data, int count, Datatype type, int from, int tag, Comm comm, Request* request) noexcept {
  ::MPI_Request made = MPI_REQUEST_NULL;
  const int code = ::MPI_Irecv(data, count, native(type), native_rank(from), native_tag(tag), native(comm), &made);
  *request = standard_request(made);
  return standard_code(code);
}
int dsop_MPI_Isend(const void* data, int count, Datatype type, int to, int tag, Comm comm, Request* request) noexcept {
  ::MPI_Request made = MPI_REQUEST_NULL;
  const int code = ::MPI_Isend(native_or_bottom(data), count, native(type), to, tag, native(comm), &made);
  *request = standard_request(made);
  return standard_code(code);
}
int dsop_MPI_Query_thread(int* level) noexcept {
  const int code = ::MPI_Query_thread(level);
  *level = standard_level(*level);
  return standard_code(code);
}
int dsop_MPI_Recv(void* data, int count, Datatype type, int from, int tag, Comm comm, Status* status) noexcept {
  ::MPI_Status of_library;
  const int code = ::MPI_Recv(data, count, native(type), native_rank(from), native_tag(tag), native(comm), &of_library);
  if (code == MPI_SUCCESS) put(status, of_library);
  return standard_code(code);
}
int dsop_MPI_Reduce(const void* own, void* sum, int count, Datatype type, Op, int root, Comm comm) noexcept {
  return standard_code(::MPI_Reduce(native(own), sum, count, native(type), MPI_SUM, root, native(comm)));
}
int dsop_MPI_Request_free(Request* request) noexcept {
  ::MPI_Request freed = native(*request);
  const int code = ::MPI_Request_free(&freed);
  *request = reinterpret_cast<Request>(request_null);
  return standard_code(code);
}
int dsop_MPI_Request_get_status(Request request, int* done, Status* status) noexcept {
  ::MPI_Status of_library;
  const int code = ::MPI_Request_get_status(native(request), done, &of_library);
  if (code == MPI_SUCCESS && *done != 0) put(status, of_library);
  return standard_code(code);
}
int dsop_MPI_Test(Request* request, int* done, Status* status) noexcept {
  ::MPI_Request tested = native(*request);
  ::MPI_Status of_library;
  const int code = ::MPI_Test(&tested, done, &of_library);
  *request = standard_request(tested);
  if (code == MPI_SUCCESS && *done != 0) put(status, of_library);
  return standard_code(code);
}
int dsop_MPI_Testall(int count, Request* requests, int* done, Status* statuses) noexcept {
  InPlace<::MPI_Request, Request, standard_request> tested(requests, count);
  InPlace<::MPI_Status, Status, standard_status> of_library(statuses, count);
  tested.to_native();
  const int code = ::MPI_Testall(count, tested.natives(), done, of_library.natives());
  tested.to_standard();
  if (*done != 0 || code == MPI_ERR_IN_STATUS) of_library.to_standard();
  return standard_code(code);
}
int dsop_MPI_Type_commit(Datatype* type) noexcept {
  ::MPI_Datatype committed = native(*type);
  return standard_code(::MPI_Type_commit(&committed));
}
int dsop_MPI_Type_create_hindexed(int count, const int* lengths, const Aint* places, Datatype type,
                                  Datatype* made) noexcept {
  ::MPI_Datatype of_library = MPI_DATATYPE_NULL;
  const int code = ::MPI_Type_create_hindexed(count, lengths, places, native(type), &of_library);
  *made = plain_standard<Datatype>(of_library);
  return standard_code(code);
}
int dsop_MPI_Type_free(Datatype* type) noexcept {
  ::MPI_Datatype freed = native(*type);
  const int code = ::MPI_Type_free(&freed);
  *type = reinterpret_cast<Datatype>(datatype_null);
  return standard_code(code);
}
int dsop_MPI_Wait(Request* request, Status* status) noexcept {
  ::MPI_Request awaited = native(*request);
  ::MPI_Status of_library;
  const int code = ::MPI_Wait(&awaited, &of_library);
  *request = standard_request(awaited);
  if (code == MPI_SUCCESS) put(status, of_library);
  return standard_code(code);
}
double dsop_MPI_Wtime() noexcept {
  return ::MPI_Wtime();
}

}  // namespace dsop::abi
