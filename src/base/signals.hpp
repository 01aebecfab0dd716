// Signals are the program's.
#pragma once

#include <csignal>

namespace dsop {

/// While it lives, this thread gets no signals, nor do threads that it starts, ever: signals are the program's.
class NoSignals {
 public:
  NoSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  NoSignals(const NoSignals&) = delete;
  ~NoSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

}  // namespace dsop
