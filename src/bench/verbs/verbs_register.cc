// Registers the memory of a session, of the host or of a GPU, with the adapter.
//
// For GPU memory the routes are tried in order: a DMA-BUF, then nvidia-peermem. If both fail, the host's
// image of the memory is registered instead, and messages are copied (staged). The reason of each failure is
// kept.
#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include "bench/verbs/verbs_state.h"

namespace railbed {
namespace {

constexpr int kAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;

Result<void> register_host_memory(RdmaSession::State& state) {
  const auto bytes = state.memory.bytes();
  if (state.verbs->reg_mr_iova2 != nullptr)
    state.mr = state.verbs->reg_mr_iova2(state.pd, bytes.data(), bytes.size(),
                                         reinterpret_cast<std::uint64_t>(bytes.data()),
                                         kAccess | IBV_ACCESS_RELAXED_ORDERING);
  if (state.mr == nullptr) state.mr = state.verbs->reg_mr(state.pd, bytes.data(), bytes.size(), kAccess);
  if (state.mr == nullptr) return failed(fmt::format("ibv_reg_mr of {} MiB", bytes.size() >> 20), errno);
  return {};
}

// These two register the memory of the GPU. They return the reason for a failure, or an empty string.
std::string register_dma_buf(RdmaSession::State& state) {
  if (state.verbs->reg_dmabuf_mr == nullptr)
    return "libibverbs has no ibv_reg_dmabuf_mr: rdma-core is older than 34";
  const auto file = state.gpu->dma_buf();
  if (!file) return file.error().text;
  state.mr = state.verbs->reg_dmabuf_mr(state.pd, 0, state.gpu->size(), state.gpu->address(), file->get(),
                                        kAccess | IBV_ACCESS_RELAXED_ORDERING);
  return state.mr != nullptr ? "" : fmt::format("ibv_reg_dmabuf_mr: {}", std::strerror(errno));
}

std::string register_by_peer_memory(RdmaSession::State& state) {
  if (!state.set_up.peer_memory) return "the module is not loaded";
  state.mr = state.verbs->reg_mr(state.pd, reinterpret_cast<void*>(state.gpu->address()), state.gpu->size(),
                                 kAccess);
  return state.mr != nullptr ? "" : fmt::format("ibv_reg_mr: {}", std::strerror(errno));
}

Result<void> register_gpu_memory(RdmaSession::State& state) {
  ASSIGN_OR_RETURN(auto gpu,
                   GpuMemory::allocate(state.set_up.cuda_files, state.set_up.gpu, state.memory.bytes(),
                                       static_cast<std::size_t>(state.set_up.threads)));
  state.gpu = std::move(gpu);
  for (const auto& [route, register_by] : {std::pair{MemoryRoute::kDmaBuf, &register_dma_buf},
                                           std::pair{MemoryRoute::kPeerMemory, &register_by_peer_memory}}) {
    const std::string why = register_by(state);
    if (why.empty()) {
      state.route = route;
      state.shift = state.gpu->address() - reinterpret_cast<std::uint64_t>(state.memory.bytes().data());
      return {};
    }
    state.refusals.push_back(fmt::format("not by {}: {}", to_text(route), why));
  }
  state.route = MemoryRoute::kStaged;
  return register_host_memory(state);
}

}  // namespace

tl::unexpected<Error> failed(std::string_view what, int error) {
  std::string text = fmt::format("{}: {}", what, std::strerror(error));
  if (error == ENOMEM)
    text +=
        "; raise the limit of locked memory: ulimit -l unlimited, or LimitMEMLOCK=infinity of the service";
  return fail(ErrorKind::kUnavailable, std::move(text));
}

Result<void> register_memory(RdmaSession::State& state) {
  ASSIGN_OR_RETURN(auto memory, PinnedMemory::map(2 * state.set_up.half_bytes + kHeaderRoom));
  state.memory = std::move(memory);
  return state.set_up.gpu.empty() ? register_host_memory(state) : register_gpu_memory(state);
}

// The processor numbers and compares messages and replies to them, but cannot read those in GPU memory. A
// staged write or read is not possible, because the other end gets no event after which it could copy.
Result<void> allowed_by_route(const RdmaSession::State& state, RdmaOperation operation) {
  if (state.in_host_memory() || operation == RdmaOperation::kSend) return {};
  if (operation == RdmaOperation::kDatagram)
    return fail(ErrorKind::kBadInput, "datagrams are sent from host memory only");
  if (state.staged()) return fail(ErrorKind::kBadInput, "only sends can be staged");
  return {};
}

// Copies both halves, as they were prepared in the image. Then overwrites the sending half of the image with
// the poison of the other half, so that bytes count as right only after a copy back from the GPU.
Result<void> fill_gpu(RdmaSession::State& state) {
  state.gpu->store(state.outgoing());
  state.gpu->store(state.incoming());
  if (!state.gpu->wait_stored())
    return fail(ErrorKind::kUnavailable, "into GPU memory: " + state.gpu->error());
  std::memcpy(state.outgoing().data(), state.incoming().data(), state.outgoing().size());
  return {};
}

}  // namespace railbed
