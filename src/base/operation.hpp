// The kinds of calls.
#pragma once

#include <cstdint>

namespace dsop {

enum class Operation : std::uint8_t {
  outer_product,
  prepare_outer_product,
  outer_product_rows,
  sharded_outer_product,
  sparse_allreduce,
  topk_allreduce,
  allreduce,
  broadcast,
  reduce,
  make_synchronizer,
  register_parameter,
  change_policy,
  end_step,
  load_synchronizer
};

constexpr const char* name(Operation operation) {
  if (operation == Operation::sparse_allreduce) return "sparse allreduce";
  if (operation == Operation::make_synchronizer) return "making a synchronizer";
  if (operation == Operation::register_parameter) return "registering a parameter";
  if (operation == Operation::change_policy) return "changing a parameter's policy";
  if (operation == Operation::end_step) return "the end of a synchronizer's step";
  if (operation == Operation::load_synchronizer) return "loading a synchronizer's state";
  if (operation == Operation::topk_allreduce) return "top-k allreduce";
  if (operation == Operation::allreduce) return "allreduce";
  if (operation == Operation::broadcast) return "broadcast";
  if (operation == Operation::reduce) return "reduce";
  if (operation == Operation::prepare_outer_product) return "preparing an outer product";
  if (operation == Operation::outer_product_rows) return "outer product's rows";
  return operation == Operation::outer_product ? "outer product" : "sharded outer product";
}

}  // namespace dsop
