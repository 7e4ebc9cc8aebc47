// By which route network adapters reach GPU memory on a node. Rules and the prediction of what NCCL does
// share this.
#pragma once

#include <string>

#include "facts/facts.h"

namespace railbed {

struct GpuDirectRoutes {
  // Why each route is closed; empty: it is open.
  std::string no_peer_memory;
  std::string no_dma_buf;
  // DMA-BUF is open, and the kernel older than 6.2, which NVIDIA's documentation asks for.
  bool dma_buf_on_old_kernel = false;

  bool peer_memory() const { return no_peer_memory.empty(); }
  bool dma_buf() const { return no_dma_buf.empty(); }
};

// What the facts do not say is taken as good where the older facts beside it suffice.
GpuDirectRoutes gpudirect_routes(const Facts& facts);

}  // namespace railbed
