#include "learn/data/same_file.hpp"

#include <filesystem>
#include <system_error>

#include <dsop/errors.hpp>

namespace dsop::learn {
namespace {

bool are_same_file(const std::string& a, const std::string& b) {
  std::error_code not_there;
  if (std::filesystem::equivalent(a, b, not_there)) return true;
  const auto whole = [](const std::string& path) {
    std::error_code error;
    const std::filesystem::path absolute = std::filesystem::absolute(path, error);
    const std::filesystem::path canonical = std::filesystem::weakly_canonical(absolute, error);
    return error ? absolute : canonical;  // a folder on the way may not be looked into
  };
  return whole(a) == whole(b);
}

}  // namespace

void refuse_same_file(const NamedFile& written, std::initializer_list<NamedFile> others) {
  for (const NamedFile& other : others)
    if (!written.path.empty() && !other.path.empty() && are_same_file(written.path, other.path))
      throw Error(written.name + ' ' + written.path + " is the same file as " + other.name + ' ' + other.path +
                  ", expected another");
}

}  // namespace dsop::learn
