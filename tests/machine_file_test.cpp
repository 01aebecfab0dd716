#include <catch2/catch.hpp>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include <dsop/errors.hpp>
#include <dsop/machine.hpp>
#include <dsop/problem.hpp>

#include "full_disk.hpp"

using namespace dsop;

namespace {

std::string refusal(const std::string& text) {
  const std::string path = "machine_under_test.json";
  std::ofstream(path) << text;
  std::string error;
  try {
    read_machine(path);
  } catch (const Error& failure) {
    error = failure.what();
  }
  std::remove(path.c_str());
  return error;
}

}  // namespace

TEST_CASE("a machine survives being written and read") {
  Machine machine;
  machine.latency_seconds = 1.2345678901234567e-5;
  machine.piece_bytes = 0;
  machine.flops_per_second = 3e10;
  machine.hidden_share = 0.25;
  machine.indexed_addition_factor = 3;
  machine.ring_step_seconds = {1e-6, 2e-6, 3e-6, 4e-6, 5e-6, 0.1};
  machine.exchange_step_seconds = {1e-6, 2e-6, 3e-6, 4e-6, 5e-6, 0.2};
  machine.winners = {{1000, 2000, 3, 8, DataType::f64, "generalized-rabenseifner"}};
  const std::string path = "machine_written.json";
  write_machine(machine, path);
  CHECK(read_machine(path) == machine);
  std::remove(path.c_str());
}

TEST_CASE("a machine whose file's name is no UTF-8 survives being written and read, under that name and another") {
  const std::string path = "machine_\xff\x1b.json";
  write_machine(Machine{}, path);
  const Machine machine = read_machine(path);
  CHECK(machine.source == path);
  write_machine(machine, path);
  CHECK(read_machine(path) == machine);
  std::remove(path.c_str());
  CHECK_THROWS_WITH(read_machine(path), "machine file machine_\\xff\\x1b.json: can't be opened");
}

TEST_CASE("what a machine was measured on survives being written and read, and is refused where it makes no sense") {
  for (const double spread : {0.0, 1.0, 1.625}) {
    const Machine machine{.measured_on = {8, 4, 2, "mpi", spread, spread / 2}};
    const std::string path = "machine_measured.json";
    write_machine(machine, path);
    CHECK(read_machine(path).measured_on == machine.measured_on);
    std::remove(path.c_str());
  }
  const auto refusal_of = [](const std::string& more) {
    return refusal(R"({"measured_on": {"ranks": 8, "nodes": 8, "threads": 1, "transport": "mpi")" + more + "}}");
  };
  const std::string file = "machine file machine_under_test.json: ";
  CHECK(refusal_of("").empty());
  for (const std::string spread : {"0.5", "-1", "\"2\"", "null"})
    CHECK(refusal_of(", \"arithmetic_spread\": " + spread) ==
          file + "measured_on.arithmetic_spread is " + spread + ", expected a number from 1 on");
  CHECK(refusal_of(", \"hidden_share_spread\": 1.5") ==
        file + "measured_on.hidden_share_spread is 1.5, expected a number from 0 to 1");
  CHECK(refusal_of(", \"spread\": 1").find("and hidden_share_spread, and nothing else") != std::string::npos);
}

TEST_CASE("a machine's inner levels survive being written and read") {
  Machine machine;
  machine.inner_levels = {{.latency_seconds = 7e-7, .out_bytes_per_second = 25e6, .piece_bytes = 8000},
                          {.nodes = 4, .gap_per_byte_seconds = 8e-9, .exchange_step_seconds = {1, 2, 3, 4, 5, 6}}};
  const std::string path = "machine_of_levels.json";
  write_machine(machine, path);
  CHECK(read_machine(path) == machine);
  machine.inner_levels[1].nodes = 2;
  CHECK(!(read_machine(path) == machine));
  std::remove(path.c_str());
}

