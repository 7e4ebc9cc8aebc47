#include "campaign/look/survey.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

#include "base/json.h"
#include "campaign/agent_handlers.h"
#include "campaign/caller.h"
#include "campaign/look/evidence.h"
#include "campaign/look/facts_desk.h"
#include "campaign/reach.h"
#include "facts/collectors.h"
#include "fleet/diagnose.h"

namespace railbed {
namespace {

constexpr std::chrono::seconds kFactsDeadline{15};
constexpr std::chrono::seconds kGpuFactsDeadline{60};  // a hung GPU uses up its whole deadline
constexpr std::chrono::seconds kClockDeadline{2};

// Reads a node's clock once. The agent reads it at an unknown moment between request and reply, so the middle
// of the two is the estimate, and half the round trip is its uncertainty (Cristian's algorithm). Returns
// nothing if the call fails or our own clock went backwards in between.
std::optional<ClockReading> read_clock(Peer& peer, std::stop_token stop) {
  using System = std::chrono::system_clock;
  const auto seconds = [](System::time_point time) {
    return std::chrono::duration<double>(time.time_since_epoch()).count();
  };
  const auto asked = System::now();
  const auto answer = peer.call("clock", "{}", kClockDeadline, stop);
  const auto answered = System::now();
  if (!answer) return std::nullopt;
  const auto theirs = json::read<ClockNow>(*answer);
  if (!theirs || answered < asked) return std::nullopt;
  const double half = (seconds(answered) - seconds(asked)) / 2;
  const double middle = std::chrono::duration<double>(asked.time_since_epoch()).count() + half;
  return ClockReading{static_cast<double>(theirs->nanoseconds) * 1e-9 - middle, half};
}

Carrier carrier_of(fleet::Launcher launcher) {
  switch (launcher) {
    case fleet::Launcher::kSsh:
      return Carrier::kSsh;
    case fleet::Launcher::kSlurm:
      return Carrier::kSlurm;
    case fleet::Launcher::kKubernetes:
      return Carrier::kKubernetes;
  }
  return Carrier::kSsh;
}

// Calls work(0) … work(count - 1), eight at once.
template <class Work>
void each_at_once(std::size_t count, const Work& work) {
  std::atomic<std::size_t> next = 0;
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < std::min<std::size_t>(count, 8); ++i)
    threads.emplace_back([&] {
      for (std::size_t at = next++; at < count; at = next++) work(at);
    });
}

// Uncertainty at which more readings are useless: they cannot change a result in milliseconds.
constexpr double kCertainSeconds = 1e-4;

// Returns the most readings of a node's clock. A node whose clock is compared with others (fleet.clock-skew)
// is read up to five times until the result is certain; for the others a plan needs the offset only to about
// a second.
int most_clock_readings(const Facts& facts) {
  return items(facts.gpus.devices).empty() && items(facts.rdma.devices).empty() ? 1 : 5;
}

// Returns the reading with the least uncertainty, that is, with the fastest round trip.
std::optional<ClockReading> read_best_clock(Peer& peer, int most, const std::stop_token& stop) {
  std::optional<ClockReading> best;
  for (int reading = 0; reading < most && !stop.stop_requested(); ++reading) {
    const auto clock = read_clock(peer, stop);
    if (!clock) break;
    if (!best || clock->uncertainty_seconds < best->uncertainty_seconds) best = clock;
    if (best->uncertainty_seconds <= kCertainSeconds) break;
  }
  return best;
}

std::map<std::string, ClockReading> read_clocks(fleet::Fleet& fleet,
                                                const std::map<std::string, Facts>& nodes,
                                                const std::stop_token& stop) {
  std::vector<std::pair<std::string, int>> asked;
  for (const auto& [name, facts] : nodes) asked.emplace_back(name, most_clock_readings(facts));
  std::map<std::string, ClockReading> clocks;
  std::mutex mutex;
  // Few at once: replies that wait for each other are less exact.
  each_at_once(asked.size(), [&](std::size_t i) {
    const auto& [name, most] = asked[i];
    const auto clock = read_best_clock(*fleet.find(name), most, stop);
    const std::lock_guard lock(mutex);
    if (clock) clocks.emplace(name, *clock);
  });
  return clocks;
}

}  // namespace

