#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/units.h"
#include "bench/core/spare_memory.h"
#include "bench/core/typed.h"
#include "bench/verbs/open_sessions.h"
#include "bench/verbs/port_counters.h"
#include "bench/verbs/rdma_engine.h"
#include "facts/collectors.h"
#include "facts/net.h"
#include "facts/rdma.h"
#include "hardware/network_ceiling.h"
#include "host/host.h"

namespace railbed {
namespace {

constexpr int kMostQueuePairs = 64;
constexpr int kDeepest = 4096;
constexpr int kMostSlots = 1 << 20;
constexpr std::uint64_t kMostMemory = std::uint64_t{1} << 30;
constexpr std::chrono::seconds kGpuPatience{60};
constexpr std::chrono::hours kLongestStep{2};  // the controller's stop comes long before

int prefix_of(const Net& net, const std::string& interface, const IpAddress& address) {
  const NetInterface* found = find_interface(net, interface);
  if (found == nullptr || !found->addresses) return -1;
  for (const InterfaceAddress& own : *found->addresses)
    if (own.address == address) return own.prefix;
  return -1;
}

std::vector<GidOffer> gid_offers(const RdmaPort& port, const Net& net) {
  std::vector<GidOffer> offers;
  for (const Gid& gid : items(port.gids)) {
    if (!gid.gid || !gid.type) continue;
    const std::string netdev = gid.netdev.value_or("");
    offers.push_back({gid.index, *gid.gid, *gid.type, netdev, prefix_of(net, netdev, *gid.gid)});
  }
  return offers;
}

std::vector<int> cpus_near(Host& host, const RdmaDevice& device) {
  const int node = device.numa_node.value_or(-1);
  if (node < 0) return {};
  const Cpu cpu = collect_cpu(host);
  for (const NumaNode& numa_node : cpu.numa_nodes)
    if (numa_node.id == node && numa_node.cpus)
      return parse_list(*numa_node.cpus).value_or(std::vector<int>{});
  return {};
}

RdmaOpened refused(std::string cause, std::string remedy) {
  RdmaOpened answer;
  answer.failure = Failure{"connect", std::move(cause), std::move(remedy)};
  return answer;
}

// Opens the session in a process of its own. Waits for it at most as long as a GPU that slept may take.
Result<RdmaOpened> open_in_child(RdmaSessions& opens, RdmaOpen request, const StartPeer& start,
                                 std::stop_token stop) {
  OpenRdma session;
  session.child_process = start();
  request.here = true;
  auto answer = ask<RdmaOpened>(*session.child_process, kRdmaOpen, request, kGpuPatience, std::move(stop));
  if (!answer)
    return refused(
        fmt::format("opening GPU {} and registering its memory: {}", request.gpu, answer.error().text),
        "nvidia-smi and `dmesg | grep -i xid` show whether the GPU answers at all");
  if (answer->failure) return answer;
  session.name_in_child = std::exchange(answer->session, "");
  answer->session = opens.add(std::make_shared<OpenRdma>(std::move(session)));
  return answer;
}

// nv_peer_mem is the predecessor of nvidia-peermem; with ConnectX-3 it may still be in use.
bool has_peer_memory(Host& host) {
  const Kernel kernel = collect_kernel(host);
  return std::ranges::any_of(items(kernel.present_modules), [](const std::string& module) {
    return module == "nvidia_peermem" || module == "nv_peer_mem";
  });
}

// Returns why this machine cannot spare the two halves of memory; empty if it can. For GPU memory,
// RLIMIT_MEMLOCK is not the limit: the adapter may register the GPU's memory without its image in host
// memory.
std::string too_little_memory(Host& host, const RdmaOpen& request) {
  const MemoryUse use = request.gpu.empty() ? MemoryUse::kLocked : MemoryUse::kPinned;
  const SpareMemory spare = spare_memory(memory_left(host), use);
  if (2 * request.half_bytes <= spare.bytes) return "";
  return fmt::format("{} of registered memory are too much: {}", to_text(ByteCount{2 * request.half_bytes}),
                     spare.why);
}

// Returns which of the requested numbers is outside the limits of a session, and the option that changes it;
// empty if none is.
std::string beyond_limits(const RdmaOpen& request) {
  struct Asked {
    std::string_view name;
    std::int64_t value, least, most;
    std::string_view option;
  };
  for (const Asked& asked :
       {Asked{"queue pairs", request.queue_pairs, 1, kMostQueuePairs, "--streams"},
        Asked{"threads", request.threads, 1, std::min(request.queue_pairs, kMostQueuePairs),
              "--threads, at most as many as --streams"},
        Asked{"messages under way on a queue pair", request.depth, 1, kDeepest, "--sizes, larger ones"},
        Asked{"places of messages", static_cast<std::int64_t>(request.slots), 1,
              static_cast<std::int64_t>(kMostSlots), "--working-set"},
        Asked{"bytes of memory each way", static_cast<std::int64_t>(request.half_bytes), 4096,
              static_cast<std::int64_t>(kMostMemory), "--working-set, --sizes or --streams"}})
    if (asked.value < asked.least || asked.value > asked.most)
      return fmt::format("{} {}: {} to {}; choose another {}", asked.value, asked.name, asked.least,
                         asked.most, asked.option);
  return "";
}

Result<RdmaOpened> open(RdmaSessions& opens, Host& host, const RdmaOpen& request,
                        const NvidiaLibraries& from) {
  if (auto beyond = beyond_limits(request); !beyond.empty())
    return fail(ErrorKind::kBadInput, std::move(beyond));
  const Net net = collect_net(host);
  const Rdma rdma = collect_rdma(host);
  const RdmaPortRef found = rdma_port_of(rdma, net, request.interface);
  if (!found)
    return refused(fmt::format("{} has no RDMA device", request.interface),
                   "load the adapter's RDMA driver (mlx5_ib, rdma_rxe …): `rdma link` must list it");
  const std::string state = found.port->state.value_or("unknown");
  if (state != "ACTIVE")
    return refused(fmt::format("port {}/{} under {} is {}, not ACTIVE", found.device->name,
                               found.port->number, request.interface, state),
                   "bring the link up; on InfiniBand a subnet manager must run");
  if (const std::string why = too_little_memory(host, request); !why.empty())
    return refused(
        why,
        "take a smaller --working-set, fewer streams or smaller sizes; or, where the limit of "
        "locked memory is why, raise it: ulimit -l unlimited, LimitMEMLOCK=infinity of the service");
  auto engine = RdmaSession::open({found.device->name, found.port->number, request.half_bytes,
                                   request.queue_pairs, request.depth, request.slots, request.datagrams,
                                   request.threads, cpus_near(host, *found.device), request.gpu, from.cuda,
                                   !request.gpu.empty() && has_peer_memory(host)});
  if (!engine) return refused(engine.error().text, "");
  RdmaOpened answer;
  answer.device = found.device->name;
  answer.port = found.port->number;
  answer.link_layer = found.port->link_layer.value_or("");
  answer.active_mtu = path_mtu_of(*found.device, *found.port);
  answer.inline_bytes = (*engine)->inline_bytes();
  answer.huge_pages = (*engine)->huge_pages();
  answer.route = (*engine)->route();
  answer.refusals = (*engine)->refusals();
  answer.end = (*engine)->end();
  answer.end.lid = found.port->lid.value_or(0);
  answer.gids = gid_offers(*found.port, net);
  answer.session = opens.add(
      std::make_shared<OpenRdma>(OpenRdma{std::move(*engine), nullptr, "", answer.device, answer.port}));
  return answer;
}

// Adds the handler of a step of an open session. Function takes (OpenRdma, Request, stop). If the session is
// open in another process, the handler forwards the request to it.
template <class Request, class Function>
void add_step(Handlers& all, std::string_view method, const std::shared_ptr<RdmaSessions>& opens,
              Function function) {
  using Answer =
      decltype(function(std::declval<OpenRdma&>(), std::declval<const Request&>(), std::stop_token()));
  all.emplace(method, typed_handler<Request>(
                          [opens, function, method](const Request& request, std::stop_token stop) -> Answer {
                            ASSIGN_OR_RETURN(auto open, opens->find(request.session));
                            if (!open->child_process) return function(*open, request, std::move(stop));
                            Request there = request;
                            there.session = open->name_in_child;
                            return ask<typename Answer::value_type>(*open->child_process, method, there,
                                                                    kLongestStep, std::move(stop));
                          }));
}

// Adds a step that runs a prepared run. The handler fails if the run was not prepared.
template <class Answer, class Function>
void add_run(Handlers& all, std::string_view method, const std::shared_ptr<RdmaSessions>& opens,
             Function function) {
  add_step<RdmaRun>(all, method, opens,
                    [function](OpenRdma& open, const RdmaRun& run, std::stop_token stop) -> Result<Answer> {
                      if (!open.engine->is_prepared_for(run))
                        return fail(ErrorKind::kBadInput, "the run was not prepared");
                      return function(*open.engine, run, std::move(stop));
                    });
}

Result<RdmaDone> done_or_failure(Result<void> result, const std::string& stage) {
  RdmaDone done;
  if (!result) done.failure = Failure{stage, result.error().text, ""};
  return done;
}

Result<RdmaCounters> counters(Host& host, const OpenRdma& open) {
  const Rdma rdma = collect_rdma(host);
  for (const RdmaDevice& device : items(rdma.devices))
    for (const RdmaPort& port : items(device.ports))
      if (device.name == open.device && port.number == open.port) return read_counters(port);
  return fail(ErrorKind::kUnavailable, open.device + " is gone");
}

}  // namespace

Handlers rdma_handlers(AgentSide& side) {
  const auto opens = side.shared<RdmaSessions>();
  const std::shared_ptr<Host> host = side.host;
  Handlers all;
  all.emplace(kRdmaOpen, typed_handler<RdmaOpen>([opens, host, from = side.nvidia, start = side.start](
                                                     const RdmaOpen& request, std::stop_token stop) {
                if (!request.gpu.empty() && !request.here && start)
                  return open_in_child(*opens, request, start, std::move(stop));
                return open(*opens, *host, request, from);
              }));
  add_step<RdmaConnect>(all, kRdmaConnect, opens,
                        [](OpenRdma& open, const RdmaConnect& request, std::stop_token) {
                          return done_or_failure(open.engine->connect(request), "connect");
                        });
  add_step<RdmaRun>(all, kRdmaPrepare, opens, [](OpenRdma& open, const RdmaRun& run, std::stop_token) {
    return done_or_failure(open.engine->prepare(run), "connect");
  });
  const auto moving = [](auto move) {
    return [move](RdmaSession& engine, const RdmaRun& run, std::stop_token stop) {
      return (engine.*move)(run, std::move(stop));
    };
  };
  add_run<RdmaTransferred>(all, kRdmaTransfer, opens, moving(&RdmaSession::transfer));
  add_run<RdmaTransferred>(all, kRdmaReceive, opens, moving(&RdmaSession::receive));
  add_run<RdmaPinged>(all, kRdmaPing, opens, moving(&RdmaSession::ping));
  add_run<RdmaDone>(all, kRdmaEcho, opens, moving(&RdmaSession::echo));
  add_step<RdmaFinish>(all, kRdmaFinish, opens,
                       [](OpenRdma& open, const RdmaFinish& request, std::stop_token) -> Result<RdmaDone> {
                         open.engine->finish(request.messages);
                         return RdmaDone{};
                       });
  add_step<RdmaCheck>(all, kRdmaCheck, opens,
                      [](OpenRdma& open, const RdmaCheck& request, std::stop_token) -> Result<RdmaChecked> {
                        if (!open.engine->is_prepared_for(request.run))
                          return fail(ErrorKind::kBadInput, "the run was not prepared");
                        return open.engine->check(request);
                      });
  add_step<RdmaSessionName>(
      all, kRdmaWatch, opens,
      [](OpenRdma& open, const RdmaSessionName&, std::stop_token stop) -> Result<RdmaDone> {
        return open.engine->watch(std::move(stop));
      });
  add_step<RdmaSessionName>(
      all, kRdmaCounters, opens,
      [host](OpenRdma& open, const RdmaSessionName&, std::stop_token) { return counters(*host, open); });
  // Ends the session. A child process ends with the last reference to it.
  all.emplace(kRdmaClose, typed_handler<RdmaSessionName>(
                              [opens](const RdmaSessionName& request, std::stop_token) -> Result<RdmaDone> {
                                opens->remove(request.session);
                                return RdmaDone{};
                              }));
  return all;
}

}  // namespace railbed
