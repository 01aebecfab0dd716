#include "sparse/wire.hpp"

#include <algorithm>
#include <cstring>
#include <sstream>
#include <string>
#include <string_view>

#include <dsop/errors.hpp>
#include <dsop/types.hpp>

#include "base/never_destroyed.hpp"

namespace dsop::sparse {
namespace {

constexpr std::uint32_t dsop_mark = 0x706f7364;  // "dsop" in memory

struct Header {
  std::uint32_t mark = dsop_mark;
  std::uint8_t dense = 0;
  std::uint8_t type = 0;
  std::uint16_t zero = 0;
  std::uint64_t first = 0;
  std::uint64_t size = 0;
  std::uint64_t count = 0;
};
static_assert(sizeof(Header) == packed_bytes<float>(0, 0));

template <class Value, class Expected>
[[noreturn]] void refuse(std::string_view what, const Value& value, const Expected& expected) {
  std::ostringstream text;
  text << "a sparse vector that was received is malformed: " << what << " is " << value << ", expected " << expected;
  throw TransportError(text.str());
}

template <class Expected>
void check(const char* what, std::uint64_t value, Expected expected) {
  if (value != expected) refuse(what, value, expected);
}

void check_indices(std::span<const Index> indices, std::size_t size) {
  bool rising = true;
  for (std::size_t e = 1; e < indices.size(); ++e) rising &= indices[e - 1] < indices[e];
  if (indices.empty() || (rising && indices.back() < size)) return;
  for (std::size_t e = 0;; ++e) {
    const std::string what = "index " + std::to_string(e) + " of " + std::to_string(indices.size());
    if (e > 0 && indices[e] <= indices[e - 1])
      refuse(what, indices[e], "more than the " + std::to_string(indices[e - 1]) + " before it");
    if (indices[e] >= size) refuse(what, indices[e], "less than the region's " + std::to_string(size) + " elements");
  }
}

template <class T>
std::uint8_t type_on_wire(Wire wire) {
  return static_cast<std::uint8_t>(wire == Wire::bf16 ? data_types.size() : static_cast<std::size_t>(data_type<T>));
}

// "its type (0: f32, 1: f64, 2: bf16)"
const std::string& types_on_wire() {
  static const auto& all = *never_destroyed([] {
    std::string text = "its type (";
    for (std::size_t type = 0; type < data_types.size(); ++type)
      text.append(std::to_string(type)).append(": ").append(name(data_types[type])).append(", ");
    return text + std::to_string(data_types.size()) + ": bf16)";
  }());
  return all;
}

template <class T>
std::span<const T> read_received(const std::byte* from, std::size_t count, Wire wire, std::span<T>& widened) {
  if (wire == Wire::bf16 && count > widened.size())
    refuse("the count of values", count, "as many as its sender announced");
  return read_values(from, count, wire, widened);
}

// All elements of the region, zeros too.
template <class T>
void write_dense(const SparseVectorView<T>& inside, Region region, std::byte* to, Wire wire) {
  if (inside.dense()) return write_values(inside.values, to, wire);
  const std::size_t element_bytes = wire == Wire::bf16 ? sizeof(kernels::Bf16) : sizeof(T);
  std::memset(to, 0, region.size * element_bytes);
  for (std::size_t e = 0; e < inside.indices.size(); ++e)
    write_values(inside.values.subspan(e, 1), to + (inside.indices[e] - region.first) * element_bytes, wire);
}

}  // namespace

template <class T>
SparseVectorView<T> part(const SparseVectorView<T>& x, Region region) {
  if (x.dense()) return {region.size, {}, x.values.subspan(region.first, region.size)};
  const auto place_of = [&](std::size_t index) {
    return static_cast<std::size_t>(std::lower_bound(x.indices.begin(), x.indices.end(), index) - x.indices.begin());
  };
  const std::size_t begin = place_of(region.first);
  const std::size_t count = place_of(region.first + region.size) - begin;
  return {region.size, x.indices.subspan(begin, count), x.values.subspan(begin, count)};
}

template <class T>
std::size_t packed_bytes(const SparseVectorView<T>& x, Region region, Wire wire) {
  const SparseVectorView<T> inside = part(x, region);
  return packed_bytes<T>(region.size, inside.dense() ? Sparsity::dense : inside.indices.size(), wire);
}

template <class T>
std::span<std::byte> pack(const SparseVectorView<T>& x, Region region, std::span<std::byte> to, Wire wire) {
  const SparseVectorView<T> inside = part(x, region);
  Header header{.type = type_on_wire<T>(wire), .first = region.first, .size = region.size};
  std::byte* const values = to.data() + sizeof header;
  if (inside.dense() || inside.indices.size() > most_indices<T>(region.size, wire)) {
    header.dense = 1;
    header.count = region.size;
    write_dense(inside, region, values, wire);
  } else {
    header.count = inside.indices.size();
    write_values(inside.values, values, wire);
    Index* const indices = reinterpret_cast<Index*>(values + values_bytes<T>(header.count, wire));
    for (std::size_t e = 0; e < header.count; ++e) indices[e] = static_cast<Index>(inside.indices[e] - region.first);
  }
  std::memcpy(to.data(), &header, sizeof header);
  return to.first(packed_bytes<T>(region.size, header.dense != 0 ? Sparsity::dense : header.count, wire));
}

template <class T>
SparseVectorView<T> unpack(std::span<const std::byte> from, Region region, Wire wire, std::span<T>& widened) {
  Header header;
  if (from.size() < sizeof header) refuse("its length", from.size(), "at least the 32 bytes of a header");
  std::memcpy(&header, from.data(), sizeof header);
  check("its mark", header.mark, dsop_mark);
  check("what follows the type", header.zero, 0U);
  if (header.dense > 1) refuse("its form", +header.dense, "0 (sparse) or 1 (dense)");
  check(types_on_wire().c_str(), header.type, unsigned{type_on_wire<T>(wire)});
  check("its first element", header.first, region.first);
  check("its region's size", header.size, region.size);
  if (header.dense != 0) check("the count of values in dense form", header.count, region.size);
  if (header.dense == 0 && header.count > most_indices<T>(region.size, wire))
    refuse("the count of values in sparse form", header.count, most_indices<T>(region.size, wire));
  check("its length", from.size(),
        packed_bytes<T>(region.size, header.dense != 0 ? Sparsity::dense : std::size_t{header.count}, wire));

  const std::byte* const values = from.data() + sizeof header;
  if (header.dense != 0) return {region.size, {}, read_received(values, region.size, wire, widened)};
  const std::span<const Index> indices(reinterpret_cast<const Index*>(values + values_bytes<T>(header.count, wire)),
                                       header.count);
  check_indices(indices, region.size);
  return {region.size, indices, read_received(values, header.count, wire, widened)};
}

#define INSTANTIATE(T)                                                                                \
  template SparseVectorView<T> part(const SparseVectorView<T>&, Region);                              \
  template std::size_t packed_bytes(const SparseVectorView<T>&, Region, Wire);                        \
  template std::span<std::byte> pack(const SparseVectorView<T>&, Region, std::span<std::byte>, Wire); \
  template SparseVectorView<T> unpack(std::span<const std::byte>, Region, Wire, std::span<T>&);
DSOP_FOR_ELEMENT_TYPES(INSTANTIATE)

}  // namespace dsop::sparse
