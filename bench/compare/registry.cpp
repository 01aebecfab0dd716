#include <dsop/errors.hpp>

#include "compare/rival.hpp"

namespace dsop::bench {

namespace compare {
Rival allgather_per_pair();
std::vector<Rival> openmpi_allreduces();
std::vector<Rival> openmpi_allgathers();
std::vector<Rival> gloo_allreduces();
}  // namespace compare

const Registry<Rival>& rivals() {
  static const Registry<Rival> registry([] {
    std::vector<Rival> all{compare::allgather_per_pair()};
    for (auto* const some : {compare::openmpi_allreduces, compare::openmpi_allgathers, compare::gloo_allreduces})
      for (Rival& rival : some()) all.push_back(std::move(rival));
    return all;
  }());
  return registry;
}

void check_usable(const Rival& rival, const Transport& transport) {
  const std::string reason = rival.unsupported(transport);
  if (!reason.empty()) throw ArgumentError("algorithm " + rival.name + " can't be used: it " + reason);
}

}  // namespace dsop::bench
