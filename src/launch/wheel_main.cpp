// The one program of a wheel: it does what it is called as.
#include <string_view>

int bench_main(int argc, char** argv);
int train_main(int argc, char** argv);

int main(int argc, char** argv) {
  const bool trains = argc > 0 && std::string_view(argv[0]).ends_with("dsop-train");
  return trains ? train_main(argc, argv) : bench_main(argc, argv);
}
