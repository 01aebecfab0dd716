// Ways to sum outer products that are not dsop's, as contenders of dsop-bench: what a rival is, and which there are.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include <dsop/problem.hpp>
#include <dsop/transport.hpp>
#include <dsop/views.hpp>

#include "base/each_type.hpp"
#include "base/registry.hpp"

namespace dsop::bench {

/// What a rival is made ready for. Everything must outlive it; the factors and the gradient, n x m without gaps, are
/// the ones that dsop's own algorithms work on.
template <class T>
struct RivalJob {
  Transport& transport;
  const Problem& problem;
  Factors<T> own;
  MatrixView<T> gradient;
};

/// A rival with its connections and buffers, ready for any number of calls. All ranks make, call and destroy it; none
/// may destroy it before all have returned from the last call, as that closes connections.
class PreparedRival {
 public:
  virtual ~PreparedRival() = default;
  /// G = sum over ranks of A_r^T B_r.
  virtual void run() = 0;
  /// What ran in the last call, where that is not what was asked for; else the rival's own name.
  virtual std::string used() const = 0;
};

struct Rival {
  template <class T>
  using PrepareFor = std::function<std::unique_ptr<PreparedRival>(const RivalJob<T>&)>;

  std::string name;
  std::string summary;
  std::string source;
  bool counted = false;  ///< all its messages go over the job's transport
  bool dense = false;    ///< it sums G as a vector
  std::function<std::string(const Transport&)> unsupported = [](const Transport&) { return std::string(); };
  std::function<double(const Problem&)> flops;  ///< of one rank's products; sums inside a library are not in it
  std::function<std::size_t(const Problem&)> workspace_elements;  ///< a rank, at most
  EachType<PrepareFor> prepare;
};

const Registry<Rival>& rivals();

/// Throws ArgumentError saying why, if the rival can't run over this transport.
void check_usable(const Rival& rival, const Transport& transport);

}  // namespace dsop::bench
