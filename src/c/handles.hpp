// Handles: numbers that stand for objects, so that C programs can't reach memory that is gone.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <dsop/errors.hpp>

namespace dsop::c {

using Handle = std::uint64_t;

/// What an error calls a kind of object: specialised beside each.
template <class Object>
inline constexpr const char* kind_of = nullptr;

Handle put_object(std::shared_ptr<void> object, const char* kind);
/// The handle is dead afterwards if it `is_taken`. Throws ArgumentError naming it if it is of no such object.
std::shared_ptr<void> find_object(Handle handle, const char* kind, bool is_taken);

template <class Object>
Handle put(std::shared_ptr<Object> object) {
  return put_object(std::move(object), kind_of<Object>);
}

template <class Object>
std::shared_ptr<Object> find(Handle handle) {
  return std::static_pointer_cast<Object>(find_object(handle, kind_of<Object>, false));
}

template <class Object>
std::shared_ptr<Object> take(Handle handle) {
  return std::static_pointer_cast<Object>(find_object(handle, kind_of<Object>, true));
}

/// Throws ArgumentError if `pointer`, which the caller wants a result in, is null.
template <class Value>
Value& result(Value* pointer, const char* name) {
  if (pointer == nullptr) throw ArgumentError(std::string(name) + " is null, expected where to put the result");
  return *pointer;
}

/// Throws ArgumentError if `text` is null, which the caller must give.
inline std::string given_text(const char* text, const char* name, const char* expected) {
  if (text == nullptr) throw ArgumentError(std::string(name) + " is null, expected " + expected);
  return text;
}

template <class Value>
void put_if_wanted(Value* pointer, const Value& value) {
  if (pointer != nullptr) *pointer = value;
}

}  // namespace dsop::c