TEST_CASE("a machine file of before levels has one") {
  CHECK(refusal("{\"latency_seconds\": 1e-5, \"source\": \"calibrated\"}").empty());
  CHECK(refusal("{\"version\": 1, \"latency_seconds\": 1e-5}").empty());
  const std::string path = "machine_of_one_level.json";
  std::ofstream(path) << "{\"latency_seconds\": 3e-5}";
  CHECK(read_machine(path) == Machine{.latency_seconds = 3e-5});
  std::remove(path.c_str());
}

TEST_CASE("a machine file of another version, or with levels that make no sense, is refused") {
  const std::string file = "machine file machine_under_test.json: ";
  for (const std::string version : {"0", "3", "1.5", "\"2\"", "null", "[2]"})
    CHECK(refusal("{\"version\": " + version + ", \"of_later\": 1}") ==
          file + "version is " + version + ", expected 1 or 2");
  const auto refusal_of_levels = [](const std::string& levels) {
    return refusal("{\"inner_levels\": " + levels + "}");
  };
  CHECK(refusal_of_levels("[{\"latency_seconds\": 2e-6, \"out_bytes_per_second\": 0}, {\"nodes\": 4}]").empty());
  CHECK(refusal_of_levels("7") == file + "inner_levels is 7, expected a list");
  CHECK(refusal_of_levels("[7]") == file + "inner_levels[0] is 7, expected an object of a level's fields");
  CHECK(refusal_of_levels("[{\"latency\": 1}]") == file + "unknown field inner_levels[0].latency");
  CHECK(refusal_of_levels("[{\"flops_per_second\": 1}]") == file + "unknown field inner_levels[0].flops_per_second");
  CHECK(refusal_of_levels("[{}, {\"gap_seconds\": 0}]") ==
        file + "inner_levels[1].gap_seconds is 0, expected a finite number above 0");
  CHECK(refusal_of_levels("[{\"out_bytes_per_second\": -1}]") ==
        file + "inner_levels[0].out_bytes_per_second is -1, expected a finite number above 0, or 0");
  CHECK(refusal_of_levels("[{\"ring_step_seconds\": [1]}]") ==
        file + "inner_levels[0].ring_step_seconds is [1], expected 6 numbers above 0");
  CHECK(refusal_of_levels("[{\"piece_bytes\": 0}]").empty());
  CHECK(refusal_of_levels("[{\"piece_bytes\": 1}]") ==
        file + "inner_levels[0].piece_bytes is 1, expected a finite number of at least 1024, or 0");
  CHECK(refusal_of_levels("[{\"nodes\": 0}]") ==
        file + "inner_levels[0].nodes is 0, expected a whole number from 1 to 2147483647");
  CHECK(refusal_of_levels("[{\"nodes\": 2}]") ==
        file + "machine.inner_levels[0].nodes is 2, expected 1: the innermost level is inside a node");
  for (const std::string nodes : {"1", "6"})
    CHECK(refusal_of_levels("[{}, {\"nodes\": 4}, {\"nodes\": " + nodes + "}]") ==
          file + "machine.inner_levels[2].nodes is " + nodes + ", expected a multiple of the level before it, 4");
}

TEST_CASE("a machine file that can't be written whole stays as it was") {
  const std::filesystem::path path = "machine_to_keep.json";
  Machine machine;
  machine.latency_seconds = 3e-6;
  write_machine(machine, path);
  CHECK(tests::error_on_full_disk([&] { write_machine(Machine{}, path); }) ==
        "machine file machine_to_keep.json: can't be written: File too large");
  CHECK(read_machine(path) == machine);
  std::filesystem::remove(path);
}

TEST_CASE("a machine file is written through a link, and to what is no file") {
  const std::filesystem::path path = "machine_linked.json";
  const std::filesystem::path link = "machine_link.json";
  std::ofstream{path};
  std::filesystem::create_symlink(path, link);
  write_machine(Machine{}, link);
  CHECK(std::filesystem::is_symlink(link));
  CHECK(read_machine(path) == Machine{});
  std::filesystem::remove(link);
  std::filesystem::remove(path);
  CHECK_THROWS_WITH(write_machine(Machine{}, "/dev/full"), "machine file /dev/full: can't be written");
  CHECK(std::filesystem::is_character_file("/dev/full"));
}

