#include "campaign/change/find_cables.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <thread>

#include "apply/node_apply.h"
#include "apply/request.h"
#include "base/json.h"
#include "base/wording.h"
#include "campaign/change/propose.h"
#include "campaign/look/cables.h"
#include "campaign/look/survey.h"
#include "fleet/fleet.h"

namespace railbed {
namespace {

constexpr std::size_t kMostCableNodes = 256;  // all of them send at once
constexpr int kRaisedSeconds =
    30;  // and as long as the nodes listen: then a node sets its links down by itself
constexpr std::chrono::seconds kRaiseDeadline{60};
constexpr std::chrono::seconds kLowerDeadline{60};
constexpr std::chrono::seconds kCarrierDeadline{20};  // training of a 100 Gb/s link takes up to 15 s
constexpr std::chrono::seconds kAddressSettles{2};    // duplicate address detection, RFC 4862
constexpr std::chrono::milliseconds kCarrierAgain{500};

using PortsByNode = std::map<std::string, std::vector<std::string>>;
using CableClock = std::chrono::steady_clock;

// Links that are up for a while, on each node by an apply that is never committed: its keeper sets them down on
// request and when its time is over, and systemd's timer does if the keeper died.
class RaisedLinks {
 public:
  RaisedLinks(const Cluster& cluster, const PortsByNode& ports, std::string who, std::chrono::seconds listen,
              ReachOptions reach, const Caller& caller)
      : ports_(ports),
        who_(std::move(who)),
        seconds_(kRaisedSeconds + static_cast<int>(listen.count())),
        caller_(caller),
        fleet_(open_as_root(cluster, ports, std::move(reach))) {}
  ~RaisedLinks() { lower(); }
  RaisedLinks(const RaisedLinks&) = delete;
  RaisedLinks& operator=(const RaisedLinks&) = delete;

  void raise() {
    caller_.progress("setting links up for the look");
    const auto staged = ask(kApplyStage, [&](const std::string& node) {
      const ApplyRequest request{.id = id_,
                                 .who = who_,
                                 .cluster = "init",
                                 .seconds = seconds_,
                                 .titles = {"links up for a look at the cables"},
                                 .steps = {{StepKind::kSetLinkUp, ports_.at(node)}}};
      return json::dump(json::encode(request));
    });
    for (const auto& [node, status] : staged) {
      if (status)
        open_.insert(node);
      else
        caller_.note(fmt::format("the links of {} stay down: {}", node, without_node(status.error())));
    }
    (void)ask_open(kApplySwitch);
    wait_until(
        [](ApplyState state) { return state != ApplyState::kStaged && state != ApplyState::kSwitching; },
        kRaiseDeadline, true);
  }

  // Extends the time for which the links stay up.
  void stay() { (void)ask_open(kApplyWait); }

  // Returns when all links are down again. Notes the nodes without a confirmation.
  void lower() {
    if (open_.empty()) return;
    caller_.progress("setting links down again");
    (void)ask(kApplyDecide, [&](const std::string&) {
      return json::dump(json::encode(ApplyDecided{id_, false}));
    });
    wait_until([](ApplyState state) { return !is_open(state); }, kLowerDeadline, false);
    for (const std::string& node : open_)
      caller_.note(fmt::format(
          "{}: nobody saw its links ({}) go down again; it sets them down by itself, {} s after it "
          "was last heard of",
          node, fmt::join(ports_.at(node), ", "), seconds_));
    open_.clear();
    caller_.progress("");
  }

 private:
  using Statuses = std::map<std::string, Result<ApplyStatus>>;

  static fleet::Fleet open_as_root(const Cluster& cluster, const PortsByNode& ports, ReachOptions reach) {
    std::vector<std::string> nodes;
    for (const auto& [node, names] : ports) nodes.push_back(node);
    reach.as_root = true;
    return open_fleet(cluster, nodes, std::move(reach));
  }

  // The caller's stop does not cancel these requests: what was begun is rolled back.
  Statuses ask(std::string_view method, const fleet::ParamsOf& params) {
    Statuses all;
    for (const fleet::Answer& answer : fleet::gather(fleet_, method, params, kRaiseDeadline)) {
      if (answer.result)
        all.emplace(answer.node, json::read<ApplyStatus>(*answer.result));
      else
        all.emplace(answer.node, Result<ApplyStatus>(fail(answer.result.error())));
    }
    return all;
  }
  Statuses ask_open(std::string_view method) {
    Statuses all = ask(method, [&](const std::string&) { return json::dump(json::encode(ApplyAsked{id_})); });
    std::erase_if(all, [&](const auto& one) { return !open_.contains(one.first); });
    return all;
  }

