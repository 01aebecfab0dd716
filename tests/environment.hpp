// A variable of the environment for as long as a test needs it.
#pragma once

#include <cstdlib>
#include <string>

namespace dsop::tests {

class Environment {
 public:
  Environment(const char* name, const std::string& value) : name_(name) { setenv(name, value.c_str(), 1); }
  ~Environment() { unsetenv(name_); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  const char* name_;
};

}  // namespace dsop::tests
