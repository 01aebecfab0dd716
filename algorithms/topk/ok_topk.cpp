#include "algorithms/topk/ok_topk.hpp"

namespace dsop::topk {

TopKAlgorithm ok_topk() {
  return ok_topk_named<Variant{}>("ok-topk",
                                  "about the k largest of the sum of what all select, by thresholds that are reused");
}

}  // namespace dsop::topk
