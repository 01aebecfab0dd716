// Policies that a program registers itself.
#include <catch2/catch.hpp>

#include <cmath>
#include <cstring>
#include <sstream>

#include <dsop/policy.hpp>
#include <dsop/synchronizer.hpp>

#include "failures.hpp"

using namespace dsop;
using namespace dsop::tests;

namespace {

// Even parts travel, what is odd stays behind. A value of 100 can't be encoded, one of 50 not be decoded.
template <class T>
class EvenParts final : public Compressor<T> {
 public:
  explicit EvenParts(std::size_t elements) : elements_(elements) {}

  std::size_t message_bytes() const override { return elements_ * sizeof(T); }
  void encode(std::span<T> values, std::span<std::byte> message) override {
    std::vector<T> even(values.begin(), values.end());
    for (std::size_t i = 0; i < even.size(); ++i) {
      if (values[i] == T{100}) throw Error("100 can't be encoded");
      even[i] -= std::fmod(even[i], T{2});
      values[i] -= even[i];
    }
    std::memcpy(message.data(), even.data(), message.size());
  }
  void decode(std::span<const std::byte> message, std::span<T> sum) override {
    std::vector<T> even(sum.size());
    std::memcpy(even.data(), message.data(), message.size());
    for (std::size_t i = 0; i < sum.size(); ++i) {
      if (even[i] == T{50}) throw Error("50 can't be decoded");
      sum[i] += even[i];
    }
  }

 private:
  std::size_t elements_;
};

template <class T>
std::unique_ptr<Compressor<T>> even_parts(const Shape& shape, const std::string& argument) {
  if (argument == "nothing") return nullptr;
  if (!argument.empty()) throw ArgumentError("even's argument is " + argument + ", expected none");
  return std::make_unique<EvenParts<T>>(shape.rows * shape.columns);
}

void register_even_parts() {
  static const bool once = [] {
    register_policy<float>("even", even_parts<float>);
    register_policy<double>("even", even_parts<double>);
    register_policy<float>("even-f32", even_parts<float>);
    return true;
  }();
  static_cast<void>(once);
}

template <class T>
void run_step(Synchronizer<T>& model, std::vector<T>& values, const Step& step = {}) {
  model.begin(step);
  model.give("w", {values.data(), 1, values.size()});
  model.finish();
}

template <class T>
std::vector<T> residual_of(const Synchronizer<T>& model) {
  const std::span<const T> residual = model.residual("w");
  return {residual.begin(), residual.end()};
}

template <class T>
void check_sums(Transport& transport, Failures& failures) {
  const auto P = static_cast<T>(transport.size());
  const auto r = static_cast<T>(transport.rank());
  Synchronizer<T> model(transport);
  model.add("w", {.rows = 1, .columns = 3, .max_pairs = 0}, "even");
  std::vector<T> values{1, 4, -2 * r};
  run_step(model, values);
  failures.check(values == std::vector<T>{0, 4 * P, -P * (P - 1)}, "the first sum is wrong");
  failures.check(residual_of(model) == std::vector<T>{1, 0, 0}, "the first residual is wrong");
  values = {2, 2, 2};
  run_step(model, values, {.scale = 0.5});
  failures.check(values == std::vector<T>{2 * P, 0, 0}, "what stayed behind is not added");
  failures.check(residual_of(model) == std::vector<T>{0, 1, 1}, "the second residual is wrong");
  failures.check(model.last_step("w").algorithm == "even", "last_step() names another");
  failures.check(model.describe().find("even") != std::string::npos, model.describe());

  std::stringstream saved;
  model.save(saved);
  Synchronizer<T> other(transport);
  other.add("w", {.rows = 1, .columns = 3, .max_pairs = 0}, "even");
  other.load(saved);
  values = {1, 1, 1};
  run_step(other, values);
  failures.check(values == std::vector<T>{0, 2 * P, 2 * P}, "what was saved is not added");
  other.set_policy("w", "dense");
  values = {0, 0, 0};
  run_step(other, values);
  failures.check(values == std::vector<T>{P, 0, 0}, "another policy does not get what stayed behind");
}

}  // namespace

TEST_CASE("a program's own policy sums what its messages say, and keeps the rest") {
  register_even_parts();
  const int P = GENERATE(1, 2, 3, 5);
  CHECK(failures_on_threads(P, check_sums<float>) == "");
  CHECK(failures_on_threads(P, check_sums<double>) == "");
}

TEST_CASE("what a program's own policy throws on one rank drops the step on all") {
  register_even_parts();
  CHECK(failures_on_threads(3, [](Transport& transport, Failures& failures) {
          Synchronizer<float> model(transport);
          model.add("w", {.rows = 1, .columns = 2, .max_pairs = 0}, "even");
          std::vector<float> values{1, 3};
          run_step(model, values);
          values = {transport.rank() == 1 ? 99.0F : 2.0F, 0};
          const std::string of_encode = argument_error_of([&] { run_step(model, values); });
          failures.check(of_encode == "rank 1: parameter w: 100 can't be encoded", of_encode);
          values = {transport.rank() == 1 ? 49.0F : 2.0F, 0};
          const std::string of_decode = argument_error_of([&] { run_step(model, values); });
          failures.check(of_decode == "ranks 0-2: parameter w: 50 can't be decoded", of_decode);
          failures.check(residual_of(model) == std::vector<float>{1, 1}, "a failed step has changed the residual");
          values = {1, 1};
          run_step(model, values);
          failures.check(values == std::vector<float>{6, 6}, "the next step is wrong");
        }) == "");
}

TEST_CASE("names of policies are registered once, for each type, and are known in errors") {
  register_even_parts();
  const auto error_of_name = [](const std::string& name) {
    return argument_error_of([&] { register_policy<float>(name, even_parts<float>); });
  };
  CHECK(error_of_name("even") == "name is even, expected one that has not been registered before");
  for (const char* const name : {"dense", "topk", "a:b", "none"})
    CHECK(error_of_name(name) == std::string("name is ") + name + ", expected one that no policy has, without a colon");
  CHECK(error_of_name("") == "name is empty, expected one that no policy has, without a colon");
  CHECK(failures_on_threads(2, [](Transport& transport, Failures& failures) {
          Synchronizer<double> model(transport);
          const auto error_of_policy = [&](const std::string& policy) {
            return argument_error_of([&] { model.add("w", {.rows = 1, .columns = 2}, policy); });
          };
          const auto expect = [&](const std::string& policy, const std::string& expected) {
            const std::string error = error_of_policy(policy);
            failures.check(error.find(expected) != std::string::npos, error);
          };
          expect("even-f32", "policy is even-f32, expected one that the program has registered for f64");
          expect("even:3", "even's argument is 3, expected none");
          expect("even:nothing", "policy even:nothing has made no compressor");
          expect("odd", ", even, even-f32");
        }) == "");
}
