#include <sstream>
#include <variant>

#include <dsop/dsop.hpp>

#include "base/each_type.hpp"
#include "c/communicator.hpp"
#include "c/options.hpp"
#include "c/pending.hpp"
#include "c/status.hpp"
#include "c/views.hpp"

namespace dsop::c {
namespace {

struct Layer {
  std::shared_ptr<CommunicatorHandle> ranks;
  AnyType<OuterProduct> of_type;
  std::string plan = {};
  std::string algorithm = {};
};

using Rows = AnyType<GradientRows>;

}  // namespace

template <>
inline constexpr const char* kind_of<Layer> = "layer's outer product";
template <>
inline constexpr const char* kind_of<Rows> = "gradient's rows";

}  // namespace dsop::c

using namespace dsop::c;

int dsop_sum_outer_products(dsop_communicator communicator, dsop_type type, const dsop_factor* a, const dsop_factor* b,
                            const dsop_matrix* gradient, const char* options) {
  return returning_status([&] {
    dsop::Transport& transport = transport_of(communicator);
    const auto with = prepared(transport, [&] {
      return Arguments<dsop::Options>{data_type_of(type), outer_product_options(options)};
    });
    dsop::visit(with.type,
                [&]<class T>(T) { dsop::dsop<T>(transport, factors_of<T>(a, b), view_of<T>(gradient), with.options); });
  });
}

int dsop_last_plan(dsop_communicator communicator, const char** text) {
  return returning_status([&] {
    std::ostringstream shown;
    shown << dsop::last_plan(transport_of(communicator));
    result(text, "text") = keep_text(shown.str());
  });
}

int dsop_outer_product_create(dsop_communicator communicator, dsop_type type, size_t rows, size_t columns,
                              size_t max_pairs, const char* options, dsop_outer_product* layer) {
  return returning_status([&] {
    dsop::Transport& transport = transport_of(communicator);
    const LayerOptions with = prepared(transport, [&] {
      result(layer, "layer");
      data_type_of(type);
      return layer_options({.rows = rows, .columns = columns, .max_pairs = max_pairs}, options);
    });
    *layer = dsop::visit(data_type_of(type), [&]<class T>(T) {
      return put(std::make_shared<Layer>(
          Layer{find<CommunicatorHandle>(communicator), dsop::OuterProduct<T>(transport, with.shape, with.options)}));
    });
  });
}

int dsop_outer_product_run(dsop_outer_product layer, const dsop_factor* a, const dsop_factor* b,
                           const dsop_matrix* gradient) {
  return returning_status([&] {
    with_typed(*find<Layer>(layer), [&]<class T>(dsop::OuterProduct<T>& product) {
      product.run(factors_of<T>(a, b), view_of<T>(gradient));
    });
  });
}

int dsop_outer_product_run_sharded(dsop_outer_product layer, const dsop_factor* a, const dsop_factor* b,
                                   const dsop_matrix* own_rows) {
  return returning_status([&] {
    const auto of = find<Layer>(layer);
    prepared(of->ranks->get(), [&] {
      for (const dsop_factor* const factor : {a, b})
        if (factor != nullptr && factor->row_offsets != nullptr)
          throw dsop::ArgumentError(std::string(factor == a ? "a" : "b") + " is sparse, expected it dense");
    });
    with_typed(*of, [&]<class T>(dsop::OuterProduct<T>& product) {
      product.run_sharded({dense_view_of<T>(a), dense_view_of<T>(b)}, view_of<T>(own_rows));
    });
  });
}

int dsop_outer_product_run_rows(dsop_outer_product layer, const dsop_factor* a, const dsop_factor* b, dsop_rows* rows) {
  return returning_status([&] {
    const auto of = find<Layer>(layer);
    prepared(of->ranks->get(), [&] { result(rows, "rows"); });
    *rows = with_typed(*of, [&]<class T>(dsop::OuterProduct<T>& product) {
      return put(std::make_shared<Rows>(product.run_rows(factors_of<T>(a, b))));
    });
  });
}

int dsop_outer_product_start(dsop_outer_product layer, const dsop_factor* a, const dsop_factor* b,
                             const dsop_matrix* gradient, dsop_pending* pending) {
  return returning_status([&] {
    const auto of = find<Layer>(layer);
    prepared(of->ranks->get(), [&] { result(pending, "pending"); });
    *pending = with_typed(*of, [&]<class T>(dsop::OuterProduct<T>& product) {
      return put_pending(product.start(factors_of<T>(a, b), view_of<T>(gradient)));
    });
  });
}

int dsop_outer_product_plan(dsop_outer_product layer, const char** text, const char** algorithm) {
  return returning_status([&] {
    const auto of = find<Layer>(layer);
    const dsop::Plan& plan = with_typed(*of, [](auto& product) -> const dsop::Plan& { return product.plan(); });
    if (text != nullptr) {
      of->plan = (std::ostringstream() << plan).str();
      *text = of->plan.c_str();
    }
    of->algorithm = plan.algorithm_text();
    put_if_wanted(algorithm, of->algorithm.c_str());
  });
}

int dsop_outer_product_row_bounds(dsop_outer_product layer, const size_t** bounds, size_t* count) {
  return returning_status([&] {
    const auto of = find<Layer>(layer);
    const std::vector<std::size_t>& of_plan =
        with_typed(*of, [](auto& product) -> const dsop::Plan& { return product.plan(); }).row_bounds;
    result(bounds, "bounds") = of_plan.data();
    put_if_wanted(count, of_plan.size());
  });
}

int dsop_outer_product_free(dsop_outer_product layer) {
  return free_object<Layer>(layer);
}

int dsop_rows_get(dsop_rows rows, size_t* count, size_t* columns, const uint32_t** indices, const void** values) {
  return returning_status([&] {
    std::visit(
        [&](const auto& of) {
          put_if_wanted(count, of.indices.size());
          put_if_wanted(columns, of.columns);
          put_if_wanted(indices, static_cast<const std::uint32_t*>(of.indices.data()));
          put_if_wanted(values, static_cast<const void*>(of.elements.get()));
        },
        *find<Rows>(rows));
  });
}

int dsop_rows_free(dsop_rows rows) {
  return free_object<Rows>(rows, false);
}
