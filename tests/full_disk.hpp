// A disk that is full, as far as this process can tell.
#pragma once

#include <sys/resource.h>

#include <csignal>
#include <string>

#include <dsop/errors.hpp>

namespace dsop::tests {

/// The text of the dsop::Error that `write` throws where no file may grow above 100 bytes; "" if it throws none.
template <class Write>
std::string error_on_full_disk(Write write) {
  rlimit limit{};
  getrlimit(RLIMIT_FSIZE, &limit);
  const rlimit full{100, limit.rlim_max};
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &full);
  std::string error;
  try {
    write();
  } catch (const Error& failure) {
    error = failure.what();
  }
  setrlimit(RLIMIT_FSIZE, &limit);
  std::signal(SIGXFSZ, old_handler);
  return error;
}

}  // namespace dsop::tests
