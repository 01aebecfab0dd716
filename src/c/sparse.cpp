#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include <dsop/sparse_allreduce.hpp>

#include "base/each_type.hpp"
#include "c/communicator.hpp"
#include "c/options.hpp"
#include "c/status.hpp"
#include "c/sum.hpp"
#include "c/views.hpp"

namespace dsop::c {
namespace {

// What is wrong with its options is said by the first run, to all ranks.
struct SparseObject {
  std::shared_ptr<Ranks> ranks;
  std::string error;
  std::optional<AnyType<SparseAllreduce>> allreduce = {};
};

struct Arguments {
  DataType type;
  SparseAllreduceOptions options;
};

const dsop_vector& given(const dsop_vector* own, const char* name) {
  if (own == nullptr) throw ArgumentError(std::string(name) + " is null, expected a vector");
  return *own;
}

}  // namespace

template <>
inline constexpr const char* kind_of<SparseObject> = "sparse allreduce";

namespace {

// Returns the object once all ranks know that it, the vector and where results go are right.
template <class... Results>
std::shared_ptr<SparseObject> checked(Handle allreduce, const dsop_vector* own, const Results&... results) {
  auto object = find<SparseObject>(allreduce);
  prepared(object->ranks->get(), [&] {
    if (!object->error.empty()) throw ArgumentError(object->error);
    (result(results.first, results.second), ...);
    return given(own, "own");
  });
  return object;
}

}  // namespace
}  // namespace dsop::c

using namespace dsop::c;

int dsop_sum_sparse(dsop_communicator communicator, dsop_type type, const dsop_vector* own, const char* options,
                    dsop_sum* sum) {
  return returning_status([&] {
    dsop::Transport& transport = transport_of(communicator);
    const auto with = prepared(transport, [&] {
      result(sum, "sum");
      given(own, "own");
      return Arguments{data_type_of(type), sparse_options(options)};
    });
    *sum = dsop::visit(with.type, [&]<class T>(T) {
      return put_sum(dsop::sparse_allreduce<T>(transport, view_of<T>(own), with.options));
    });
  });
}

int dsop_start_sum_sparse(dsop_communicator communicator, dsop_type type, const dsop_vector* own, const char* options,
                          dsop_sum* sum, dsop_pending* pending) {
  return returning_status([&] {
    dsop::Transport& transport = transport_of(communicator);
    const auto with = prepared(transport, [&] {
      result(sum, "sum");
      result(pending, "pending");
      given(own, "own");
      return Arguments{data_type_of(type), sparse_options(options)};
    });
    dsop::visit(with.type, [&]<class T>(T) {
      start_sum<dsop::SparseSum<T>>(*sum, *pending, [&](dsop::SparseSum<T>& made) {
        return dsop::start_sparse_allreduce<T>(transport, view_of<T>(own), made, with.options);
      });
    });
  });
}

int dsop_sparse_allreduce_create(dsop_communicator communicator, dsop_type type, const char* options,
                                 dsop_sparse_allreduce* allreduce) {
  return returning_status([&] {
    Handle& handle = result(allreduce, "allreduce");
    dsop::Transport& transport = transport_of(communicator);
    auto object = std::make_shared<SparseObject>(SparseObject{find<Ranks>(communicator), {}});
    object->error = dsop::error_of([&] {
      const dsop::SparseAllreduceOptions with = sparse_options(options);
      dsop::visit(data_type_of(type),
                  [&]<class T>(T) { object->allreduce.emplace(dsop::SparseAllreduce<T>(transport, with)); });
    });
    if (!object->allreduce) dsop::SparseAllreduce<float>{transport};  // other ranks count theirs as a call
    handle = put(std::move(object));
  });
}

int dsop_sparse_allreduce_run(dsop_sparse_allreduce allreduce, const dsop_vector* own, dsop_sum* sum) {
  return returning_status([&] {
    const auto object = checked(allreduce, own, std::pair(sum, "sum"));
    *sum = std::visit([&]<class T>(dsop::SparseAllreduce<T>& of) { return put_sum(of.run(view_of<T>(own))); },
                      *object->allreduce);
  });
}

int dsop_sparse_allreduce_start(dsop_sparse_allreduce allreduce, const dsop_vector* own, dsop_sum* sum,
                                dsop_pending* pending) {
  return returning_status([&] {
    const auto object = checked(allreduce, own, std::pair(sum, "sum"), std::pair(pending, "pending"));
    std::visit(
        [&]<class T>(dsop::SparseAllreduce<T>& of) {
          start_sum<dsop::SparseSum<T>>(*sum, *pending,
                                        [&](dsop::SparseSum<T>& made) { return of.start(view_of<T>(own), made); });
        },
        *object->allreduce);
  });
}

int dsop_sparse_allreduce_free(dsop_sparse_allreduce allreduce) {
  return freeing(allreduce, [&] { take<SparseObject>(allreduce); });
}

int dsop_sum_get(dsop_sum sum, dsop_vector* vector, const char** algorithm) {
  return returning_status([&] {
    std::visit(
        [&](const auto& of) {
          put_if_wanted(vector, vector_of(of.sum));
          put_if_wanted(algorithm, of.algorithm.c_str());
        },
        value_of(sum));
  });
}

int dsop_sum_chosen(dsop_sum sum, size_t* chosen, size_t* nans, size_t* infinities, const uint32_t** took_part,
                    size_t* took_part_count, int* evaluated_local, int* evaluated_global) {
  return returning_status([&] {
    std::visit(
        [&](const auto& of) {
          if constexpr (requires { of.chosen; }) {
            put_if_wanted(chosen, of.chosen);
            put_if_wanted(nans, of.nans);
            put_if_wanted(infinities, of.infinities);
            put_if_wanted(took_part, of.took_part.data());
            put_if_wanted(took_part_count, of.took_part.size());
            put_if_wanted(evaluated_local, of.evaluated_local ? 1 : 0);
            put_if_wanted(evaluated_global, of.evaluated_global ? 1 : 0);
          } else {
            throw dsop::ArgumentError("sum " + std::to_string(sum) +
                                      " is a sparse allreduce's, expected a top-k one's");
          }
        },
        value_of(sum));
  });
}

int dsop_sum_free(dsop_sum sum) {
  return freeing(
      sum, [&] { take<Sum>(sum); }, false);
}
