// The OpenMP library that this process has loaded, perhaps under another name, perhaps later than dsop.
#pragma once

#include <string>
#include <vector>

namespace dsop::kernels {

/// Its functions that kernels call. LLVM's and Intel's libraries have them too.
struct OpenMp {
  void (*parallel)(void (*body)(void*), void* data, unsigned threads, unsigned flags);
  int (*max_threads)();
  int (*thread_num)();
  int (*num_threads)();
  void (*set_num_threads)(int);
};

/// Null while there is none. What a thread has found it keeps: PyTorch's, else GCC's, else LLVM's or Intel's. Until
/// then a call costs some tens of ns, and a look through all libraries where one has been loaded since.
const OpenMp* openmp_of_process();

/// The paths of all that are loaded.
std::vector<std::string> loaded_openmp();

/// The path of that which the calling thread's kernels use, or "threads of its own".
std::string openmp_in_use();

}  // namespace dsop::kernels
