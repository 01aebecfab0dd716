#include "sparse/factor.hpp"

#include <algorithm>
#include <limits>

#include <dsop/types.hpp>

namespace dsop::sparse {
namespace {

// Where the parts of a sparse factor lie: 8-byte offsets first, then what needs less alignment.
template <class T, class Byte>
struct Parts {
  using Offset = std::conditional_t<std::is_const_v<Byte>, const std::size_t, std::size_t>;
  using Value = std::conditional_t<std::is_const_v<Byte>, const T, T>;
  using IndexType = std::conditional_t<std::is_const_v<Byte>, const Index, Index>;

  Offset* offsets;
  Value* values;
  IndexType* indices;

  Parts(std::span<Byte> bytes, std::size_t rows, std::size_t elements)
      : offsets(reinterpret_cast<Offset*>(bytes.data())),
        values(reinterpret_cast<Value*>(offsets + rows + 1)),
        indices(reinterpret_cast<IndexType*>(values + elements)) {}
};

}  // namespace

std::size_t encoded_bytes(std::size_t rows, std::size_t columns, std::size_t elements, DataType type) {
  const std::size_t bytes = elements == Sparsity::dense
                                ? rows * columns * bytes_of(type)
                                : (rows + 1) * sizeof(std::size_t) + elements * (bytes_of(type) + sizeof(Index));
  return (bytes + 7) / 8 * 8;
}

std::size_t smaller_form(std::size_t rows, std::size_t columns, std::size_t elements, DataType type) {
  const bool indexed = columns <= std::size_t{std::numeric_limits<Index>::max()} + 1;
  const bool smaller =
      encoded_bytes(rows, columns, elements, type) < encoded_bytes(rows, columns, Sparsity::dense, type);
  return indexed && smaller ? elements : Sparsity::dense;
}

template <class T>
std::size_t elements_to_send(const FactorView<T>& factor, bool find_zeros) {
  const std::size_t rows = rows_of(factor);
  std::size_t elements = 0;
  if (const auto* const dense = std::get_if<MatrixView<const T>>(&factor)) {
    if (!find_zeros) return Sparsity::dense;
    for (std::size_t p = 0; p < rows; ++p) elements += count_nonzeros(row<T>(*dense, p).values);
  } else {
    elements = std::get<SparseMatrixView<T>>(factor).count();
  }
  return smaller_form(rows, columns_of(factor), elements, data_type<T>);
}

template <class T>
void encode(const FactorView<T>& factor, std::size_t elements, std::span<std::byte> to) {
  if (elements == Sparsity::dense) {
    expand(factor, std::span(reinterpret_cast<T*>(to.data()), rows_of(factor) * columns_of(factor)));
    return;
  }
  const Parts<T, std::byte> parts(to, rows_of(factor), elements);
  std::size_t count = 0;
  parts.offsets[0] = 0;
  for (std::size_t p = 0; p < rows_of(factor); ++p) {
    const SparseVectorView<T> pair = row(factor, p);
    if (std::holds_alternative<MatrixView<const T>>(factor)) {
      count += compress(pair.values, parts.indices + count, parts.values + count).indices.size();
    } else {
      std::copy(pair.indices.begin(), pair.indices.end(), parts.indices + count);
      std::copy(pair.values.begin(), pair.values.end(), parts.values + count);
      count += pair.indices.size();
    }
    parts.offsets[p + 1] = count;
  }
}

template <class T>
void decode(std::span<const std::byte> from, std::size_t columns, std::size_t elements,
            std::span<SparseVectorView<T>> rows) {
  if (elements == Sparsity::dense) {
    const T* const values = reinterpret_cast<const T*>(from.data());
    for (std::size_t p = 0; p < rows.size(); ++p) rows[p] = {columns, {}, {values + p * columns, columns}};
    return;
  }
  const Parts<T, const std::byte> parts(from, rows.size(), elements);
  const SparseMatrixView<T> matrix{
      rows.size(), columns, {parts.offsets, rows.size() + 1}, {parts.indices, elements}, {parts.values, elements}};
  for (std::size_t p = 0; p < rows.size(); ++p) rows[p] = row(matrix, p);
}

template <class T>
void expand(const FactorView<T>& factor, std::span<T> to) {
  const std::size_t columns = columns_of(factor);
  for (std::size_t p = 0; p < rows_of(factor); ++p) expand(row(factor, p), to.subspan(p * columns, columns));
}

#define INSTANTIATE(T)                                                                                        \
  template std::size_t elements_to_send(const FactorView<T>&, bool);                                          \
  template void encode(const FactorView<T>&, std::size_t, std::span<std::byte>);                              \
  template void decode(std::span<const std::byte>, std::size_t, std::size_t, std::span<SparseVectorView<T>>); \
  template void expand(const FactorView<T>&, std::span<T>);
DSOP_FOR_ELEMENT_TYPES(INSTANTIATE)

}  // namespace dsop::sparse
