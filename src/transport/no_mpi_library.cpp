#include "transport/mpi_library.hpp"

namespace dsop {

std::string mpi_library() {
  return "none";
}

bool mpi_is_open() {
  return false;
}

void open_mpi() {}

}  // namespace dsop
