#include "campaign/measure/rehearse.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "campaign/measure/rehearsals.h"
#include "inventory/load.h"
#include "store/fingerprint.h"

namespace railbed {
namespace {

std::vector<PairEnd> several(const PairEnd& end, int ranks) {
  return std::vector<PairEnd>(static_cast<std::size_t>(ranks), end);
}

// Returns the ranks in the order of the ring.
Result<std::vector<PairEnd>> ranks_of(const Rail& rail, fleet::Fleet& fleet, const Surveyed& surveyed,
                                      int ranks) {
  std::vector<PairEnd> ends;
  for (const RailPort& port : rail.ports) {
    const auto facts = surveyed.facts.find(port.node);
    if (facts == surveyed.facts.end()) continue;
    for (PairEnd& end : several({fleet.find(port.node), port.interface, port.address, &facts->second}, ranks))
      ends.push_back(std::move(end));
  }
  if (ends.size() < 2)
    return fail(
        ErrorKind::kUnavailable,
        fmt::format("{}: fewer than two ranks can be reached; give each node more with --ranks", rail.name));
  if (ends.size() > static_cast<std::size_t>(kMostRanks))
    return fail(ErrorKind::kBadInput, fmt::format("{} ranks: at most {}", ends.size(), kMostRanks));
  return ends;
}

// True if every node has GPUs and the user did not choose host buffers. Notes the nodes that lack GPUs if
// only some do.
bool uses_gpus(const TrainChoice& choice, const Surveyed& surveyed, const Caller& caller) {
  if (choice.host_buffers || surveyed.facts.empty()) return false;
  const auto without = nodes_without_gpus(surveyed);
  if (!without.empty() && without.size() < surveyed.facts.size())
    caller.note(fmt::format("not on GPUs: {} without any", fmt::join(without, ", ")));
  return without.empty();
}

// The arguments of a rehearsal apart from its nodes.
struct Order {
  const TrainChoice& choice;
  const Model& model;
  const RunRequest& request;
  const Caller& caller;
};

BenchRun do_all(const Rehearsals& rehearsals, const Order& order, const Surveyed& surveyed) {
  BenchRun run = begin_run(order.request);
  for (int i = 0; i < order.request.repeat; ++i)
    for (const auto& rehearsal : rehearsals) {
      if (order.caller.stop.stop_requested()) break;
      run.trains.push_back(rehearsal());
      add_measurements(run, train_measurements(run.trains.back()));
    }
  order.caller.progress("");
  for (const auto& [node, facts] : surveyed.facts) add_fingerprint(run, node, facts);
  return run;
}

BenchRun on_gpus(const Order& order, const std::vector<GpuNodeEnd>& nodes, const Surveyed& surveyed) {
  return do_all(rehearsals_on_gpus(order.choice, order.model, nodes, surveyed, order.caller), order,
                surveyed);
}

Result<BenchRun> in_host_buffers(const Order& order, const std::vector<PairEnd>& ends,
                                 const Surveyed& surveyed) {
  const auto rehearsals = rehearsals_in_host_buffers(order.choice, order.model, ends, order.caller);
  if (!rehearsals) return tl::unexpected<Error>(rehearsals.error());
  return do_all(*rehearsals, order, surveyed);
}

Result<BenchRun> here(const Order& order, fleet::Fleet& fleet, const Surveyed& surveyed, int ranks) {
  if (!surveyed.unreachable.empty()) return tl::unexpected<Error>(surveyed.unreachable.front().error);
  if (uses_gpus(order.choice, surveyed, order.caller))
    return on_gpus(order, {{&fleet.peer(0), order.choice.gpus}}, surveyed);
  if (!order.choice.gpus.empty())
    return fail(ErrorKind::kUnavailable, "--gpus: no GPU with a loaded driver is found here");
  const PairEnd loopback{&fleet.peer(0), "lo", IpAddress::parse("127.0.0.1").value(), nullptr};
  return in_host_buffers(order, several(loopback, ranks), surveyed);
}

Result<Rehearsed> on_this_machine(const Order& order, ReachOptions reach) {
  const int ranks = order.choice.ranks > 0 ? order.choice.ranks : 2;
  if (ranks < 2) return fail(ErrorKind::kBadInput, "--ranks: at least 2 on one machine");
  fleet::Fleet fleet({{"localhost", "", true}}, std::move(reach));
  auto run = here(order, fleet, survey_nodes(fleet, order.caller), ranks);
  if (!run) return tl::unexpected<Error>(run.error());
  return Rehearsed{std::move(*run), {}};
}

Result<BenchRun> on_nodes(const Order& order, const Cluster& cluster, const Rail* rail, fleet::Fleet& fleet,
                          const Surveyed& surveyed) {
  if (uses_gpus(order.choice, surveyed, order.caller)) {
    std::vector<GpuNodeEnd> nodes;
    for (const Node& node : cluster.nodes)
      if (surveyed.facts.contains(node.name)) nodes.push_back({fleet.find(node.name), {}});
    return on_gpus(order, nodes, surveyed);
  }
  if (rail == nullptr) return fail(ErrorKind::kBadInput, "the cluster has no rail: host buffers need one");
  const auto ends = ranks_of(*rail, fleet, surveyed, std::max(1, order.choice.ranks));
  if (!ends) return tl::unexpected<Error>(ends.error());
  return in_host_buffers(order, *ends, surveyed);
}

Result<Rehearsed> on_cluster(const Order& order, ReachOptions reach) {
  const auto cluster = load_cluster(order.choice.cluster);
  if (!cluster) return tl::unexpected<Error>(cluster.error());
  const std::string& wanted = order.choice.rail;
  const auto first = std::ranges::find(cluster->rails, RailPurpose::kCompute, &Rail::purpose);
  const Rail* rail = !wanted.empty()                 ? find_rail(*cluster, wanted)
                     : first == cluster->rails.end() ? nullptr
                                                     : &*first;
  if (rail == nullptr && !wanted.empty()) return fail(no_such_rail(*cluster, wanted));
  fleet::Fleet fleet = open_fleet(*cluster, std::move(reach));
  Surveyed surveyed = survey_nodes(fleet, order.caller);
  for (const Unreachable& lost : surveyed.unreachable) order.caller.note("left out: " + lost.error.text);
  auto run = on_nodes(order, *cluster, rail, fleet, surveyed);
  if (!run) return tl::unexpected<Error>(run.error());
  return Rehearsed{std::move(*run), std::move(surveyed.unreachable)};
}

}  // namespace

Result<Rehearsed> rehearse(const TrainChoice& choice, const RunRequest& request, ReachOptions reach,
                           const Caller& caller) {
  const auto model = find_model(choice.model);
  if (!model) return fail(ErrorKind::kBadInput, "no such model: " + choice.model);
  const Order order{choice, *model, request, caller};
  return choice.cluster.empty() ? on_this_machine(order, std::move(reach))
                                : on_cluster(order, std::move(reach));
}

}  // namespace railbed
