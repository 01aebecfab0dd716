#include "sparse/factor.hpp"

#include <algorithm>
#include <limits>

#include <dsop/types.hpp>

#include "sparse/values.hpp"

namespace dsop::sparse {
namespace {

// Where the parts of a sparse factor lie: 8-byte offsets first, then what needs less alignment.
template <class T, class Byte>
struct Parts {
  using Offset = std::conditional_t<std::is_const_v<Byte>, const std::size_t, std::size_t>;
  using IndexType = std::conditional_t<std::is_const_v<Byte>, const Index, Index>;

  Offset* offsets;
  Byte* values;
  IndexType* indices;

  Parts(std::span<Byte> bytes, std::size_t rows, std::size_t elements, Wire wire)
      : offsets(reinterpret_cast<Offset*>(bytes.data())),
        values(reinterpret_cast<Byte*>(offsets + rows + 1)),
        indices(reinterpret_cast<IndexType*>(values + values_bytes<T>(elements, wire))) {}
};

// The offsets and indices of what is not zero, and its values at `values`.
template <class T>
void write_nonzeros(const FactorView<T>& factor, const Parts<T, std::byte>& parts, T* values) {
  std::size_t count = 0;
  parts.offsets[0] = 0;
  for (std::size_t p = 0; p < rows_of(factor); ++p) {
    const SparseVectorView<T> pair = row(factor, p);
    if (std::holds_alternative<MatrixView<const T>>(factor)) {
      count += compress(pair.values, parts.indices + count, values + count).indices.size();
    } else {
      std::copy(pair.indices.begin(), pair.indices.end(), parts.indices + count);
      std::copy(pair.values.begin(), pair.values.end(), values + count);
      count += pair.indices.size();
    }
    parts.offsets[p + 1] = count;
  }
}

}  // namespace

std::size_t encoded_bytes(std::size_t rows, std::size_t columns, std::size_t elements, DataType type, Wire wire) {
  const std::size_t value_bytes = bytes_on_wire(wire, type);
  const std::size_t bytes =
      elements == Sparsity::dense
          ? rows * columns * value_bytes
          : (rows + 1) * sizeof(std::size_t) + (elements * value_bytes + 3) / 4 * 4 + elements * sizeof(Index);
  return (bytes + 7) / 8 * 8;
}

std::size_t smaller_form(std::size_t rows, std::size_t columns, std::size_t elements, DataType type, Wire wire) {
  const bool indexed = columns <= std::size_t{std::numeric_limits<Index>::max()} + 1;
  const bool smaller =
      encoded_bytes(rows, columns, elements, type, wire) < encoded_bytes(rows, columns, Sparsity::dense, type, wire);
  return indexed && smaller ? elements : Sparsity::dense;
}

template <class T>
std::size_t elements_to_send(const FactorView<T>& factor, bool find_zeros, Wire wire) {
  const std::size_t rows = rows_of(factor);
  std::size_t elements = 0;
  if (const auto* const dense = std::get_if<MatrixView<const T>>(&factor)) {
    if (!find_zeros) return Sparsity::dense;
    for (std::size_t p = 0; p < rows; ++p) elements += count_nonzeros(row<T>(*dense, p).values);
  } else {
    elements = std::get<SparseMatrixView<T>>(factor).count();
  }
  return smaller_form(rows, columns_of(factor), elements, data_type<T>, wire);
}

template <class T>
void encode(const FactorView<T>& factor, std::size_t elements, std::span<std::byte> to, Wire wire,
            std::span<T> memory) {
  const auto write = [&](std::byte* on_wire, std::size_t count, const auto& write_in_full) {
    if (wire == Wire::full) return write_in_full(std::span(reinterpret_cast<T*>(on_wire), count));
    write_in_full(memory.first(count));
    write_values<T>(memory.first(count), on_wire, wire);
  };
  if (elements == Sparsity::dense)
    return write(to.data(), rows_of(factor) * columns_of(factor), [&](std::span<T> values) { expand(factor, values); });
  const Parts<T, std::byte> parts(to, rows_of(factor), elements, wire);
  write(parts.values, elements, [&](std::span<T> values) { write_nonzeros(factor, parts, values.data()); });
}

template <class T>
void decode(std::span<const std::byte> from, std::size_t columns, std::size_t elements, Wire wire,
            std::span<T>& widened, std::span<SparseVectorView<T>> rows) {
  if (elements == Sparsity::dense) {
    const std::span<const T> values = read_values(from.data(), rows.size() * columns, wire, widened);
    for (std::size_t p = 0; p < rows.size(); ++p) rows[p] = {columns, {}, values.subspan(p * columns, columns)};
    return;
  }
  const Parts<T, const std::byte> parts(from, rows.size(), elements, wire);
  const SparseMatrixView<T> matrix{rows.size(),
                                   columns,
                                   {parts.offsets, rows.size() + 1},
                                   {parts.indices, elements},
                                   read_values(parts.values, elements, wire, widened)};
  for (std::size_t p = 0; p < rows.size(); ++p) rows[p] = row(matrix, p);
}

template <class T>
void expand(const FactorView<T>& factor, std::span<T> to) {
  const std::size_t columns = columns_of(factor);
  for (std::size_t p = 0; p < rows_of(factor); ++p) expand(row(factor, p), to.subspan(p * columns, columns));
}

#define INSTANTIATE(T)                                                                               \
  template std::size_t elements_to_send(const FactorView<T>&, bool, Wire);                           \
  template void encode(const FactorView<T>&, std::size_t, std::span<std::byte>, Wire, std::span<T>); \
  template void decode(std::span<const std::byte>, std::size_t, std::size_t, Wire, std::span<T>&,    \
                       std::span<SparseVectorView<T>>);                                              \
  template void expand(const FactorView<T>&, std::span<T>);
DSOP_FOR_ELEMENT_TYPES(INSTANTIATE)

}  // namespace dsop::sparse
