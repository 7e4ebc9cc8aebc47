#include "campaign/measure/run_collectives.h"

#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <map>
#include <memory>
#include <utility>

#include "bench/collective/measure_collective.h"
#include "bench/core/local_peer.h"
#include "bench/engines/handlers.h"
#include "campaign/agent_handlers.h"
#include "campaign/look/survey.h"
#include "campaign/measure/gpu_remedy.h"
#include "facts/facts.h"
#include "hardware/collective_ceiling.h"
#include "host/open.h"
#include "nccl/choice.h"
#include "store/fingerprint.h"

namespace railbed {
namespace {

// Returns why NCCL fell back to TCP although a node has RDMA, from that node's facts; empty if it did not.
std::string why_sockets(const std::map<std::string, Facts>& facts, const diagnose::Log& log) {
  const bool sockets =
      std::ranges::any_of(log.networks, [](const auto& one) { return one.name == "Socket"; });
  if (!sockets || facts.size() < 2) return "";
  for (const auto& [node, known] : facts)
    if (known.rdma.devices.ok() && !known.rdma.devices->empty())
      return fmt::format("NCCL uses sockets although {} has RDMA: {}", node,
                         nccl::predict(known, std::nullopt).network_why);
  return "";
}

class CollectiveRuns {
 public:
  CollectiveRuns(const CollectivePlan& plan, std::chrono::steady_clock::time_point began,
                 const RunRequest& request, const Caller& caller)
      : plan_(plan), began_(began), request_(request), caller_(caller) {}

  // Uses this process, which starts faster than an agent.
  GpuNodeEnd here(const std::string& name, const std::vector<int>& gpus) {
    local_ = std::make_unique<LocalPeer>(name, gpu_handlers(nvidia_libraries()));
    return {local_.get(), gpus};
  }

  RanCollectives run_on(const std::vector<GpuNodeEnd>& nodes) {
    RanCollectives ran{begin_run(request_), {}};
    std::vector<CollectiveReport>& reports = ran.run.collectives;
    for (int i = 0; i < request_.repeat && !caller_.stop.stop_requested(); ++i) {
      measure(nodes, ran);
      if (reports.back().failure) break;
    }
    const bool any = std::ranges::any_of(reports, [](const auto& one) { return !one.rows.empty(); });
    const auto facts = any ? facts_of_all(nodes) : std::map<std::string, Facts>();
    for (CollectiveReport& report : reports) {
      report.ceiling = ceiling_of_run(report, facts, ran.nccl);
      add_measurements(ran.run, collective_measurements(report));
    }
    for (const auto& [node, known] : facts) add_fingerprint(ran.run, node, known);
    caller_.progress("");
    return ran;
  }

 private:
  void measure(const std::vector<GpuNodeEnd>& nodes, RanCollectives& ran) {
    diagnose::LogReader reader;
    CollectiveReport report = measure_collective(
        nodes, plan_, began_, {caller_.progress, [&](std::string_view text) { reader.feed(text); }},
        caller_.stop);
    ran.nccl = reader.finish();
    began_ = std::chrono::steady_clock::now();
    if (report.failure && report.failure->remedy.empty() && !caller_.stop.stop_requested())
      report.failure->remedy = gpu_remedy(*report.failure, ran.nccl, "end --to earlier");
    ran.run.collectives.push_back(std::move(report));
  }

  Result<Facts> facts_of_one(const GpuNodeEnd& node) const {
    if (node.peer == local_.get()) return collect_facts(*open_this_machine());
    return facts_of(*node.peer, caller_);
  }

  // Reads the facts of all nodes in parallel, since each may take seconds.
  std::map<std::string, Facts> facts_of_all(const std::vector<GpuNodeEnd>& nodes) const {
    caller_.progress("looking at the nodes");
    std::map<std::string, std::future<Result<Facts>>> asked;
    for (const GpuNodeEnd& node : nodes)
      if (!asked.contains(node.peer->node()))  // ranks share nodes
        asked.emplace(node.peer->node(),
                      std::async(std::launch::async, [this, &node] { return facts_of_one(node); }));
    std::map<std::string, Facts> facts;
    for (auto& [name, answer] : asked)
      if (auto known = answer.get()) facts.emplace(name, std::move(*known));
    return facts;
  }

  const CollectivePlan& plan_;
  std::chrono::steady_clock::time_point began_;
  const RunRequest& request_;
  const Caller& caller_;
  std::unique_ptr<LocalPeer> local_;
};

}  // namespace

Ceiling ceiling_of_run(const CollectiveReport& report, const std::map<std::string, Facts>& facts,
                       const diagnose::Log& log) {
  Ceiling ceiling = collective_ceiling(report, facts);
  if (std::string why = why_sockets(facts, log); !why.empty()) ceiling.note = std::move(why);
  return ceiling;
}

RanCollectives run_collectives(const GpuPlaces& places, const CollectivePlan& plan,
                               std::chrono::steady_clock::time_point began, const RunRequest& request,
                               ReachOptions reach, const Caller& caller) {
  CollectiveRuns runs(plan, began, request, caller);
  const GpuPlace& first = places.nodes.front();
  if (places.nodes.size() == 1 && first.destination == "localhost")
    return runs.run_on({runs.here(first.name, first.gpus)});
  fleet::Fleet fleet = open_fleet(places, std::move(reach));
  std::vector<GpuNodeEnd> nodes;
  for (std::size_t i = 0; i < places.nodes.size(); ++i)
    nodes.push_back({&fleet.peer(i), places.nodes[i].gpus});
  return runs.run_on(nodes);
}

Result<RanCollectives> lead_collectives(const LaunchedCommand& command, const CollectivePlan& plan,
                                        std::chrono::steady_clock::time_point began,
                                        const RunRequest& request, const Caller& caller) {
  caller.progress(fmt::format("waiting for {} ranks at {} port {}", command.own.ranks - 1, command.at.host,
                              command.at.port));
  const auto others = fleet::receive_ranks(command.at, command.own.ranks, caller.stop);
  caller.progress("");
  if (!others) return tl::unexpected<Error>(others.error());
  CollectiveRuns runs(plan, began, request, caller);
  std::vector<GpuNodeEnd> nodes = {runs.here(command.own.host, command.own.gpus)};
  for (const fleet::ArrivedRank& rank : *others) nodes.push_back({rank.peer.get(), rank.introduction.gpus});
  return runs.run_on(nodes);
}

Handlers collective_rank_handlers() {
  Handlers handlers = gpu_handlers(nvidia_libraries());
  handlers["facts"] = agent_handlers().at("facts");
  return handlers;
}

}  // namespace railbed
