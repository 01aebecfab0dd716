#include <dsop/sparse_allreduce.hpp>

#include <variant>

#include "base/each_type.hpp"
#include "c/communicator.hpp"
#include "c/options.hpp"
#include "c/status.hpp"
#include "c/sum.hpp"
#include "c/views.hpp"

namespace dsop::c {
namespace {

using SparseObject = AllreduceObject<SparseAllreduce>;
using SparseArguments = Arguments<SparseAllreduceOptions>;

void check_given(const dsop_vector* own) {
  if (own == nullptr) throw ArgumentError("own is null, expected a vector");
}

}  // namespace

template <>
inline constexpr const char* kind_of<SparseObject> = "sparse allreduce";

}  // namespace dsop::c

using namespace dsop::c;

int dsop_sum_sparse(dsop_communicator communicator, dsop_type type, const dsop_vector* own, const char* options,
                    dsop_sum* sum) {
  return returning_status([&] {
    dsop::Transport& transport = transport_of(communicator);
    const auto with = prepared(transport, [&] {
      result(sum, "sum");
      check_given(own);
      return SparseArguments{data_type_of(type), allreduce_options<dsop::SparseAllreduceOptions>(options)};
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
      check_given(own);
      return SparseArguments{data_type_of(type), allreduce_options<dsop::SparseAllreduceOptions>(options)};
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
    auto object = std::make_shared<SparseObject>(SparseObject{find<CommunicatorHandle>(communicator)});
    object->error = dsop::error_of([&] {
      const auto with = allreduce_options<dsop::SparseAllreduceOptions>(options);
      dsop::visit(data_type_of(type),
                  [&]<class T>(T) { object->allreduce.emplace(dsop::SparseAllreduce<T>(transport, with)); });
    });
    if (!object->allreduce) dsop::SparseAllreduce<float>{transport};  // other ranks count theirs as a call
    handle = put(std::move(object));
  });
}

int dsop_sparse_allreduce_run(dsop_sparse_allreduce allreduce, const dsop_vector* own, dsop_sum* sum) {
  return returning_status([&] {
    const auto object = checked<SparseObject>(allreduce, [&](const SparseObject&) {
      result(sum, "sum");
      check_given(own);
    });
    *sum = std::visit([&]<class T>(dsop::SparseAllreduce<T>& of) { return put_sum(of.run(view_of<T>(own))); },
                      *object->allreduce);
  });
}

int dsop_sparse_allreduce_start(dsop_sparse_allreduce allreduce, const dsop_vector* own, dsop_sum* sum,
                                dsop_pending* pending) {
  return returning_status([&] {
    const auto object = checked<SparseObject>(allreduce, [&](const SparseObject&) {
      result(sum, "sum");
      result(pending, "pending");
      check_given(own);
    });
    std::visit(
        [&]<class T>(dsop::SparseAllreduce<T>& of) {
          start_sum<dsop::SparseSum<T>>(*sum, *pending,
                                        [&](dsop::SparseSum<T>& made) { return of.start(view_of<T>(own), made); });
        },
        *object->allreduce);
  });
}

int dsop_sparse_allreduce_free(dsop_sparse_allreduce allreduce) {
  return free_object<SparseObject>(allreduce);
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
  return free_object<Sum>(sum, false);
}
