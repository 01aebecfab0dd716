// Ok-Topk without one of its parts: what each is worth. Section 5.2 of its paper, figures 6 and 7.
#include "algorithms/topk/ok_topk.hpp"

namespace dsop::topk {

std::vector<TopKAlgorithm> ok_topk_ablations() {
  std::vector<TopKAlgorithm> all{
      ok_topk_named<Variant{.equal_regions = true}>("ok-topk-equal-regions",
                                                    "ok-topk in regions of equal size, wherever ranks hold elements"),
      ok_topk_named<Variant{.balancing = Balancing::never}>("ok-topk-direct",
                                                            "ok-topk without balancing what is gathered"),
      ok_topk_named<Variant{.equal_regions = true, .balancing = Balancing::never}>("ok-topk-naive",
                                                                                   "ok-topk without either"),
      ok_topk_named<Variant{.destinations = patterns::Destinations::in_order}>(
          "ok-topk-unrotated", "ok-topk where all send to rank 0 first, then to rank 1, and so on"),
      ok_topk_named<Variant{.messages_at_a_time = 1}>(
          "ok-topk-unbucketed", "ok-topk with one message at a time, added before the next travels"),
  };
  for (TopKAlgorithm& algorithm : all) algorithm.published = true;
  return all;
}

}  // namespace dsop::topk
