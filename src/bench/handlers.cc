#include "bench/handlers.h"

namespace railbed {

Handlers tcp_handlers();  // tcp_handlers.cc

Handlers bench_handlers() { return tcp_handlers(); }

}  // namespace railbed
