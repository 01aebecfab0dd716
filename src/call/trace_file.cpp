// A trace's end: spans of all ranks, on rank 0's clock, in one file.
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <thread>

#include <dsop/errors.hpp>

#include "base/error_of.hpp"
#include "base/host_name.hpp"
#include "base/json_text.hpp"
#include "base/shown.hpp"
#include "call/call_state.hpp"
#include "call/trace.hpp"

namespace dsop {

namespace {

using Clock = std::chrono::steady_clock;

void warn(const std::string& text) {
  std::fputs(("dsop: DSOP_TRACE: " + text + '\n').c_str(), stderr);
}

}  // namespace

/// A JSON array, whole after each append(). One process at a time writes it; the first time in a process empties it.
class TraceFile {
 public:
  /// Throws Error. All communicators of a process share one.
  static std::shared_ptr<TraceFile> at(const std::string& path) {
    static std::map<std::string, std::shared_ptr<TraceFile>> files;
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    std::shared_ptr<TraceFile>& file = files[path];
    if (!file) file = std::make_shared<TraceFile>(path);
    return file;
  }

  explicit TraceFile(const std::string& path)
      : path_(path), file_(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666)) {
    if (file_ < 0) throw Error("can't write " + shown(path) + ": " + std::strerror(errno));
    if (flock(file_, LOCK_EX | LOCK_NB) != 0) {
      close(file_);
      throw Error(shown(path) + " is being written by another process, expected a file of this one's own");
    }
    if (ftruncate(file_, 0) != 0 && errno != EINVAL) warn("can't empty " + shown(path));  // no device has a length
  }

  void append(const std::string& lines) {
    if (lines.empty()) return;
    const std::lock_guard lock(mutex_);
    const std::string text = (bytes_ == 0 ? "[\n" : ",\n") + lines + "\n]\n";
    for (std::size_t done = 0; done < text.size();) {
      const ssize_t written = pwrite(file_, text.data() + done, text.size() - done, bytes_ + static_cast<off_t>(done));
      if (written <= 0)
        throw Error("can't write all of " + shown(path_) + ": " + std::strerror(written < 0 ? errno : ENOSPC));
      done += static_cast<std::size_t>(written);
    }
    bytes_ += static_cast<off_t>(text.size()) - 3;  // the next one goes on before the bracket
  }

 private:
  std::mutex mutex_;
  std::string path_;
  int file_;
  off_t bytes_ = 0;
};

std::unique_ptr<Trace> Trace::of_environment(const Transport& transport) {
  const char* const path = std::getenv("DSOP_TRACE");
  if (path == nullptr || *path == 0) return nullptr;
  std::unique_ptr<Trace> trace(new Trace);
  if (transport.rank() != 0) return trace;
  const std::string error = error_of([&] { trace->file_ = TraceFile::at(path); });
  if (error.empty()) return trace;
  warn(error + "; nothing is traced");
  return nullptr;
}

// Whatever the program's locale.
static void append_microseconds(std::string& text, double seconds) {
  std::array<char, 64> digits;
  const auto end =
      std::to_chars(digits.data(), digits.data() + digits.size(), seconds * 1e6, std::chars_format::fixed, 3).ptr;
  text.append(digits.data(), end);
}

// Lines with a comma between them.
std::string Trace::json(int rank, double clock_ahead_seconds) const {
  std::vector<std::string> names(names_.size());
  for (const auto& [name, place] : names_) names[place] = json_text(nlohmann::json(name));
  const std::string of_rank = R"("pid":)" + std::to_string(rank);
  std::string lines = R"({"ph":"M","name":"process_name",)" + of_rank + R"(,"args":{"name":)" +
                      json_text(nlohmann::json("rank " + std::to_string(rank) + ", " + host_name())) + "}}";
  for (const char* const thread : {R"(0,"args":{"name":"calls"}})", R"(1,"args":{"name":"progress thread"}})"})
    lines.append(",\n{\"ph\":\"M\",\"name\":\"thread_name\",").append(of_rank).append(",\"tid\":").append(thread);
  for (const Span& span : spans_) {
    lines.append(",\n{\"ph\":\"X\",\"name\":").append(names[span.name]).append(",").append(of_rank);
    lines.append(",\"tid\":").append(std::to_string(span.on_progress_thread)).append(",\"ts\":");
    append_microseconds(lines, span.start_seconds - clock_ahead_seconds);
    append_microseconds(lines.append(",\"dur\":"), span.seconds);
    lines += ",\"args\":{";
    if (span.bytes >= 0) lines.append("\"bytes\":").append(std::to_string(span.bytes));
    if (span.peer >= 0) lines.append(",\"to\":").append(std::to_string(span.peer));
    lines += "}}";
  }
  return lines;
}

