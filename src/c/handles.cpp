#include "c/handles.hpp"

#include <mutex>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace dsop::c {
namespace {

struct Entry {
  std::shared_ptr<void> object;
  const char* kind;
};

// Never destroyed: what a program leaves behind at its end must not wait for other ranks.
struct Handles {
  std::mutex mutex;
  std::unordered_map<Handle, Entry> entries;
  Handle last = 0;

  static Handles& instance() {
    static Handles& never_destroyed = *std::make_unique<Handles>().release();
    return never_destroyed;
  }
};

}  // namespace

Handle put_object(std::shared_ptr<void> object, const char* kind) {
  auto& [mutex, entries, last] = Handles::instance();
  const std::lock_guard lock(mutex);
  entries.emplace(last + 1, Entry{std::move(object), kind});
  return ++last;
}

std::shared_ptr<void> find_object(Handle handle, const char* kind, bool is_taken) {
  auto& [mutex, entries, last] = Handles::instance();
  const std::lock_guard lock(mutex);
  const auto found = entries.find(handle);
  if (found == entries.end() || std::string_view(found->second.kind) != kind)
    throw ArgumentError("handle " + std::to_string(handle) + " is " +
                        (found == entries.end() ? (handle == 0 || handle > last ? "of nothing" : "dead")
                                                : "of a " + std::string(found->second.kind)) +
                        ", expected one of a " + kind);
  std::shared_ptr<void> object = found->second.object;
  if (is_taken) entries.erase(found);
  return object;
}

}  // namespace dsop::c
