// A trace's end: spans of all ranks, on rank 0's clock, in one file.
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include <dsop/errors.hpp>

#include "base/error_of.hpp"
#include "base/host_name.hpp"
#include "base/json_text.hpp"
#include "base/shown.hpp"
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
      throw Error(shown(path) + " is being written by another run, expected a file of this run's own");
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

// Lines with a comma between them.
std::string Trace::json(int rank, double clock_ahead_seconds) const {
  std::vector<std::string> names(names_.size());
  for (const auto& [name, place] : names_) names[place] = json_text(nlohmann::json(name));
  std::string lines = R"({"ph":"M","name":"process_name","pid":)" + std::to_string(rank) + R"(,"args":{"name":)" +
                      json_text(nlohmann::json("rank " + std::to_string(rank) + ", " + host_name())) + "}}";
  for (const bool on_progress_thread : {false, true})
    lines += R"(,
{"ph":"M","name":"thread_name","pid":)" +
             std::to_string(rank) + R"(,"tid":)" + std::to_string(on_progress_thread) + R"(,"args":{"name":")" +
             (on_progress_thread ? "progress thread" : "calls") + "\"}}";
  for (const Span& span : spans_) {
    std::array<char, 192> text;
    std::snprintf(text.data(), text.size(), R"(,"ph":"X","pid":%d,"tid":%d,"ts":%.3f,"dur":%.3f,"args":{)", rank,
                  static_cast<int>(span.on_progress_thread), (span.start_seconds - clock_ahead_seconds) * 1e6,
                  span.seconds * 1e6);
    lines.append(",\n{\"name\":").append(names[span.name]).append(text.data());
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
  until.send(clock_ahead_of(rank, until), rank);
  std::string lines(until.receive<std::size_t>(rank), ' ');
  until.wait(until.transport.irecv(std::span(lines), rank, Tag::probe));
  return lines;
}

}  // namespace

void Trace::write(Transport& transport, bool all_trace) noexcept {
  const Until until{transport, Clock::now() + std::chrono::seconds(30)};
  std::string error;
  if (left_out_ > 0)
    warn("rank " + std::to_string(transport.rank()) + " has left out " + std::to_string(left_out_) + " spans");
  if (transport.rank() != 0) {
    if (!all_trace) return;
    auto lines = std::make_unique<std::string>();
    error = error_of([&] {
      tell_clock(until);
      *lines = json(transport.rank(), until.receive<double>(0));
      until.send(lines->size(), 0);
      until.wait(transport.isend(std::span(*lines), 0, Tag::probe));
    });
    if (!error.empty()) static_cast<void>(lines.release());  // MPI may still read it
    return;
  }
  error = error_of([&] { file_->append(json(0, 0)); });
  for (int r = 1; r < transport.size() && error.empty(); ++r)
    if (!all_trace)
      error = "other ranks are not in it: DSOP_TRACE is not set there, or the communicator has failed";
    else
      error = error_of([&] { file_->append(receive_lines(r, until)); });
  if (!error.empty()) warn(error);
}

}  // namespace dsop
