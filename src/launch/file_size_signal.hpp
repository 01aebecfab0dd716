// A limit on the size of files (ulimit -f, a batch system's).
#pragma once

#include <csignal>

namespace dsop::launch {

/// For the beginning of main(): a write beyond the limit then fails as one on a full disk does, with an error that
/// names the file. The signal's default ends the program, without a word.
inline void ignore_file_size_signal() {
  std::signal(SIGXFSZ, SIG_IGN);
}

}  // namespace dsop::launch
