#include "campaign/measure/probe_rdma.h"

#include <fmt/format.h>

#include <array>
#include <atomic>

#include "base/random.h"
#include "bench/core/typed.h"
#include "bench/verbs/measure_rdma.h"
#include "bench/verbs/rdma_engine.h"

namespace railbed {
namespace {

constexpr double kLongest = 2;  // seconds for all reads
constexpr std::chrono::milliseconds kPingDeadline{10'000};
constexpr std::uint64_t kMostServedBytes = 64 << 10;  // what measure_rdma.cc requests for pings only
constexpr int kMostServed = 2;                        // sessions over the lifetime of the handlers

BenchPlan plan_of(const RdmaProbe& probe) {
  BenchPlan plan;
  plan.bandwidth = false;
  plan.latency_sizes = {kProbeReadBytes};
  plan.streams = 1;
  plan.operations = {RdmaOperation::kRead};
  plan.traffic_classes = {probe.traffic_class};
  return plan;
}

RdmaRun run_of(const RdmaProbe& probe) {
  RdmaRun run;
  run.operation = RdmaOperation::kRead;
  run.message_bytes = kProbeReadBytes;
  run.seconds = kLongest;
  run.seed = random_seed();
  run.pings = probe.reads;
  return run;
}

RdmaProbed read_over(const RdmaPair& pair, RdmaRun run, Peer& here, std::stop_token stop) {
  run.session = pair.session_of_a();
  RdmaProbed probed;
  const auto pinged = ask<RdmaPinged>(here, kRdmaPing, run, kPingDeadline, std::move(stop));
  if (!pinged) {
    probed.trouble = pinged.error().text;
    return probed;
  }
  for (const std::uint64_t ns : pinged->round_trips)
    probed.round_trips.push_back(static_cast<double>(ns) / 1e9);
  probed.sent = pinged->round_trips.size();
  if (!pinged->failure) return probed;
  ++probed.sent;  // the read that failed; none follows it
  probed.trouble = pinged->failure->cause;
  return probed;
}

// True if the request is for a session as small as a ping needs, in this process, on one of these interfaces.
bool is_modest(const RdmaOpen& open, const std::set<std::string>& interfaces) {
  return interfaces.contains(open.interface) && open.half_bytes <= kMostServedBytes &&
         open.queue_pairs == 1 && open.threads == 1 && open.gpu.empty() && !open.datagrams;
}

}  // namespace

RdmaProbed probe_rdma(Peer& here, Peer& there, const RdmaProbe& probe, std::stop_token stop) {
  const PairEnd a{&here, probe.interface_here, std::nullopt, nullptr};
  const PairEnd b{&there, probe.interface_there, std::nullopt, nullptr};
  const BenchPlan plan = plan_of(probe);
  RdmaPair pair(a, b, plan, false, stop);
  RdmaProbed probed;
  if (pair.failure()) {
    probed.trouble = pair.failure()->cause;
    return probed;
  }
  const RdmaRun run = run_of(probe);
  if (const auto failure = pair.prepare(run, stop)) {
    probed.trouble = failure->cause;
    return probed;
  }
  return read_over(pair, run, here, std::move(stop));
}

Handlers own_rdma_handlers(std::shared_ptr<Host> host) {
  AgentSide side(std::move(host), {});
  return rdma_handlers(side);
}

Handlers served_rdma_handlers(std::shared_ptr<Host> host, std::set<std::string> interfaces) {
  Handlers all = own_rdma_handlers(std::move(host));
  Handlers served;
  for (const std::string_view method : {kRdmaConnect, kRdmaPrepare, kRdmaClose})
    served.insert(all.extract(all.find(method)));
  Handler open = std::move(all.find(kRdmaOpen)->second);
  const auto opened = std::make_shared<std::atomic<int>>(0);
  served.emplace(kRdmaOpen,
                 [open = std::move(open), interfaces = std::move(interfaces), opened](
                     std::string_view params, std::stop_token stop) -> Result<std::string> {
                   ASSIGN_OR_RETURN(const auto request, json::read<RdmaOpen>(params));
                   if (!is_modest(request, interfaces) || opened->fetch_add(1) >= kMostServed)
                     return fail(ErrorKind::kBadInput,
                                 "no session for more than a probe of a rail is opened here");
                   return open(params, std::move(stop));
                 });
  return served;
}

}  // namespace railbed
