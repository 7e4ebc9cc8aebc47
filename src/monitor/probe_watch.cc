#include "monitor/probe_watch.h"

#include <fmt/format.h>

#include <set>

#include "base/moment.h"
#include "hardware/latency_floor.h"
#include "host/open.h"
#include "host/process.h"
#include "inventory/load.h"

namespace railbed {
namespace {

// Dead peers take a few seconds each, one after the other. A round that takes longer than this hangs.
constexpr std::chrono::seconds kRoundHangs{90};
constexpr double kSecondsPerMinute = 60;

std::shared_ptr<JobGate> gate_of(const ProbeOptions& options) {
  return std::make_shared<JobGate>(options.node, options.beside_jobs, [](const auto& words, auto deadline) {
    return run_program(words, deadline);
  });
}

// Returns the failures of a round, one line each.
std::set<std::string> failures_of(const ProbeRound& round) {
  std::set<std::string> lines;
  for (const PeerProbe& probe : round.probes)
    for (const ProbeBurst* burst : {&probe.tcp, probe.rdma ? &*probe.rdma : nullptr})
      if (burst != nullptr && burst->reason != ProbeReason::kNone)
        lines.insert(fmt::format("a probe of {} over {} by {} failed: {}", probe.peer, probe.rail,
                                 burst == &probe.tcp ? "TCP" : "RDMA", burst->why));
  return lines;
}

ProbeRound round_of(const Prober& prober, JobGate& gate, std::chrono::seconds every,
                    const std::stop_token& stop) {
  ProbeRound round{.when = now_unix()};
  round.pause = gate.ask(std::chrono::seconds(0));
  const auto began = std::chrono::steady_clock::now();
  if (!round.pause)
    round.probes = prober.round(
        static_cast<std::uint64_t>(round.when) / static_cast<std::uint64_t>(every.count()), stop);
  round.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  return round;
}

// Returns an upper limit for what this node sends and receives: its own probes, and as many of others.
double bytes_per_minute(const ProbePlan& plan, std::chrono::seconds every) {
  std::size_t partners = 0;
  for (const ProbeRail& rail : plan.rails) partners += std::min(rail.others.size() - 1, kPartnersPerRound);
  return static_cast<double>(2 * partners * kProbeWireBytes) * kSecondsPerMinute /
         static_cast<double>(every.count());
}

// Returns the lower bound of a read on each rail, if its other end is like this one.
std::map<std::string, double> floors_of(const ProbePlan& plan, const NodeLook& look, const Cluster& cluster) {
  std::map<std::string, double> floors;
  for (const ProbeRail& rail : plan.rails) {
    if (!rail.rdma) continue;
    const CeilingEnd here{plan.node, rail.interface, &look.facts};
    const CeilingEnd there{"peer", rail.interface, &look.facts};
    const Rail* const found = find_rail(cluster, rail.name);
    const Wire wire = found->fabric == Fabric::kInfiniband ? Wire::kInfiniband
                      : rail.address.is_v4()               ? Wire::kRoceV2Ipv4
                                                           : Wire::kRoceV2Ipv6;
    const Floor floor =
        latency_floor(here, there, {wire, 1024, 8, found->topology == Topology::kSwitch, true});
    if (!floor.parts.empty()) floors.emplace(rail.name, floor.time().count() / 1e9);
  }
  return floors;
}

}  // namespace

struct ProbeWatch::Shared {
  Shared(Cluster its_cluster, ProbePlan its_plan, const ProbeOptions& options, Look its_look, Hear its_note)
      : cluster(std::move(its_cluster)),
        plan(std::move(its_plan)),
        host(open_this_machine()),
        prober({plan, options.secret, options.port}, host),
        gate(gate_of(options)),
        look(std::move(its_look)),
        note(std::move(its_note)),
        every(options.every) {
    state.bytes_per_minute = bytes_per_minute(plan, every);
  }

  Result<void> probe(const std::stop_token& stop) {
    ProbeRound round = round_of(prober, *gate, every, stop);
    const auto seen = look();
    std::set<std::string> lines = failures_of(round);
    for (const std::string& line : lines)
      if (!told.contains(line)) note(line);
    told = std::move(lines);
    const std::lock_guard lock(mutex);
    if (seen) state.floors = floors_of(plan, *seen, cluster);
    state.add(std::move(round), plan);
    if (state.last.pause.reason == "slurm-silent") return fail(ErrorKind::kUnavailable, state.last.pause.why);
    return {};
  }

  const Cluster cluster;
  const ProbePlan plan;
  const std::shared_ptr<Host> host;
  const Prober prober;
  const std::shared_ptr<JobGate> gate;
  const Look look;
  const Hear note;
  const std::chrono::seconds every;
  std::set<std::string> told;  // failures of the last round; used only by the thread that probes
  std::mutex mutex;
  ProbeState state;
};

Result<ProbePlan> plan_probes(const ProbeOptions& options) {
  if (options.cluster.empty())
    return fail(ErrorKind::kBadInput, "--probe pings the rails of a cluster.yaml: name it");
  ASSIGN_OR_RETURN(const auto cluster, load_cluster(options.cluster));
  if (find_node(cluster, options.node) == nullptr)
    return fail(ErrorKind::kBadInput, fmt::format("{} knows no node \"{}\": name this machine by --node",
                                                  options.cluster, options.node));
  ProbePlan plan = plan_probes(cluster, options.node);
  if (plan.rails.empty())
    return fail(
        ErrorKind::kBadInput,
        fmt::format("{} gives {} and another node no addresses on one rail: there is nothing to probe",
                    options.cluster, options.node));
  return plan;
}

ProbeRound probe_once(const ProbePlan& plan, const ProbeOptions& options, const std::stop_token& stop) {
  const Prober prober({plan, options.secret, options.port}, open_this_machine());
  return round_of(prober, *gate_of(options), options.every, stop);
}

ProbeWatch::ProbeWatch(std::shared_ptr<Shared> shared, const ProbeOptions& options, Hear note)
    : shared_(std::move(shared)),
      responder_({shared_->plan, options.secret, options.port}, shared_->host, shared_->gate,
                 std::move(note)),
      collector_(
          "probe", [all = shared_](std::stop_token stop) { return all->probe(stop); }, options.every,
          kRoundHangs) {}

Result<std::unique_ptr<ProbeWatch>> ProbeWatch::open(const ProbeOptions& options, Look look, Hear note) {
  ASSIGN_OR_RETURN(auto plan, plan_probes(options));
  ASSIGN_OR_RETURN(auto cluster, load_cluster(options.cluster));
  auto shared = std::make_shared<Shared>(std::move(cluster), std::move(plan), options, std::move(look), note);
  return std::unique_ptr<ProbeWatch>(new ProbeWatch(std::move(shared), options, std::move(note)));
}

void ProbeWatch::add_to(NodeState& state) const {
  auto probes = std::make_shared<ProbeState>();
  {
    const std::lock_guard lock(shared_->mutex);
    *probes = shared_->state;
  }
  probes->service = responder_.service();
  state.probes = std::move(probes);
  state.collectors.push_back(collector_.health());
}

}  // namespace railbed