fleet::Fleet open_fleet(const Cluster& cluster, fleet::FleetOptions options) {
  options.ssh_config = cluster.ssh_config;
  return fleet::Fleet(fleet::targets_of(cluster), std::move(options));
}

fleet::Fleet open_fleet(const Cluster& cluster, const std::vector<std::string>& nodes,
                        fleet::FleetOptions options) {
  auto targets = fleet::targets_of(cluster);
  std::erase_if(targets, [&](const fleet::Target& target) {
    return std::ranges::find(nodes, target.name) == nodes.end();
  });
  options.ssh_config = cluster.ssh_config;
  return fleet::Fleet(std::move(targets), std::move(options));
}

ReachOptions made_anew(ReachOptions reach) {
  reach.share_connections = false;
  reach.ssh_options.insert(reach.ssh_options.end(), {"-o", "ControlPath=none"});
  return reach;
}

namespace {

// Returns the node with the remedy that fits the reason.
Unreachable lost_node(const Cluster& cluster, const std::string& name, Error error, Carrier by) {
  const Node* const node = find_node(cluster, name);
  const fleet::Target target = node == nullptr ? fleet::Target{name, name, false} : fleet::target_of(*node);
  std::string remedy = fleet::remedy_of(error, target);
  return {name, std::move(error), by, std::move(remedy)};
}

}  // namespace

Surveyed survey_nodes(fleet::Fleet& fleet, const Caller& caller, const CollectOptions& options,
                      const Cluster& cluster) {
  Surveyed surveyed;
  const auto expects = [&](auto what) {
    return std::ranges::any_of(cluster.nodes,
                               [&](const Node& node) { return (node.expect.*what).has_value(); });
  };
  const auto checks = options.asks_site ? site_checks_by_node(cluster)
                                        : std::map<std::string_view, std::vector<const SiteCheck*>>();
  int check_seconds = 0;
  for (const auto& [node, own] : checks) check_seconds = std::max(check_seconds, orders_of(own).seconds);
  const auto deadline =
      kFactsDeadline + std::chrono::seconds(options.load_seconds.value_or(0)) +
      std::chrono::seconds(expects(&Expectations::venv) ? options.venv_seconds : 0) +
      std::chrono::seconds(expects(&Expectations::container) ? options.container_seconds : 0) +
      (expects(&Expectations::gpudirect_storage) ? kGdscheckDeadline : std::chrono::seconds(0)) +
      std::chrono::seconds(check_seconds);
  const auto options_of = [&](const std::string& name) {
    CollectOptions own = options;
    if (find_node(cluster, name) != nullptr) ask_what_is_expected(cluster, name, own);
    if (const auto its = checks.find(name); its != checks.end())
      own.site_checks = orders_of(its->second).orders;
    return json::dump(json::encode(own));
  };
  FactsDesk desk(fleet.size());
  fleet::ask_each(
      fleet, "facts", options_of, deadline, caller.stop,
      [&](std::size_t index, fleet::Answer answer) { desk.read(index, std::move(answer.result)); },
      [&](const fleet::Step& step) {
        caller.progress((options.load_seconds ? "looking, under load: " : "looking: ") + step.to_text());
      });
  auto read = desk.take();
  for (std::size_t i = 0; i < read.size(); ++i) {
    const std::string& node = fleet.peer(i).node();
    if (read[i])
      surveyed.facts.emplace(node, std::move(*read[i]));
    else
      surveyed.unreachable.push_back(
          lost_node(cluster, node, std::move(read[i].error()), carrier_of(fleet.launcher())));
  }
  if (surveyed.facts.size() > 1) surveyed.clocks = read_clocks(fleet, surveyed.facts, caller.stop);
  caller.progress("");
  return surveyed;
}

PairEnd end_on(const Rail& rail, fleet::Fleet& fleet, const Surveyed& surveyed, const std::string& node) {
  const RailPort* port = find_port(rail, node);
  return {fleet.find(node), port->interface, port->address, &surveyed.facts.at(node),
          rail.topology == Topology::kSwitch};
}

Result<Facts> facts_of(Peer& peer, const Caller& caller) {
  ASSIGN_OR_RETURN(auto text, peer.call("facts", "{}", kGpuFactsDeadline, caller.stop));
  return facts_from_json(text);
}

}  // namespace railbed