  // Waits until all nodes have reached a state. While links go up, a node that failed is noted, and dropped once it
  // is back in its old state; while they go down, each node is dropped that is back.
  template <class Reached>
  void wait_until(const Reached& reached, std::chrono::seconds patience, bool up) {
    for (const auto until = CableClock::now() + patience; CableClock::now() < until;) {
      bool all = true;
      for (const auto& [node, status] : ask_open(kApplyLook)) {
        all = all && status && reached(status->state);
        if (!status || is_open(status->state)) continue;
        if (up || !status->why.text.empty())
          caller_.note(fmt::format("{}: setting its links up failed: {}", node, status->why.text));
        open_.erase(node);
      }
      if (all || open_.empty()) return;
      std::this_thread::sleep_for(kCarrierAgain);
    }
  }

  const PortsByNode& ports_;
  const std::string id_ = make_apply_id();
  const std::string who_;
  const int seconds_;  // without a controller
  const Caller& caller_;
  fleet::Fleet fleet_;
  std::set<std::string> open_;  // nodes whose links may be up
};

// Returns the candidates that are administratively down, by their facts.
std::vector<CablePort> ports_down(const std::vector<CableAsk>& asks,
                                  const std::map<std::string, Facts>& facts) {
  std::vector<CablePort> down;
  for (const CableAsk& ask : asks) {
    const auto found = facts.find(ask.port.node);
    const NetInterface* const interface =
        found == facts.end() ? nullptr : find_interface(found->second.net, ask.port.interface);
    if (!ask.management && interface != nullptr && !interface->administratively_up.value_or(true))
      down.push_back(ask.port);
  }
  return down;
}

std::string ports_text(const std::vector<CablePort>& ports) {
  std::vector<std::string> texts;
  for (const CablePort& port : ports) texts.push_back(port.to_text());
  return fmt::format("{}", fmt::join(texts, ", "));
}

void wait_for_carrier(fleet::Fleet& fleet, RaisedLinks& links, const std::vector<CablePort>& ports,
                      const Caller& caller) {
  caller.progress("waiting for carrier");
  const auto until = CableClock::now() + kCarrierDeadline;
  while (CableClock::now() < until && !caller.stop.stop_requested() &&
         !without_carrier(fleet, ports, caller.stop).empty()) {
    std::this_thread::sleep_for(kCarrierAgain);
    links.stay();
  }
}

}  // namespace

Result<CablesSeen> find_cables(const LookedAt& seen, const CableChoice& choice, ReachOptions reach,
                               const Caller& caller) {
  ASSIGN_OR_RETURN(const auto asks, ports_to_ask(seen.nodes, seen.facts, seen.reached, choice.ports));
  const bool any = std::ranges::any_of(asks, [&](const CableAsk& ask) {
    return !ask.management && (choice.always || !choice.ports.empty() || !ask.addressed);
  });
  if (!any || seen.nodes.size() < 2) return CablesSeen{};
  if (seen.nodes.size() > kMostCableNodes) {
    caller.note(
        fmt::format("cables are looked for among at most {} nodes: name fewer of them", kMostCableNodes));
    return CablesSeen{};
  }
  Cluster cluster;
  cluster.nodes = seen.nodes;
  cluster.ssh_config = reach.ssh_config;
  reach.parallelism = std::max(reach.parallelism, seen.nodes.size());
  fleet::Fleet fleet = open_fleet(cluster, reach);
  const std::vector<CablePort> down = ports_down(asks, seen.facts);
  std::optional<RaisedLinks> raised;
  PortsByNode by_node;
  auto listen = std::chrono::milliseconds(choice.listen);
  if (!down.empty() && choice.may_bring_up &&
      choice.may_bring_up(fmt::format("{} down. Set up for the look at the cables, and down again?",
                                      ports_text(down) + (down.size() == 1 ? " is" : " are")))) {
    for (const CablePort& port : down) by_node[port.node].push_back(port.interface);
    raised.emplace(cluster, by_node, choice.who, choice.listen, reach, caller);
    raised->raise();
    wait_for_carrier(fleet, *raised, down, caller);
    listen += kAddressSettles;
  }
  auto cables = look_at_cables(fleet, asks, seen.facts, listen, caller);
  if (raised) raised->lower();
  if (cables) cables->named = !choice.ports.empty();
  return cables;
}

}  // namespace railbed
