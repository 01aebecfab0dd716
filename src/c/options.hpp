// Options as text: "algorithm=ring; scale=0.5".
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <dsop/collectives.hpp>
#include <dsop/dsop.hpp>
#include <dsop/sparse_allreduce.hpp>
#include <dsop/synchronizer.hpp>
#include <dsop/topk_allreduce.hpp>

namespace dsop::c {

/// Pairs NAME=VALUE. Reading a name sets a value if the text has it; done() throws ArgumentError for what was not read.
class OptionText {
 public:
  explicit OptionText(const char* text);

  OptionText& read(const char* name, std::string& value);
  OptionText& read(const char* name, double& value);
  OptionText& read(const char* name, bool& value);
  OptionText& read(const char* name, std::size_t& value);
  OptionText& read(const char* name, int& value);
  OptionText& read(const char* name, Wire& value);
  OptionText& read(const char* name, Overlap& value);
  OptionText& read(const char* name, std::vector<int>& values);
  OptionText& read(const char* name, std::optional<Machine>& value);
  void done() const;

 private:
  struct Pair {
    std::string name;
    std::string value;
    bool read = false;
  };

  const std::string* find(const char* name);

  std::vector<Pair> pairs_;
  std::string known_;
};

struct LayerOptions {
  Shape shape;
  Options options;
};

CollectiveOptions collective_options(const char* text);
Options outer_product_options(const char* text);
LayerOptions layer_options(const Shape& shape, const char* text);
Shape with_shape_options(const Shape& shape, const char* text);
SparseAllreduceOptions sparse_options(const char* text);
TopKOptions topk_options(const char* text);
SynchronizerOptions synchronizer_options(const char* text);

}  // namespace dsop::c
