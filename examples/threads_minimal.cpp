// Ranks that are threads of this program, without MPI: each has one sample, everybody gets the mean gradient.
#include <array>
#include <cstdio>
#include <dsop/dsop.hpp>
#include <dsop/threads.hpp>

int main() {
  dsop::run_on_threads(2, [](dsop::Transport& transport) {
    const auto rank = static_cast<float>(transport.rank());
    const std::array<float, 3> a{1, 1, 1};     // what went into the layer
    const std::array<float, 2> b{rank, rank};  // the error that came back
    std::array<float, 3 * 2> gradient{};
    dsop::dsop(transport, {{a.data(), 1, 3}, {b.data(), 1, 2}}, dsop::MatrixView(gradient.data(), 3, 2),
               {.scale = 0.5});
    if (rank == 0) std::printf("every element is %g\n", gradient[0]);
  });
}
