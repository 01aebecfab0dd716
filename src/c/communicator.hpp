// What a communicator's handle stands for, and errors that a rank finds before a call begins.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include <dsop/transport.hpp>
#include <dsop/types.hpp>

#include "base/error_of.hpp"
#include "c/handles.hpp"
#include "call/call_state.hpp"

namespace dsop::c {

/// What a communicator's handle and the objects that were made with it hold.
class CommunicatorHandle {
 public:
  CommunicatorHandle(Transport& transport, bool is_mpi)
      : transport_(&transport), life_(transport.calls().life), is_mpi_(is_mpi) {}
  /// That nobody else owns.
  explicit CommunicatorHandle(std::unique_ptr<Transport> own) : transport_(own.get()), own_(std::move(own)) {}
  /// That counts what passes through `counted`.
  explicit CommunicatorHandle(std::shared_ptr<CommunicatorHandle> counted);
  CommunicatorHandle(const CommunicatorHandle&) = delete;
  ~CommunicatorHandle();

  /// Throws ArgumentError if it has ended, or MPI.
  Transport& get() const;

 private:
  Transport* transport_;
  std::weak_ptr<const void> life_ = {};  // of a transport that others own
  bool is_mpi_ = false;
  std::shared_ptr<CommunicatorHandle> counted_ = {};
  std::unique_ptr<Transport> own_ = {};
};

template <>
inline constexpr const char* kind_of<CommunicatorHandle> = "communicator";

inline Transport& transport_of(Handle communicator) {
  return find<CommunicatorHandle>(communicator)->get();
}

/// Calls body(of) with what an object, made with a communicator, is for its element type. Throws ArgumentError if its
/// ranks have ended.
template <class Object, class Body>
decltype(auto) with_typed(Object& object, const Body& body) {
  object.ranks->get();
  return std::visit(body, object.of_type);
}

/// Takes part in the other ranks' call with an error: all throw ArgumentError with `error` in its text.
[[noreturn]] void refuse_on_all_ranks(Transport& transport, const std::string& error);

/// Returns what `prepare()` makes of this rank's arguments. If it throws, all ranks throw ArgumentError.
template <class Prepare>
auto prepared(Transport& transport, const Prepare& prepare) {
  if constexpr (std::is_void_v<decltype(prepare())>) {
    if (const std::string error = error_of(prepare); !error.empty()) refuse_on_all_ranks(transport, error);
  } else {
    std::optional<decltype(prepare())> value;
    prepared(transport, [&] { value.emplace(prepare()); });
    return std::move(*value);
  }
}

template <class Options>
struct Arguments {
  DataType type;
  Options options;
};

/// Throws ArgumentError if a program in C gave a number that is no type.
DataType data_type_of(int type);

}  // namespace dsop::c
