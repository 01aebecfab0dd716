// A state in binary, in the byte order of the machine, with a hash of all of it at its end.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <istream>
#include <ostream>
#include <span>
#include <string>

#include <dsop/errors.hpp>

#include "base/fnv.hpp"

namespace dsop::synchronizer {

/// Numbers, arrays of them, and texts; what is wrong with the stream is left there.
class Writer {
 public:
  explicit Writer(std::ostream& out) : out_(out) {}

  template <class Number>
  void numbers(std::span<const Number> values) {
    const auto bytes = std::as_bytes(values);
    hash_ = fnv(hash_, bytes);
    out_.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }
  template <class Number>
  void number(Number value) {
    numbers(std::span<const Number>(&value, 1));
  }
  void text(const std::string& value) {
    number<std::uint64_t>(value.size());
    numbers(std::span<const char>(value));
  }
  void hash() { number(hash_); }

 private:
  std::ostream& out_;
  std::uint64_t hash_ = fnv_start;
};

/// Reads what Writer wrote. Throws ArgumentError naming `what` where the data end, or can't be.
class Reader {
 public:
  explicit Reader(std::istream& in) : in_(in) {}

  template <class Number>
  void numbers(const std::string& what, std::span<Number> values) {
    const auto bytes = std::as_writable_bytes(values);
    in_.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    if (static_cast<std::size_t>(in_.gcount()) != bytes.size())
      throw ArgumentError("the saved state is cut off within " + what);
    hash_ = fnv(hash_, bytes);
  }
  template <class Number>
  Number number(const std::string& what) {
    Number value{};
    numbers(what, std::span<Number>(&value, 1));
    return value;
  }
  std::string text(const std::string& what) {
    // The length may lie, so memory grows with what has been read.
    constexpr std::uint64_t most_at_once = 1 << 20;
    std::string value;
    for (auto left = number<std::uint64_t>(what); left > 0;) {
      const auto count = static_cast<std::size_t>(std::min(left, most_at_once));
      value.resize(value.size() + count);
      numbers(what, std::span(value).last(count));
      left -= count;
    }
    return value;
  }
  void check_hash() {
    const std::uint64_t computed = hash_;
    if (number<std::uint64_t>("the hash at its end") != computed)
      throw ArgumentError("the saved state is damaged: the hash at its end is another");
  }

 private:
  std::istream& in_;
  std::uint64_t hash_ = fnv_start;
};

}  // namespace dsop::synchronizer
