#pragma once

#include <dsop/pending.hpp>
#include <memory>
#include <utility>

#include "c/handles.hpp"
#include "transport/interrupt.hpp"

namespace dsop::c {

/// A started call, and what it writes to, which must live as long.
class Started {
 public:
  explicit Started(Pending call, std::shared_ptr<void> written = nullptr, bool* is_complete = nullptr)
      : written_(std::move(written)), is_complete_(is_complete), call_(std::move(call)) {}

  void wait() {
    try {
      call_.wait();
    } catch (const Interrupted&) {  // the call goes on
      keep_for_ever(std::move(written_));
      throw;
    }
    say_complete();
  }
  bool test() {
    if (!call_.test()) return false;
    say_complete();
    return true;
  }

 private:
  static void keep_for_ever(std::shared_ptr<void> written) { new std::shared_ptr<void>(std::move(written)); }
  void say_complete() {
    if (is_complete_ != nullptr) *is_complete_ = true;
  }

  std::shared_ptr<void> written_;
  bool* is_complete_;  // lies in what is written
  Pending call_;       // ends first, which waits
};

template <>
inline constexpr const char* kind_of<Started> = "started call";

inline Handle put_pending(Pending call) {
  return put(std::make_shared<Started>(std::move(call)));
}

}  // namespace dsop::c
