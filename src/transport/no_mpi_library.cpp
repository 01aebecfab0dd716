#include "transport/mpi_library.hpp"

namespace dsop {

std::string mpi_library() {
  return "none";
}

void check_mpi_library() {}

}  // namespace dsop
