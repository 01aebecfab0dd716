#include "transport/interrupt.hpp"

#include <utility>

namespace dsop {
namespace {

thread_local InterruptCheck interrupt_check = nullptr;

}  // namespace

void set_interrupt_check(InterruptCheck check) {
  interrupt_check = check;
}

Uninterrupted::Uninterrupted() : check_(std::exchange(interrupt_check, nullptr)) {}
Uninterrupted::~Uninterrupted() {
  interrupt_check = check_;
}

bool has_interrupt_check() {
  return interrupt_check != nullptr;
}

void check_interrupt() {
  if (interrupt_check != nullptr && interrupt_check() != 0)
    throw Interrupted("the program has interrupted a wait for other ranks");
}

}  // namespace dsop
