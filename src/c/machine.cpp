#include <memory>
#include <string>

#include <dsop/dsop.hpp>

#include "c/communicator.hpp"
#include "c/options.hpp"
#include "c/status.hpp"
#include "machine_text.hpp"

using namespace dsop::c;
using dsop::Machine;

int dsop_machine_default(int on_threads, dsop_machine* machine) {
  return returning_status([&] {
    Handle& handle = result(machine, "machine");
    const auto default_machine = std::make_shared<Machine>();
    if (on_threads != 0) *default_machine = dsop::default_threads_machine();
    handle = put(default_machine);
  });
}

int dsop_machine_of(dsop_communicator communicator, dsop_machine* machine) {
  return returning_status([&] {
    dsop::Transport& transport = transport_of(communicator);
    prepared(transport, [&] { result(machine, "machine"); });
    *machine = put(std::make_shared<Machine>(dsop::machine(transport)));
  });
}

int dsop_machine_read(const char* path, dsop_machine* machine) {
  return returning_status([&] {
    Handle& handle = result(machine, "machine");
    handle = put(std::make_shared<Machine>(dsop::read_machine(given_text(path, "path", "a file's"))));
  });
}

int dsop_machine_write(dsop_machine machine, const char* path) {
  return returning_status([&] { dsop::write_machine(*find<Machine>(machine), given_text(path, "path", "a file's")); });
}

int dsop_machine_text(dsop_machine machine, const char** text) {
  return returning_status([&] { result(text, "text") = keep_text(dsop::machine_text(*find<Machine>(machine))); });
}

int dsop_machine_of_text(const char* text, dsop_machine* machine) {
  return returning_status([&] {
    Handle& handle = result(machine, "machine");
    const std::string given = given_text(text, "text", "a machine's");
    try {
      handle = put(std::make_shared<Machine>(dsop::machine_of_text(given, "the machine's text")));
    } catch (const dsop::Error& error) {
      throw dsop::ArgumentError(error.what());
    }
  });
}

int dsop_machine_seconds(dsop_machine machine, dsop_type type, size_t bytes, double n, double m, double K,
                         double* message, double* exchange, double* product, double* addition) {
  return returning_status([&] {
    const auto of = find<Machine>(machine);
    const dsop::DataType elements = data_type_of(type);
    dsop::check_machine(*of);
    put_if_wanted(message, of->message_seconds(bytes));
    put_if_wanted(exchange, of->exchange_seconds(bytes));
    put_if_wanted(product, of->product_seconds(n, m, K, elements));
    put_if_wanted(addition, of->addition_seconds(n * m, elements));
  });
}

int dsop_machine_free(dsop_machine machine) {
  return free_object<Machine>(machine, false);
}
