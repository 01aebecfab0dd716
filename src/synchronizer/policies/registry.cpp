// The list of policies: explicit and in order, the only place where they stand together, and behind it those that the
// program has registered.
#include <algorithm>
#include <map>
#include <mutex>

#include <dsop/types.hpp>

#include "base/never_destroyed.hpp"
#include "synchronizer/policies/compressed.hpp"
#include "synchronizer/policies/dense.hpp"
#include "synchronizer/policies/none.hpp"
#include "synchronizer/policies/outer_product.hpp"
#include "synchronizer/policies/selecting.hpp"
#include "synchronizer/policies/sparse.hpp"

namespace dsop {
namespace synchronizer {

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

namespace {

// By name; those that are there stay where they are.
struct Registered {
  std::mutex mutex;
  std::map<std::string, PolicyKind> kinds;
};

Registered& registered() {
  static Registered& registered = *std::make_unique<Registered>().release();  // as never_destroyed()
  return registered;
}

const PolicyKind* find_kind(const PolicyText& text) {
  const auto takes = [&](const PolicyKind& kind) { return kind.takes(text); };
  const auto found = std::ranges::find_if(policy_kinds(), takes);
  return found == policy_kinds().end() ? nullptr : &*found;
}

}  // namespace

std::string policy_forms() {
  std::string forms;
  const auto append = [&](const std::string& form) { forms.append(forms.empty() ? "" : ", ").append(form); };
  for (const PolicyKind& kind : policy_kinds()) append(kind.form);
  const std::scoped_lock lock(registered().mutex);
  for (const auto& [name, kind] : registered().kinds) append(kind.form);
  return forms;
}

const PolicyKind& policy_kind(const PolicyText& text) {
  if (const PolicyKind* const kind = find_kind(text)) return *kind;
  {
    const std::scoped_lock lock(registered().mutex);
    if (const auto found = registered().kinds.find(text.name); found != registered().kinds.end()) return found->second;
  }
  refuse("policy", text.whole, policy_forms());
}

}  // namespace synchronizer

template <class T>
void register_policy(const std::string& name, MakeCompressor<T> make) {
  using namespace synchronizer;
  const PolicyText text(name);
  if (name.empty() || text.has_argument || find_kind(text) != nullptr)
    refuse("name", name.empty() ? "empty" : name, "one that no policy has, without a colon");
  const std::scoped_lock lock(registered().mutex);
  PolicyKind& kind = registered().kinds[name];
  kind.form = name;
  kind.selects = true;
  MakePolicy<T>& of_this_type = kind.make.template of<T>();
  if (of_this_type) refuse("name", name, "one that has not been registered before");
  of_this_type = [make = std::move(make)](std::type_identity<T>, const PolicyText& given, const Shape& shape) {
    auto compressor = make(shape, given.argument);
    if (!compressor) throw ArgumentError("policy " + given.whole + " has made no compressor");
    return std::make_unique<CompressedPolicy<T>>(given.whole, std::move(compressor));
  };
}

#define INSTANTIATE(T) template void register_policy(const std::string&, MakeCompressor<T>);
DSOP_FOR_ELEMENT_TYPES(INSTANTIATE)

}  // namespace dsop
