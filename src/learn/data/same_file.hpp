// Files that programs write must be none that they read.
#pragma once

#include <initializer_list>
#include <string>

namespace dsop::learn {

/// A file and the option or argument that names it; without a path there is none.
struct NamedFile {
  std::string name;
  std::string path;
};

/// Throws Error naming both if `written` is one of `others`, by whatever path; that neither is there yet does not
/// matter.
void refuse_same_file(const NamedFile& written, std::initializer_list<NamedFile> others);

}  // namespace dsop::learn
