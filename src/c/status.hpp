// From exceptions to a status and a text.
#pragma once

#include <string>

#include <dsop/dsop.h>

#include "c/handles.hpp"
#include "c/mpi_world.hpp"
#include "transport/interrupt.hpp"

namespace dsop::c {

/// Puts the text of the exception that is being handled where dsop_last_error() finds it, and returns its status.
int status_of_exception() noexcept;
/// Throws Error in a process that was forked from one in which dsop was used: ranks, threads and messages stayed there.
void refuse_forked_process();
bool is_forked_process() noexcept;
/// Whether a wait was interrupted. What it waited for goes on, and may never end.
bool was_interrupted() noexcept;
/// Whether what this thread waits for ends when the thread does, as where ranks are threads. Then an interrupted wait
/// counts for this thread alone.
void set_waits_end_with_thread(bool end) noexcept;
/// Keeps a text for the caller until this thread's next call of it.
const char* keep_text(std::string text);

/// Runs a C function's body.
template <class Body>
int returning_status(const Body& body) noexcept {
  try {
    refuse_forked_process();
    body();
    return DSOP_SUCCESS;
  } catch (...) {
    return status_of_exception();
  }
}

/// Runs the body of a function that frees: does nothing for the handle 0, nor in a forked process, nor when MPI has
/// ended, and with it what objects would wait for. What `may_wait` is kept after an interrupted wait, which its
/// destructor would begin again.
template <class Body>
int freeing(std::uint64_t handle, const Body& body, bool may_wait = true) noexcept {
  if (handle == 0 || is_forked_process() || mpi_has_ended() || (may_wait && was_interrupted())) return DSOP_SUCCESS;
  const Uninterrupted uninterrupted;
  return returning_status(body);
}

template <class Object>
int free_object(Handle handle, bool may_wait = true) noexcept {
  return freeing(
      handle, [&] { take<Object>(handle); }, may_wait);
}

}  // namespace dsop::c
