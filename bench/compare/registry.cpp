#include <dsop/errors.hpp>

#include "compare/rival.hpp"

namespace dsop::bench {

namespace compare {
Rival allgather_per_pair();
Rival openmpi_basic_linear();
Rival openmpi_nonoverlapping();
Rival openmpi_recursive_doubling();
Rival openmpi_ring();
Rival openmpi_segmented_ring();
Rival openmpi_rabenseifner();
Rival openmpi_allgather_linear();
Rival openmpi_allgather_bruck();
Rival openmpi_allgather_recursive_doubling();
Rival openmpi_allgather_ring();
Rival openmpi_allgather_neighbor();
Rival openmpi_allgather_two_proc();
Rival gloo_ring();
Rival gloo_halving_doubling();
}  // namespace compare

const Registry<Rival>& rivals() {
  static const Registry<Rival> registry({
      compare::allgather_per_pair(),
      compare::openmpi_basic_linear(),
      compare::openmpi_nonoverlapping(),
      compare::openmpi_recursive_doubling(),
      compare::openmpi_ring(),
      compare::openmpi_segmented_ring(),
      compare::openmpi_rabenseifner(),
      compare::openmpi_allgather_linear(),
      compare::openmpi_allgather_bruck(),
      compare::openmpi_allgather_recursive_doubling(),
      compare::openmpi_allgather_ring(),
      compare::openmpi_allgather_neighbor(),
      compare::openmpi_allgather_two_proc(),
      compare::gloo_ring(),
      compare::gloo_halving_doubling(),
  });
  return registry;
}

void check_usable(const Rival& rival, const Transport& transport) {
  const std::string reason = rival.unsupported(transport);
  if (!reason.empty()) throw ArgumentError("algorithm " + rival.name + " can't be used: it " + reason);
}

}  // namespace dsop::bench
