// Ok-Topk without one of its parts: what each is worth. Section 5.2 of its paper, figures 6 and 7.
#include "algorithms/topk/ok_topk.hpp"

namespace dsop::topk {
namespace {

template <Variant variant>
TopKAlgorithm ablation(std::string name, std::string summary) {
  TopKAlgorithm algorithm = ok_topk_named<variant>(std::move(name), std::move(summary));
  algorithm.published = true;
  return algorithm;
}

}  // namespace

TopKAlgorithm ok_topk_equal_regions() {
  return ablation<Variant{.equal_regions = true}>("ok-topk-equal-regions",
                                                  "ok-topk in regions of equal size, wherever ranks hold elements");
}

TopKAlgorithm ok_topk_direct() {
  return ablation<Variant{.balancing = Balancing::never}>("ok-topk-direct",
                                                          "ok-topk without balancing what is gathered");
}

TopKAlgorithm ok_topk_naive() {
  return ablation<Variant{.equal_regions = true, .balancing = Balancing::never}>("ok-topk-naive",
                                                                                 "ok-topk without either");
}

TopKAlgorithm ok_topk_unrotated() {
  return ablation<Variant{.destinations = patterns::Destinations::in_order}>(
      "ok-topk-unrotated", "ok-topk where all send to rank 0 first, then to rank 1, and so on");
}

TopKAlgorithm ok_topk_unbucketed() {
  return ablation<Variant{.messages_at_a_time = 1}>(
      "ok-topk-unbucketed", "ok-topk with one message at a time, added before the next travels");
}

}  // namespace dsop::topk
