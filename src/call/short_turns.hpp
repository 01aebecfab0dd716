// How soon a thread that wakes up gets a core on which others compute.
#pragma once

namespace dsop {

/// Lets the calling thread run soon after it wakes up, in short turns, by Linux's fair scheduler from 6.12 on: without
/// it a message waits until the program's own threads have had their turns of some milliseconds. Takes no larger share
/// of the core, needs no rights, changes no other thread. Elsewhere it does nothing. Only for threads that we made.
void take_short_turns() noexcept;

}  // namespace dsop
