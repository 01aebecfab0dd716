// The list of policies: explicit and in order, the only place where they stand together.
#include <algorithm>

#include "base/never_destroyed.hpp"
#include "synchronizer/policies/dense.hpp"
#include "synchronizer/policies/none.hpp"
#include "synchronizer/policies/outer_product.hpp"
#include "synchronizer/policies/selecting.hpp"
#include "synchronizer/policies/sparse.hpp"

namespace dsop::synchronizer {

const std::vector<PolicyKind>& policy_kinds() {
  static const auto& kinds = *never_destroyed(std::vector<PolicyKind>{
      outer_product_policy(),
      rounded_outer_product_policy(),
      dense_policy(),
      dense_overlapped_policy(),
      sparse_policy(),
      none_policy(),
      selecting_policy(),
  });
  return kinds;
}

std::string policy_forms() {
  std::string forms;
  for (const PolicyKind& kind : policy_kinds()) forms.append(forms.empty() ? "" : ", ").append(kind.form);
  return forms;
}

const PolicyKind& policy_kind(const PolicyText& text) {
  const auto takes = [&](const PolicyKind& kind) { return kind.takes(text); };
  const auto found = std::find_if(policy_kinds().begin(), policy_kinds().end(), takes);
  if (found == policy_kinds().end()) refuse("policy", text.whole, policy_forms());
  return *found;
}

}  // namespace dsop::synchronizer
