// NCCL's network: variables, interfaces, GIDs, MTUs and peers.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "base/ip.h"
#include "base/text.h"
#include "diagnose/log/scan.h"
#include "diagnose/log/state.h"
#include "nccl/version.h"

namespace railbed::diagnose {
namespace {

// Returns the first three bytes' network of IPv4, the usual /64 of IPv6: logs have no prefix lengths.
std::optional<Subnet> usual_subnet(std::string_view text) {
  if (text.starts_with("::ffff:")) text.remove_prefix(7);
  const auto address = IpAddress::parse(text);
  if (!address || address->is_link_local()) return std::nullopt;
  return Subnet::of(*address, address->is_v4() ? 24 : 64);
}

// "Connect to 10.0.0.4<56849> returned 113(No route to host)"
Evidence peer_is_a_neighbour(const LogState& state, const LogProblem& problem) {
  Scan scan(problem.message);
  if (!scan.skip_past("onnect to ")) return std::nullopt;
  const std::string_view peer = scan.until("< ");
  const auto subnet = usual_subnet(peer);
  for (const LogInterface& own : state.log.interfaces) {
    const bool concerned = std::ranges::find(problem.hosts, own.host) != problem.hosts.end();
    if (!subnet || !concerned || is_bridge(own.name) || usual_subnet(own.address) != subnet) continue;
    return fmt::format("{} calls from {} ({}), and {} is its neighbour there", own.host, own.address,
                       own.name, peer);
  }
  return std::nullopt;
}

// Returns the word after the last of these words: "local GID index 3, local GID ::1" has them twice.
std::string_view word_after_last(std::string_view text, std::string_view words) {
  const auto at = text.rfind(words);
  return at == std::string_view::npos ? std::string_view() : word_after(text.substr(at), words);
}

// "… local GID ::ffff:192.168.12.1, remote GID ::ffff:192.168.31.3"
struct Gids {
  std::string_view local, remote;
  std::optional<Subnet> ours, theirs;
  explicit Gids(const LogProblem& problem)
      : local(word_after_last(problem.message, "local GID ")),
        remote(word_after_last(problem.message, "remote GID ")),
        ours(usual_subnet(local)),
        theirs(usual_subnet(remote)) {}
};

Evidence gids_are_of_two_subnets(const LogState&, const LogProblem& problem) {
  const Gids gids(problem);
  if (!gids.ours || !gids.theirs || gids.ours == gids.theirs) return std::nullopt;
  return fmt::format("{} and {} look like two subnets", gids.local, gids.remote);
}

Evidence gids_are_of_one_subnet(const LogState&, const LogProblem& problem) {
  const Gids gids(problem);
  if (!gids.ours || gids.ours != gids.theirs) return std::nullopt;
  return fmt::format("{} and {} look like one subnet", gids.local, gids.remote);
}

Evidence all_are_on_one_node(const LogState& state, const LogProblem&) {
  if (state.log.communicators.empty() || state.log.communicators.front().nodes != 1) return std::nullopt;
  return "all ranks are on one node, where 127.0.0.1 reaches every one of them";
}

Evidence are_on_several_nodes(const LogState& state, const LogProblem&) {
  std::set<std::string_view> hosts;
  for (const LogProcess& process : state.processes) hosts.insert(process.host);
  const int nodes = state.log.communicators.empty() ? 0 : state.log.communicators.front().nodes;
  if (nodes < 2 && hosts.size() < 2) return std::nullopt;
  if (nodes > 1) return fmt::format("the job runs on {} nodes", nodes);
  return fmt::format("the log has lines of {} and {}", *hosts.begin(), *std::next(hosts.begin()));
}

const LogVariable* find_variable(const LogState& state, std::string_view name) {
  const auto found = std::ranges::find(state.log.variables, name, &LogVariable::name);
  return found == state.log.variables.end() ? nullptr : &*found;
}

Evidence is_set(const LogState& state, std::string_view name) {
  const LogVariable* const variable = find_variable(state, name);
  if (variable == nullptr) return std::nullopt;
  return fmt::format("{}={} is set", name, variable->value);
}

// NCCL prints the variables that are set (NCCL_DEBUG_SUBSYS has ENV by default), so one that it does not print beside
// others is not set.
Evidence is_unset(const LogState& state, std::string_view name) {
  if (state.log.variables.empty() || find_variable(state, name) != nullptr) return std::nullopt;
  return fmt::format("the log lists variables that are set, and {} is not among them", name);
}

// NCCL's default is 4 MiB; nobody needs sixteen times that.
constexpr std::uint64_t kHugeBuffer = 64 << 20;

Evidence buffers_are_huge(const LogState& state, const LogProblem&) {
  const LogVariable* const variable = find_variable(state, "NCCL_BUFFSIZE");
  const auto bytes = variable == nullptr ? std::nullopt : parse_number<std::uint64_t>(variable->value);
  return bytes && *bytes >= kHugeBuffer ? is_set(state, "NCCL_BUFFSIZE") : std::nullopt;
}

Evidence buffers_are_usual(const LogState& state, const LogProblem& problem) {
  if (find_variable(state, "NCCL_BUFFSIZE") == nullptr) return is_unset(state, "NCCL_BUFFSIZE");
  return buffers_are_huge(state, problem) ? std::nullopt : is_set(state, "NCCL_BUFFSIZE");
}

Evidence ifname_is_set(const LogState& state, const LogProblem&) {
  return is_set(state, "NCCL_SOCKET_IFNAME");
}

Evidence ifname_is_exact(const LogState& state, const LogProblem&) {
  const LogVariable* const variable = find_variable(state, "NCCL_SOCKET_IFNAME");
  if (variable == nullptr || !variable->value.starts_with('=')) return std::nullopt;
  return fmt::format("NCCL_SOCKET_IFNAME={} asks for the exact name", variable->value);
}

Evidence ifname_is_loopback(const LogState& state, const LogProblem&) {
  const LogVariable* const variable = find_variable(state, "NCCL_SOCKET_IFNAME");
  if (variable == nullptr || (variable->value != "lo" && variable->value != "=lo")) return std::nullopt;
  return fmt::format("NCCL_SOCKET_IFNAME={} is set", variable->value);
}

// Returns whether NCCL takes an interface for this value: a list of prefixes, of exact names after "=", or of those to
// leave out after "^".
bool takes(std::string_view value, std::string_view interface) {
  const bool leave_out = value.starts_with('^');
  if (leave_out) value.remove_prefix(1);
  const bool exact = value.starts_with('=');
  if (exact) value.remove_prefix(1);
  bool listed = false;
  for (std::string_view rest = value; !rest.empty();) {
    const auto comma = std::min(rest.find(','), rest.size());
    const std::string_view name = rest.substr(0, comma);
    rest.remove_prefix(std::min(comma + 1, rest.size()));
    listed = listed || (!name.empty() && (exact ? interface == name : interface.starts_with(name)));
  }
  return listed != leave_out;
}

// Returns an interface that is up and that NCCL_SOCKET_IFNAME takes; empty if none does. Nothing if either is unknown.
std::optional<std::string> interface_taken(const LogState& state) {
  const LogVariable* const variable = find_variable(state, "NCCL_SOCKET_IFNAME");
  if (variable == nullptr || state.interfaces_listed.empty()) return std::nullopt;
  for (const auto& [name, up] : state.interfaces_listed)
    if (up && takes(variable->value, name)) return name;
  return "";
}

Evidence ifname_matches_none(const LogState& state, const LogProblem&) {
  const auto taken = interface_taken(state);
  if (!taken || !taken->empty()) return std::nullopt;
  std::vector<std::string_view> names;
  for (const auto& [name, up] : state.interfaces_listed)
    if (up && names.size() < 8) names.push_back(name);
  return fmt::format("up are {}: none fits NCCL_SOCKET_IFNAME={}", fmt::join(names, ", "),
                     find_variable(state, "NCCL_SOCKET_IFNAME")->value);
}

Evidence ifname_matches(const LogState& state, const LogProblem&) {
  const auto taken = interface_taken(state);
  if (!taken || taken->empty()) return std::nullopt;
  return fmt::format("{} is up and fits NCCL_SOCKET_IFNAME={}", *taken,
                     find_variable(state, "NCCL_SOCKET_IFNAME")->value);
}

Evidence versions_differ(const LogState& state, const LogProblem&) {
  if (state.log.versions.size() < 2) return std::nullopt;
  return fmt::format("the log has NCCL {}", fmt::join(state.log.versions, " and "));
}

Evidence networks_differ(const LogState& state, const LogProblem&) {
  if (state.log.networks.size() < 2) return std::nullopt;
  return fmt::format("{} processes chose {}, {} chose {}", state.log.networks[0].processes,
                     state.log.networks[0].name, state.log.networks[1].processes, state.log.networks[1].name);
}

Evidence hca_is_set(const LogState& state, const LogProblem&) { return is_set(state, "NCCL_IB_HCA"); }

Evidence topology_file_is_set(const LogState& state, const LogProblem&) {
  return is_set(state, "NCCL_TOPO_FILE");
}

Evidence topology_file_is_unset(const LogState& state, const LogProblem&) {
  return is_unset(state, "NCCL_TOPO_FILE");
}

Evidence gid_filter_is_set(const LogState& state, const LogProblem&) {
  for (const std::string_view name : {"NCCL_IB_GID_INDEX", "NCCL_IB_ADDR_RANGE", "NCCL_IB_ADDR_FAMILY"})
    if (auto evidence = is_set(state, name)) return evidence;
  return std::nullopt;
}

Evidence gid_index_is_set(const LogState& state, const LogProblem&) {
  return is_set(state, "NCCL_IB_GID_INDEX");
}

Evidence gid_index_is_unset(const LogState& state, const LogProblem&) {
  return is_unset(state, "NCCL_IB_GID_INDEX");
}

// NCCL 2.21 and newer choose the GID by address.
Evidence nccl_chooses_the_gid(const LogState& state, const LogProblem&) {
  constexpr nccl::Version kFirst{2, 21, 0};
  for (const std::string& text : state.log.versions)
    if (const auto version = nccl::Version::parse(text); version && *version >= kFirst)
      return fmt::format("NCCL {} chooses the GID by address", text);
  return std::nullopt;
}

Evidence nccl_is_before_cumem(const LogState& state, const LogProblem&) {
  constexpr nccl::Version kFirst{2, 19, 0};
  for (const std::string& text : state.log.versions)
    if (const auto version = nccl::Version::parse(text); version && *version < kFirst)
      return fmt::format("NCCL {} is older than 2.19", text);
  return std::nullopt;
}

// Returns whether the table of GIDs has a link-local one, and no other, where NCCL_IB_GID_INDEX points.
Evidence chosen_gid_is_link_local(const LogState& state) {
  const LogVariable* const variable = find_variable(state, "NCCL_IB_GID_INDEX");
  const auto command = state.seen.find("gid-index-in-command");
  const auto index = variable != nullptr           ? parse_number<int>(variable->value)
                     : command == state.seen.end() ? std::nullopt
                                                   : number_after(command->second.text, "NCCL_IB_GID_INDEX=");
  if (!index || state.rdma.routable_gids.contains(*index)) return std::nullopt;
  const auto gid = state.rdma.link_local_gids.find(*index);
  if (gid == state.rdma.link_local_gids.end()) return std::nullopt;
  return fmt::format("NCCL_IB_GID_INDEX={}, and {}", *index, at_line(gid->second));
}

// "… localGid fe80::a288:c2ff:fe45:6c12 remoteGidsfe80::…"
Evidence gid_is_link_local(const LogState& state, const LogProblem& problem) {
  if (auto chosen = chosen_gid_is_link_local(state)) return chosen;
  const std::string small = lower(problem.message);
  const auto at = small.find("gid");
  if (at == std::string::npos) return std::nullopt;
  const auto address = small.find("fe80:", at);
  if (address == std::string::npos) return std::nullopt;
  return fmt::format("the GID {} is link-local",
                     small.substr(address, small.find_first_of(" ,\n", address) - address));
}

Evidence mtus_differ(const LogState& state, const LogProblem&) {
  const std::pair<const std::string, std::set<int>>* first = nullptr;
  for (const auto& file : state.active_mtus) {
    if (file.second.size() != 1) continue;
    if (first == nullptr) first = &file;
    if (*first->second.begin() != *file.second.begin())
      return fmt::format("active_mtu is {} in {} and {} in {}", *first->second.begin(), first->first,
                         *file.second.begin(), file.first);
  }
  return first_seen(state, {"red:net.mtu-equal", "red:rdma.active-mtu"});
}

Evidence acs_is_on(const LogState& state, const LogProblem&) {
  return first_seen(state, {"acs-redirect", "red:pcie.acs"});
}

Evidence acs_is_off(const LogState& state, const LogProblem&) {
  if (state.seen.contains("acs-redirect")) return std::nullopt;
  return first_seen(state, {"acs-direct", "green:pcie.acs"});
}

// Returns the interfaces by which the problem's hosts talk.
std::vector<const LogInterface*> interfaces_of(const LogState& state, const LogProblem& problem) {
  std::vector<const LogInterface*> interfaces;
  for (const LogInterface& own : state.log.interfaces)
    if (problem.hosts.empty() || std::ranges::find(problem.hosts, own.host) != problem.hosts.end())
      interfaces.push_back(&own);
  return interfaces;
}

// NCCL takes a bridge beside other interfaces without harm. It is to blame if there is no other, or if the peer's
// address is of the bridge's network.
Evidence bridge_is_chosen(const LogState& state, const LogProblem& problem) {
  const auto interfaces = interfaces_of(state, problem);
  const bool only =
      std::ranges::all_of(interfaces, [](const LogInterface* own) { return is_bridge(own->name); });
  Scan scan(problem.message);
  const auto peer = scan.skip_past("onnect to ") ? usual_subnet(scan.until("< ")) : std::nullopt;
  for (const LogInterface* own : interfaces) {
    const bool of_peer = peer && usual_subnet(own->address) == peer;
    if (is_bridge(own->name) && (only || of_peer))
      return fmt::format("{} uses {} ({})", own->host, own->name, own->address);
  }
  return std::nullopt;
}

Evidence link_is_lost(const LogState& state, const LogProblem&) {
  return first_seen(state, {"port-error", "red:net.carrier"});
}

Evidence packets_are_lost(const LogState& state, const LogProblem&) {
  return first_seen(state, {"red:rdma.packet-loss"});
}

Evidence rank_has_checked_in(const LogState&, const LogProblem& problem) {
  if (problem.message.find("has already checked in") == std::string::npos) return std::nullopt;
  return "the root has seen that rank already";
}

Evidence family_is_inet6(const LogState& state, const LogProblem&) {
  const LogVariable* const variable = find_variable(state, "NCCL_SOCKET_FAMILY");
  if (variable == nullptr || variable->value != "AF_INET6") return std::nullopt;
  return "NCCL_SOCKET_FAMILY=AF_INET6 is set";
}

Evidence nccl_is_not_in_stack(const LogState& state, const LogProblem&) {
  if (state.seen.contains("nccl-in-stack") || state.seen.contains("nccl-ras-in-stack")) return std::nullopt;
  const auto backtrace = first_seen(state, {"backtrace", "ucx-backtrace"});
  if (!backtrace) return std::nullopt;
  return "no frame of the backtrace is NCCL's; " + *backtrace;
}

Evidence communicator_is_up(const LogState& state, const LogProblem&) {
  for (const LogCommunicator& communicator : state.log.communicators)
    if (communicator.completed > 0 && communicator.completed >= communicator.size)
      return fmt::format("all {} ranks of a communicator are up", communicator.size);
  return std::nullopt;
}

Evidence communicator_is_not_up(const LogState& state, const LogProblem& problem) {
  if (communicator_is_up(state, problem)) return std::nullopt;
  return "no communicator is complete in this log";
}

// The opposites of some of them, which only what is shown can answer.

Evidence no_bridge_is_chosen(const LogState& state, const LogProblem& problem) {
  if (bridge_is_chosen(state, problem)) return std::nullopt;
  for (const LogInterface* own : interfaces_of(state, problem))
    if (!is_bridge(own->name)) return fmt::format("{} uses {} ({})", own->host, own->name, own->address);
  return std::nullopt;
}

Evidence peer_is_elsewhere(const LogState& state, const LogProblem& problem) {
  if (peer_is_a_neighbour(state, problem)) return std::nullopt;
  return no_bridge_is_chosen(state, problem);
}

Evidence gid_is_routable(const LogState&, const LogProblem& problem) {
  if (problem.message.find("::ffff:") == std::string::npos) return std::nullopt;
  return "the GIDs of the message are those of IPv4 addresses";
}

Evidence rank_count_differs(const LogState&, const LogProblem& problem) {
  if (problem.message.find("mismatch in") == std::string::npos) return std::nullopt;
  return "the message compares numbers of ranks";
}

Evidence family_is_not_inet6(const LogState& state, const LogProblem& problem) {
  if (family_is_inet6(state, problem)) return std::nullopt;
  if (auto unset = is_unset(state, "NCCL_SOCKET_FAMILY")) return unset;
  return is_set(state, "NCCL_SOCKET_FAMILY");
}

Evidence ifname_is_not_loopback(const LogState& state, const LogProblem& problem) {
  if (ifname_is_loopback(state, problem)) return std::nullopt;
  if (auto unset = is_unset(state, "NCCL_SOCKET_IFNAME")) return unset;
  return is_set(state, "NCCL_SOCKET_IFNAME");
}

Evidence version_is_one(const LogState& state, const LogProblem&) {
  if (state.log.versions.size() != 1) return std::nullopt;
  return fmt::format("the log has NCCL {} alone", state.log.versions.front());
}

Evidence networks_agree(const LogState& state, const LogProblem&) {
  if (state.log.networks.size() != 1 || state.log.networks.front().processes < 2) return std::nullopt;
  return fmt::format("{} processes chose {}", state.log.networks.front().processes,
                     state.log.networks.front().name);
}

Evidence gid_filter_is_unset(const LogState& state, const LogProblem& problem) {
  if (state.log.variables.empty() || gid_filter_is_set(state, problem)) return std::nullopt;
  return "the log lists variables that are set, and none of them chooses a GID";
}

Evidence mtus_are_equal(const LogState& state, const LogProblem& problem) {
  if (mtus_differ(state, problem)) return std::nullopt;
  const bool compared =
      state.active_mtus.size() > 1 && std::ranges::all_of(state.active_mtus, [&](const auto& file) {
        return file.second == state.active_mtus.begin()->second;
      });
  if (compared) return fmt::format("active_mtu is the same in {} files", state.active_mtus.size());
  return first_seen(state, {"green:net.mtu-equal"});
}

Evidence link_is_kept(const LogState& state, const LogProblem& problem) {
  if (link_is_lost(state, problem)) return std::nullopt;
  return first_seen(state, {"green:rdma.link-lost", "green:net.carrier"});
}

constexpr Question kNcclNetworkQuestions[] = {
    {"buffers-huge", buffers_are_huge},
    {"buffers-usual", buffers_are_usual},
    {"peer-is-neighbour", peer_is_a_neighbour},
    {"gids-of-two-subnets", gids_are_of_two_subnets},
    {"gids-of-one-subnet", gids_are_of_one_subnet},
    {"one-node", all_are_on_one_node},
    {"several-nodes", are_on_several_nodes},
    {"ifname-set", ifname_is_set},
    {"ifname-exact", ifname_is_exact},
    {"ifname-loopback", ifname_is_loopback},
    {"ifname-matches-none", ifname_matches_none},
    {"ifname-matches", ifname_matches},
    {"nccl-versions-differ", versions_differ},
    {"networks-differ", networks_differ},
    {"hca-set", hca_is_set},
    {"topology-file-set", topology_file_is_set},
    {"topology-file-unset", topology_file_is_unset},
    {"gid-filter-set", gid_filter_is_set},
    {"gid-index-set", gid_index_is_set},
    {"gid-index-unset", gid_index_is_unset},
    {"nccl-chooses-gid", nccl_chooses_the_gid},
    {"nccl-before-cumem", nccl_is_before_cumem},
    {"gid-link-local", gid_is_link_local},
    {"mtu-differs", mtus_differ},
    {"acs-on", acs_is_on},
    {"acs-off", acs_is_off},
    {"bridge-chosen", bridge_is_chosen},
    {"link-lost", link_is_lost},
    {"packets-lost", packets_are_lost},
    {"rank-checked-in", rank_has_checked_in},
    {"family-inet6", family_is_inet6},
    {"nccl-not-in-stack", nccl_is_not_in_stack},
    {"communicator-up", communicator_is_up},
    {"communicator-not-up", communicator_is_not_up},
    {"no-bridge-chosen", no_bridge_is_chosen},
    {"peer-is-elsewhere", peer_is_elsewhere},
    {"gid-routable", gid_is_routable},
    {"rank-count-differs", rank_count_differs},
    {"family-not-inet6", family_is_not_inet6},
    {"ifname-not-loopback", ifname_is_not_loopback},
    {"nccl-version-one", version_is_one},
    {"networks-agree", networks_agree},
    {"gid-filter-unset", gid_filter_is_unset},
    {"mtu-equal", mtus_are_equal},
    {"link-kept", link_is_kept},
};

constexpr Opposites kNcclNetworkOpposites[] = {
    {"buffers-huge", "buffers-usual"},
    {"gids-of-two-subnets", "gids-of-one-subnet"},
    {"one-node", "several-nodes"},
    {"ifname-matches-none", "ifname-matches"},
    {"topology-file-set", "topology-file-unset"},
    {"gid-index-set", "gid-index-unset"},
    {"acs-on", "acs-off"},
    {"nccl-in-stack", "nccl-not-in-stack"},
    {"communicator-up", "communicator-not-up"},
    {"bridge-chosen", "no-bridge-chosen"},
    {"peer-is-neighbour", "peer-is-elsewhere"},
    {"gid-link-local", "gid-routable"},
    {"rank-checked-in", "rank-count-differs"},
    {"family-inet6", "family-not-inet6"},
    {"ifname-loopback", "ifname-not-loopback"},
    {"nccl-versions-differ", "nccl-version-one"},
    {"networks-differ", "networks-agree"},
    {"gid-filter-set", "gid-filter-unset"},
    {"mtu-differs", "mtu-equal"},
    {"link-lost", "link-kept"},
};

}  // namespace

std::span<const Question> nccl_network_questions() { return kNcclNetworkQuestions; }

std::span<const Opposites> nccl_network_opposites() { return kNcclNetworkOpposites; }

}  // namespace railbed::diagnose
