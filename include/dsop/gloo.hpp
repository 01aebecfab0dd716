#error "dsop/gloo.hpp is gone: include dsop/tcp.hpp and call dsop::connect_over_tcp() with TcpOptions, which has the same fields"
