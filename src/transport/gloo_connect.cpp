// From a store to connected ranks.
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include <dsop/errors.hpp>
#include <dsop/gloo.hpp>

#include "base/hexadecimal.hpp"
#include "base/host_name.hpp"
#include "patterns/of_all_ranks.hpp"
#include "transport/gloo_transport.hpp"
#include "transport/host_address.hpp"
#include "transport/rendezvous.hpp"

namespace dsop {
namespace {

using std::to_string;

// What ranks say of themselves when they come: how many there should be, and their host. What follows differs from
// process to process, so that two with one number do not take each other's word for their own.
std::string introduction(const GlooOptions& options) {
  std::random_device random;
  return to_string(options.ranks) + ' ' + host_name() + ' ' + to_string(getpid()) + ' ' + hexadecimal(random()) +
         hexadecimal(random());
}

std::string word(const std::string& text, int number) {
  std::size_t begin = 0;
  for (; number > 0; --number) begin = text.find(' ', begin) + 1;
  return text.substr(begin, text.find(' ', begin) - begin);
}

void expect_one_number_of_ranks(const std::vector<std::string>& introductions) {
  for (std::size_t r = 1; r < introductions.size(); ++r)
    if (word(introductions[r], 0) != word(introductions[0], 0))
      throw TransportError("the ranks disagree: ranks is " + word(introductions[0], 0) + " on rank 0, " +
                           word(introductions[r], 0) + " on rank " + to_string(r));
}

std::vector<int> nodes_of(const std::vector<std::string>& introductions) {
  std::vector<int> nodes;
  for (const std::string& one : introductions)
    nodes.push_back(static_cast<int>(std::find_if(introductions.begin(), introductions.end(),
                                                  [&](const auto& other) { return word(other, 1) == word(one, 1); }) -
                                     introductions.begin()));
  return nodes;
}

std::string interface_of(const GlooOptions& options) {
  const char* const named = std::getenv("GLOO_SOCKET_IFNAME");
  return options.interface.empty() && named != nullptr ? named : options.interface;
}

std::string addresses_of(GlooMesh& mesh) {
  std::string all;
  for (int peer = 0; peer < mesh.size; ++peer) all += (peer == mesh.rank ? "-" : mesh.address_for(peer)) + ' ';
  return all;
}

void connect(GlooMesh& mesh, int peer, const std::vector<std::string>& addresses) {
  try {
    mesh.connect(peer, word(addresses[static_cast<std::size_t>(peer)], mesh.rank));
  } catch (const std::exception& failure) {
    throw TransportError("rank " + to_string(mesh.rank) + " could not connect with rank " + to_string(peer) + ": " +
                         failure.what());
  }
}

std::unique_ptr<Transport> connect_ranks(Rendezvous& rendezvous, const GlooOptions& options) {
  const std::vector<std::string> introductions = rendezvous.exchange("rank", introduction(options));
  expect_one_number_of_ranks(introductions);
  std::vector<int> nodes = nodes_of(introductions);
  const bool one_host = std::count(nodes.begin(), nodes.end(), 0) == options.ranks;
  const std::chrono::duration<double> limit(options.limit_seconds);
  const auto mesh = GlooMesh::make(options.rank, options.ranks, one_host ? "127.0.0.1" : reachable_address(),
                                   interface_of(options), std::chrono::duration_cast<std::chrono::milliseconds>(limit));
  const std::vector<std::string> addresses = rendezvous.exchange("addresses", addresses_of(*mesh));
  // Everybody in the same order, since connecting waits for the other side.
  for (int peer = 0; peer < options.ranks; ++peer)
    if (peer != options.rank) connect(*mesh, peer, addresses);
  auto transport = std::make_unique<GlooTransport>(mesh, options.rank, std::move(nodes));
  patterns::of_all_ranks(*transport, std::byte{});  // when all are here, nobody needs what the others have given
  rendezvous.end();
  patterns::of_all_ranks(*transport, std::byte{});  // the store may end with one of the ranks, as torch's with rank 0
  return transport;
}

}  // namespace

bool has_gloo() {
  return true;
}

std::unique_ptr<Transport> connect_over_gloo(const Store& store, const GlooOptions& options) {
  Rendezvous rendezvous(store, options);
  try {
    return connect_ranks(rendezvous, options);
  } catch (const std::exception& failure) {
    rendezvous.fail(failure.what());
    throw;
  }
}

}  // namespace dsop
