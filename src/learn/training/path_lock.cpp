#include "learn/training/path_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/output_file.hpp"
#include "learn/data/input_file.hpp"

namespace dsop::learn {

PathLock::PathLock(const std::string& path) : name_(behind_links(path) + ".lock") {
  for (struct stat status{}; status.st_nlink == 0;) {  // 0: who held it before has just removed it
    if (file_ >= 0) close(file_);
    file_ = open(name_.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
    if (file_ < 0) fail(name_, std::string("can't be opened: ") + std::strerror(errno));
    holds_ = flock(file_, LOCK_EX | LOCK_NB) == 0;
    if (!holds_ && errno == EWOULDBLOCK) {
      close(file_);
      fail(path, "is written by another run, which holds " + printable(name_) +
                     "; expected another name, or a start when that run has ended");
    }
    if (fstat(file_, &status) != 0) break;
  }
}

PathLock::~PathLock() {
  struct stat status {};
  const bool is_ours = fstat(file_, &status) == 0 && S_ISREG(status.st_mode) && status.st_size == 0;
  if (is_ours) unlink(name_.c_str());
  close(file_);
}

}  // namespace dsop::learn