namespace {

/// Messages between rank 0 and another, each waited for until `end`.
struct Until {
  Transport& transport;
  Clock::time_point end;

  std::size_t wait(Request request) const {
    while (!transport.test(request)) {
      if (Clock::now() > end) throw TransportError("it has not come in time");
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
    return transport.wait(request);
  }
  template <class Value>
  void send(const Value& value, int to) const {
    wait(transport.isend(std::span(&value, 1), to, Tag::probe));
  }
  template <class Value>
  Value receive(int from) const {
    Value value{};
    wait(transport.irecv(std::span(&value, 1), from, Tag::probe));
    return value;
  }
};

constexpr int readings = 8;

/// How far a rank's clock is ahead of rank 0's, by the reading that took least time. That rank runs tell_clock().
double clock_ahead_of(int rank, const Until& until) {
  double least_seconds = std::numeric_limits<double>::max();
  double ahead_seconds = 0;
  for (int i = 0; i < readings; ++i) {
    const double start = until.transport.now_seconds();
    until.send('?', rank);
    const double there = until.receive<double>(rank);
    const double seconds = until.transport.now_seconds() - start;
    if (seconds < least_seconds) {
      least_seconds = seconds;
      ahead_seconds = there - (start + seconds / 2);
    }
  }
  return ahead_seconds;
}

void tell_clock(const Until& until) {
  for (int i = 0; i < readings; ++i) {
    until.receive<char>(0);
    until.send(until.transport.now_seconds(), 0);
  }
}

std::string receive_lines(int rank, const Until& until) {
  std::string lines(until.receive<std::size_t>(rank), ' ');
  until.wait(until.transport.irecv(std::span(lines), rank, Tag::probe));
  return lines;
}

// Each rank may take so long to come, and rank 0 to be done with those before it.
constexpr auto patience = std::chrono::seconds(30);

}  // namespace

void Trace::collect(Transport& transport, std::string& write_error) {
  const int P = transport.size();
  if (transport.rank() == 0) {
    for (int r = 1; r < P; ++r) {
      const Until until{transport, Clock::now() + patience};
      until.send(clock_ahead_of(r, until), r);
    }
    for (int r = 1; r < P; ++r) {  // also what can't be written: ranks wait until it is taken
      const std::string lines = receive_lines(r, {transport, Clock::now() + patience});
      if (write_error.empty()) write_error = error_of([&] { file_->append(lines); });
    }
    return;
  }
  const Until until{transport, Clock::now() + P * patience};
  tell_clock(until);
  const auto ahead_seconds = until.receive<double>(0);
  // What MPI may still read where nobody takes it, since it can't take a send back, stays.
  auto lines = std::make_unique<std::string>(json(transport.rank(), ahead_seconds));
  auto size = std::make_unique<std::size_t>(lines->size());
  try {
    until.wait(transport.isend(std::span(size.get(), 1), 0, Tag::probe));
    until.wait(transport.isend(std::span(*lines), 0, Tag::probe));
  } catch (...) {
    static_cast<void>(lines.release());
    static_cast<void>(size.release());
    throw;
  }
}

void Trace::write(Transport& transport, bool all_trace) noexcept {
  std::string& failure = transport.calls().failure;
  std::string error = error_of([&] {
    const std::string rank = "rank " + std::to_string(transport.rank());
    if (left_out_ > 0) warn(rank + " has left out " + std::to_string(left_out_) + " spans");
    if (transport.rank() == 0) file_->append(json(0, 0));
    if (transport.rank() == 0 && !all_trace && transport.size() > 1)
      warn("other ranks are not in it: DSOP_TRACE is not set there, or the communicator has failed");
  });
  // One whose program throws does not wait for the others, who hear of it when it is gone.
  const std::string missing = error_of([&] {
    if (all_trace && std::uncaught_exceptions() == 0) collect(transport, error);
  });
  try {
    if (!error.empty()) warn(error);
    if (missing.empty()) return;
    if (transport.rank() == 0 && error.empty()) warn(missing);
    if (failure.empty()) failure = "the trace did not come together: " + missing;  // messages may still be under way
  } catch (const std::bad_alloc&) {
  }
}

}  // namespace dsop