TEST_CASE("a machine file that makes no sense is refused") {
  const std::string file = "machine file machine_under_test.json: ";
  CHECK_THROWS_WITH(read_machine("no_such_file.json"), "machine file no_such_file.json: can't be opened");
  CHECK(refusal("{\"latency\": 1}") == file + "unknown field latency");
  CHECK(refusal("{\"gap_seconds\": -1}") == file + "gap_seconds is -1, expected a finite number above 0");
  CHECK(refusal("{\"gap_seconds\": \"fast\"}") == file + "gap_seconds is \"fast\", expected a finite number above 0");
  for (const std::string steps : {"[1,2]", "[1,2,3,4,5,0]", "[1,2,3,4,5,\"6\"]", "6"})
    CHECK(refusal("{\"ring_step_seconds\": " + steps + "}") ==
          file + "ring_step_seconds is " + steps + ", expected 6 numbers above 0");
  CHECK(refusal("[]") == file + "expected a JSON object");
  CHECK(refusal("{").starts_with(file + "not JSON: parse error at line 1"));
  CHECK(refusal("{\"gap_seconds\": \"" + std::string(6'000'000, 'x') + "\"}") ==
        file + "gap_seconds is \"" + std::string(199, 'x') + "..., expected a finite number above 0");
  CHECK(refusal("{\"\\u001b[31m\": 1}") == file + "unknown field \\x1b[31m");
  const std::string levels(100'000, '[');
  CHECK(refusal("{\"latency_seconds\": " + levels + std::string(100'000, ']') + "}") ==
        file + "is nested in more than 16 levels");
}

TEST_CASE("a machine file's winners that make no sense are refused") {
  const std::string file = "machine file machine_under_test.json: ";
  const nlohmann::json good{{"rows", 0},  {"columns", 7},   {"pairs", 0},
                            {"ranks", 2}, {"dtype", "f64"}, {"algorithm", "allgather-overlapped(4)"}};
  const auto refusal_of = [&](const std::string& field, const nlohmann::json& value) {
    nlohmann::json changed = good;
    changed[field] = value;
    return refusal(nlohmann::json{{"winners", {good, changed}}}.dump());
  };
  const auto check = [&](const std::string& field, const nlohmann::json& value, const std::string& expected) {
    const std::string error = refusal_of(field, value);
    INFO(error);
    CHECK(error.starts_with(file + "winners[1]." + field + " is " + value.dump() + ", expected " + expected));
  };
  CHECK(refusal_of("rows", 1).empty());
  check("rows", -1, "a whole number from 0 to ");
  check("columns", "7", "a whole number from 0 to ");
  check("pairs", 1.7, "a whole number from 0 to ");
  check("ranks", 0, "a whole number from 1 to 2147483647");
  check("ranks", 2147483648, "a whole number from 1 to 2147483647");
  check("dtype", "f16", "f32 or f64");
  check("algorithm", "fastest", "one of allgather, ");
  check("algorithm", "auto", "one of allgather, ");
  check("algorithm", 7, "one of allgather, ");
  CHECK(refusal_of("algorithm", "allgather(4)") ==
        file + "winners[1].algorithm is allgather(4), expected allgather without a number");
  const std::string object = "an object of rows, columns, pairs, ranks, dtype, algorithm and nothing else";
  CHECK(refusal("{\"winners\": [{\"rows\": 1}]}") == file + "winners[0] is {\"rows\":1}, expected " + object);
  CHECK(refusal("{\"winners\": [7]}") == file + "winners[0] is 7, expected " + object);
  CHECK(refusal("{\"winners\": 7}") == file + "winners is 7, expected a list");
}
