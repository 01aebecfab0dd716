// Messages over TCP.
#pragma once

#include <memory>
#include <vector>

#include <dsop/transport.hpp>

#include "transport/tcp_socket.hpp"

namespace dsop {

/// `node`: the lowest rank on it. `sockets`: connected with each other rank.
std::unique_ptr<Transport> make_tcp_transport(int rank, int node, std::vector<Socket> sockets);

}  // namespace dsop
