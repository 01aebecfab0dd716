// What a communicator's handle stands for, and errors that a rank finds before a call begins.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <dsop/transport.hpp>
#include <dsop/types.hpp>

#include "base/error_of.hpp"
#include "c/handles.hpp"
#include "call/call_state.hpp"

namespace dsop::c {

/// What a communicator's handle and the objects that were made with it hold.
class Ranks {
 public:
  Ranks(Transport& transport, bool is_mpi) : transport_(&transport), life_(transport.calls().life), is_mpi_(is_mpi) {}
  /// That nobody else owns.
  explicit Ranks(std::unique_ptr<Transport> own) : transport_(own.get()), own_(std::move(own)) {}
  /// That counts what passes through `counted`.
  explicit Ranks(std::shared_ptr<Ranks> counted);
  Ranks(const Ranks&) = delete;
  ~Ranks();

  /// Throws ArgumentError if it has ended, or MPI.
  Transport& get() const;

 private:
  Transport* transport_;
  std::weak_ptr<const void> life_ = {};  // of a transport that others own
  bool is_mpi_ = false;
  std::shared_ptr<Ranks> counted_ = {};
  std::unique_ptr<Transport> own_ = {};
};

template <>
inline constexpr const char* kind_of<Ranks> = "communicator";

inline Transport& transport_of(Handle communicator) {
  return find<Ranks>(communicator)->get();
}

/// Takes part in the other ranks' call with an error: all throw ArgumentError with `error` in its text.
[[noreturn]] void refuse_on_all_ranks(Transport& transport, const std::string& error);

/// Returns what `prepare()` makes of this rank's arguments. If it throws, all ranks throw ArgumentError.
template <class Prepare>
auto prepared(Transport& transport, const Prepare& prepare) {
  std::optional<decltype(prepare())> value;
  const std::string error = error_of([&] { value.emplace(prepare()); });
  if (!error.empty()) refuse_on_all_ranks(transport, error);
  return std::move(*value);
}

/// Throws ArgumentError if a program in C gave a number that is no type.
DataType data_type_of(int type);

}  // namespace dsop::c
