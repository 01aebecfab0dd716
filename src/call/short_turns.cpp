#include "call/short_turns.hpp"

#if defined(__linux__)
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#endif

namespace dsop {

#if defined(__linux__)
namespace {

// As the kernel's struct sched_attr begins; C libraries do not declare it yet.
struct SchedulingAttributes {
  std::uint32_t size = 48;
  std::uint32_t policy = 0;
  std::uint64_t flags = 0;
  std::int32_t nice = 0;
  std::uint32_t priority = 0;
  std::uint64_t runtime_nanoseconds = 0;
  std::uint64_t deadline_nanoseconds = 0;
  std::uint64_t period_nanoseconds = 0;
};
static_assert(sizeof(SchedulingAttributes) == 48);

}  // namespace

void take_short_turns() noexcept {
  constexpr std::uint64_t turn_nanoseconds = 100'000;  // the shortest that the kernel grants
  SchedulingAttributes attributes;
  if (syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0) return;
  if (attributes.policy != SCHED_OTHER && attributes.policy != SCHED_BATCH) return;
  attributes.runtime_nanoseconds = turn_nanoseconds;
  syscall(SYS_sched_setattr, 0, &attributes, 0);
}
#else
void take_short_turns() noexcept {}
#endif

}  // namespace dsop
