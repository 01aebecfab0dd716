#include <dsop/errors.hpp>
#include <dsop/gloo.hpp>

namespace dsop {

bool has_gloo() {
  return false;
}

std::unique_ptr<Transport> connect_over_gloo(const Store&, const GlooOptions&) {
  throw ArgumentError("this library was built without Gloo, expected a build with it (meson setup -Dgloo=enabled)");
}

}  // namespace dsop
