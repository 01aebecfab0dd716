#error "dsop/gloo.hpp is gone: include dsop/tcp.hpp, and call connect_over_tcp() with TcpOptions: the same fields"
