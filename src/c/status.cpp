#include "c/status.hpp"

#include <pthread.h>

#include <atomic>
#include <exception>
#include <new>
#include <utility>

#include <dsop/errors.hpp>

#include "base/shown.hpp"
#include "transport/interrupt.hpp"

namespace dsop::c {
namespace {

thread_local std::string last_error;

std::atomic<bool> interrupted = false;
thread_local bool interrupted_here = false;
thread_local bool waits_end_with_thread = false;
std::atomic<bool> forked = false;
[[maybe_unused]] const int watches_forks = pthread_atfork(nullptr, nullptr, [] { forked = true; });

int failed(int status, const char* text) noexcept {
  try {
    last_error = printable_lines(text);
  } catch (...) {  // no memory for the text: the status says enough
    last_error.clear();
  }
  return status;
}

}  // namespace

int status_of_exception() noexcept {
  try {
    throw;
  } catch (const Interrupted& error) {
    interrupted_here = true;
    if (!waits_end_with_thread) interrupted = true;
    return failed(DSOP_ERROR_INTERRUPTED, error.what());
  } catch (const ArgumentError& error) {
    return failed(DSOP_ERROR_ARGUMENT, error.what());
  } catch (const TransportError& error) {
    return failed(DSOP_ERROR_TRANSPORT, error.what());
  } catch (const std::bad_alloc&) {
    return failed(DSOP_ERROR_MEMORY, "out of memory");
  } catch (const std::exception& error) {
    return failed(DSOP_ERROR_OTHER, error.what());
  } catch (...) {
    return failed(DSOP_ERROR_OTHER, "an exception of an unknown type");
  }
}

bool is_forked_process() noexcept {
  return forked;
}

bool was_interrupted() noexcept {
  return interrupted || interrupted_here;
}

void set_waits_end_with_thread(bool end) noexcept {
  waits_end_with_thread = end;
}

void refuse_forked_process() {
  if (forked)
    throw Error(
        "this process was forked from one that had loaded dsop, expected a call in the parent: use dsop there, "
        "or start workers by spawn");
}

const char* keep_text(std::string text) {
  thread_local std::string kept;
  kept = std::move(text);
  return kept.c_str();
}

}  // namespace dsop::c

const char* dsop_last_error(void) {
  return dsop::c::last_error.c_str();
}
