#include "bench/train/train_engine.h"

#include <fmt/format.h>

#include "base/random.h"
#include "base/units.h"
#include "bench/core/sessions.h"
#include "bench/core/spare_memory.h"
#include "bench/core/typed.h"
#include "bench/gpu/child_work.h"
#include "bench/tcp/protocol.h"
#include "bench/train/gpu_train_child.h"
#include "bench/train/train.h"
#include "bench/verbs/open_sessions.h"
#include "os/socket.h"

namespace railbed {
namespace {

// Fails if the run is outside its limits or its gradients do not fit into memory. If `host` is null, the
// memory is not checked.
Result<void> check_here(Host* host, const TrainRun& run) {
  if (auto sane = check_run(run); !sane) return sane;
  const SpareMemory spare =
      spare_memory(host == nullptr ? MemoryLeft() : memory_left(*host), MemoryUse::kHost);
  if (memory_of(run) <= spare.bytes) return {};
  return fail(ErrorKind::kUnavailable, fmt::format("gradients of {} and their sums do not fit: {}",
                                                   to_text(ByteCount{memory_of(run)}), spare.why));
}

Result<TrainRan> train_over_rdma(RdmaSessions& opens, Host* host, const TrainRun& run, std::stop_token stop) {
  RETURN_IF_ERROR(check_here(host, run));
  std::vector<std::shared_ptr<RdmaSession>> links;
  for (const std::string& name : {run.session, run.incoming}) {
    ASSIGN_OR_RETURN(const auto open, opens.find(name));
    if (!open->engine || !open->engine->is_prepared_for(ring_run("")))
      return fail(ErrorKind::kBadInput, "the session was not prepared for a ring");
    links.push_back(open->engine);
  }
  return train_over(rdma_ring_links(links[0], links[1], ring_run(""), stop), run, stop);
}

Handlers train_handlers(AgentSide& side) {
  auto doors = std::make_shared<Sessions<TcpDoor>>();
  Handlers handlers;
  handlers.emplace(
      kTrainListen,
      typed_handler<TcpListen>([doors](const TcpListen& request, std::stop_token) -> Result<TcpListening> {
        ASSIGN_OR_RETURN(auto listener, listen_on(request.address, kBacklog));
        auto door = std::make_shared<TcpDoor>(TcpDoor{std::move(listener), random_hex(kTokenHex / 2)});
        TcpListening answer{"", door->listener.port, door->token};
        answer.session = doors->add(std::move(door));
        return answer;
      }));
  handlers.emplace(
      kTrainRun, typed_handler<TrainRun>([doors, host = side.host](const TrainRun& request,
                                                                   std::stop_token stop) -> Result<TrainRan> {
        RETURN_IF_ERROR(check_here(host.get(), request));
        if (request.next.token.size() != kTokenHex) return fail(ErrorKind::kBadInput, "token: wrong length");
        ASSIGN_OR_RETURN(auto door, doors->find(request.session));
        doors->remove(request.session);
        return train_over_tcp(*door, request, std::move(stop));
      }));
  handlers.emplace(kTrainRunRdma,
                   typed_handler<TrainRun>([opens = side.shared<RdmaSessions>(), host = side.host](
                                               const TrainRun& request, std::stop_token stop) {
                     return train_over_rdma(*opens, host.get(), request, std::move(stop));
                   }));
  add_child_work<GpuTrainPlan>(handlers, kGpuTrain, side, check_gpu_train, run_gpu_train);
  return handlers;
}

}  // namespace

EngineRegistration train_engine() { return {Engine::kTrain, train_handlers}; }

}  // namespace railbed
