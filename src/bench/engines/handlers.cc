#include "bench/core/handlers.h"

namespace railbed {

Handlers bench_handlers(std::shared_ptr<Host> host, StartPeer start) {
  Handlers all = tcp_handlers();
  all.merge(rdma_handlers(host, nvidia_libraries(), std::move(start)));
  all.merge(link_handlers(host));
  all.merge(storage_handlers(host));
  all.merge(train_handlers());
  all.merge(gpu_handlers(nvidia_libraries()));
  return all;
}

}  // namespace railbed
