// Observations in what NCCL and nccl-tests print that confirm or refute causes.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "base/ip.h"
#include "base/phrases.h"
#include "base/text.h"
#include "diagnose/log/scan.h"
#include "diagnose/log/state.h"
#include "nccl/version.h"

namespace railbed::diagnose {
namespace {

using Evidence = std::optional<std::string>;

constexpr std::string_view kOpenMode = "drwxrwxrwt";  // which /dev/shm has to have

Evidence memlock_is_unlimited(const LogState& state, const LogProblem&) {
  if (state.memlock_unlimited.line == 0 || state.memlock_limited.line != 0) return std::nullopt;
  return at_line(state.memlock_unlimited);
}

Evidence memlock_is_limited(const LogState& state, const LogProblem&) {
  if (state.memlock_limited.line == 0) return std::nullopt;
  return at_line(state.memlock_limited);
}

Evidence device_is_a_slice(const LogState& state, const LogProblem&) {
  if (state.mig.line == 0) return std::nullopt;
  return at_line(state.mig);
}

const LogRank* find_rank(const Log& log, std::optional<int> number) {
  if (!number || log.communicators.empty()) return nullptr;
  const auto& ranks = log.communicators.front().ranks;
  const auto found = std::ranges::find(ranks, *number, &LogRank::rank);
  return found == ranks.end() ? nullptr : &*found;
}

// Returns the first of the variables that switch ways between ranks off, if it has that value.
Evidence transport_variable(const Log& log, std::string_view value) {
  for (const LogVariable& variable : log.variables)
    if ((variable.name == "NCCL_P2P_DISABLE" || variable.name == "NCCL_SHM_DISABLE" ||
         variable.name == "NCCL_IB_DISABLE") &&
        variable.value == value)
      return fmt::format("{}={} is set", variable.name, variable.value);
  return std::nullopt;
}

Evidence transports_are_off(const LogState& state, const LogProblem&) {
  return transport_variable(state.log, "1");
}

Evidence transports_are_on(const LogState& state, const LogProblem&) {
  return transport_variable(state.log, "1") ? std::nullopt : transport_variable(state.log, "0");
}

// "Duplicate GPU detected : rank 0 and rank 1 both on CUDA device 17000"
Evidence ranks_are_on_two_hosts(const LogState& state, const LogProblem& problem) {
  const LogRank* const one = find_rank(state.log, number_after(problem.message, ": rank "));
  const LogRank* const other = find_rank(state.log, number_after(problem.message, "and rank "));
  if (one == nullptr || other == nullptr || one->host == other->host) return std::nullopt;
  return fmt::format("rank {} is on {}, rank {} on {}", one->rank, one->host, other->rank, other->host);
}

Evidence ranks_are_on_one_host(const LogState& state, const LogProblem& problem) {
  const LogRank* const one = find_rank(state.log, number_after(problem.message, ": rank "));
  const LogRank* const other = find_rank(state.log, number_after(problem.message, "and rank "));
  if (one == nullptr || other == nullptr || one->host != other->host) return std::nullopt;
  return fmt::format("rank {} and rank {} are on {}", one->rank, other->rank, one->host);
}

Evidence segment_has_no_size(const LogState&, const LogProblem& problem) {
  if (problem.message.find("(size 0)") == std::string::npos) return std::nullopt;
  return "the segment's size is 0 and its name is no name of NCCL's: a reader took something else for it";
}

Evidence segment_is_not_there(const LogState&, const LogProblem& problem) {
  if (problem.message.find("No such file") == std::string::npos) return std::nullopt;
  return "the segment that the other rank made is not there; a full /dev/shm says \"No space left on device\"";
}

Evidence segment_is_denied(const LogState& state, const LogProblem& problem) {
  if (has_text(problem.message, "Permission denied")) return "the message has EACCES: permission denied";
  return first_seen(state, {"shm-call-denied"});
}

Evidence segment_has_no_room(const LogState& state, const LogProblem& problem) {
  if (has_text(problem.message, "No space left")) return "the message has ENOSPC: no space left on device";
  return first_seen(state, {"shm-call-full"});
}

// The mode of /dev/shm, from `ls -ld /dev/shm`
Evidence shm_is_open_to_all(const LogState& state, const LogProblem&) {
  if (!state.shm_mode.text.starts_with(kOpenMode)) return std::nullopt;
  return at_line(state.shm_mode);
}
Evidence shm_is_closed(const LogState& state, const LogProblem& problem) {
  if (state.shm_mode.line == 0 || shm_is_open_to_all(state, problem)) return std::nullopt;
  return at_line(state.shm_mode);
}

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

Evidence no_interface_is_up(const LogState& state, const LogProblem&) {
  if (state.interfaces_listed.empty()) return std::nullopt;
  for (const auto& [name, up] : state.interfaces_listed)
    if (up && name != "lo" && !is_bridge(name) && !name.starts_with("veth")) return std::nullopt;
  return fmt::format("none of the {} interfaces that are listed is up, but lo and bridges",
                     state.interfaces_listed.size());
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

Evidence rdma_device_is_used(const LogState& state, const LogProblem&) {
  if (state.log.nics.empty()) return std::nullopt;
  return fmt::format("NCCL found {} on {}", state.log.nics.front().device, state.log.nics.front().host);
}

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

// Returns the first problem of the log that is a cause, if it stands before this one.
Evidence something_failed_before(const LogState& state, const LogProblem& problem) {
  for (const LogProblem& other : state.log.problems) {
    const bool before = other.file == problem.file ? other.line < problem.line : !other.file.empty();
    if (&other == &problem || !before || other.consequence || other.severity != Severity::kError) continue;
    return at_line(other);
  }
  return std::nullopt;
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

Evidence are_many_ranks(const LogState& state, const LogProblem& problem) {
  constexpr int kMany = 512;
  int most = 0;
  for (const LogCommunicator& communicator : state.log.communicators)
    most = std::max(most, communicator.size);
  for (const int rank : problem.ranks) most = std::max(most, rank + 1);
  if (most < kMany) return std::nullopt;
  return fmt::format("the job has {} ranks or more", most);
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

Evidence scheduler_shares_a_gpu(const LogState& state, const LogProblem&) {
  for (const auto& [gpu, processes] : state.sole_gpu)
    if (processes.size() > 1)
      return fmt::format("processes {} and {} both have CUDA_VISIBLE_DEVICES={}", *processes.begin(),
                         *std::next(processes.begin()), gpu);
  return std::nullopt;
}

Evidence nccl_is_not_in_stack(const LogState& state, const LogProblem&) {
  if (state.seen.contains("nccl-in-stack") || state.seen.contains("nccl-ras-in-stack")) return std::nullopt;
  const auto backtrace = first_seen(state, {"backtrace", "ucx-backtrace"});
  if (!backtrace) return std::nullopt;
  return "no frame of the backtrace is NCCL's; " + *backtrace;
}

Evidence shm_is_small(const LogState& state, const LogProblem&) {
  return state.shm_small.line == 0 ? std::nullopt : Evidence(at_line(state.shm_small));
}
Evidence shm_is_large(const LogState& state, const LogProblem&) {
  return state.shm_large.line == 0 ? std::nullopt : Evidence(at_line(state.shm_large));
}

// Returns two hosts with different numbers of RDMA devices.
Evidence nics_differ(const LogState& state, const LogProblem&) {
  std::map<std::string_view, int> count;
  for (const auto& [key, nic] : state.nics) ++count[std::get<0>(key)];
  for (const auto& [host, number] : count)
    if (number != count.begin()->second)
      return fmt::format("{} uses {} RDMA devices, {} uses {}", count.begin()->first, count.begin()->second,
                         host, number);
  return std::nullopt;
}

Evidence nics_agree(const LogState& state, const LogProblem& problem) {
  std::set<std::string_view> hosts;
  for (const auto& [key, nic] : state.nics) hosts.insert(std::get<0>(key));
  if (hosts.size() < 2 || nics_differ(state, problem)) return std::nullopt;
  return fmt::format("{} hosts use the same number of RDMA devices", hosts.size());
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

// Releases of NCCL before which a GPU's generation is not supported (NCCL's release notes).
struct FirstRelease {
  std::string_view gpu;  // in the names of products
  nccl::Version version;
};
constexpr FirstRelease kFirstReleases[] = {
    {"GB200", {2, 25, 1}},    {"B200", {2, 25, 1}},     {"GB300", {2, 27, 3}},     {"B300", {2, 27, 3}},
    {"RTX 5090", {2, 26, 2}}, {"RTX 5080", {2, 26, 2}}, {"Blackwell", {2, 26, 2}}, {"GB10", {2, 26, 2}},
};

Evidence nccl_is_older_than_gpu(const LogState& state, const LogProblem&) {
  if (state.gpu_model.line == 0) return std::nullopt;
  for (const std::string& text : state.log.versions) {
    const auto version = nccl::Version::parse(text);
    for (const FirstRelease& first : kFirstReleases)
      if (version && *version < first.version && state.gpu_model.text.find(first.gpu) != std::string::npos)
        return fmt::format("NCCL {} is older than {}, the first for {} ({})", text, first.version.to_text(),
                           first.gpu, at_line(state.gpu_model));
  }
  return std::nullopt;
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

Evidence segment_has_a_size(const LogState& state, const LogProblem& problem) {
  if (segment_has_no_size(state, problem)) return std::nullopt;
  if (problem.message.find("(size ") == std::string::npos) return std::nullopt;
  return "the message has the segment's size";
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

Evidence nothing_failed_before(const LogState& state, const LogProblem& problem) {
  if (something_failed_before(state, problem)) return std::nullopt;
  return "no other failure stands before it in this log";
}

Evidence link_is_kept(const LogState& state, const LogProblem& problem) {
  if (link_is_lost(state, problem)) return std::nullopt;
  return first_seen(state, {"green:rdma.link-lost", "green:net.carrier"});
}

Evidence no_rdma_device_is_seen(const LogState& state, const LogProblem&) {
  const auto blind = std::ranges::find_if(state.processes, &LogProcess::no_rdma_device);
  if (blind == state.processes.end()) return std::nullopt;
  return fmt::format("NCCL found no RDMA device on {}", blind->host);
}

constexpr Question kQuestions[] = {
    {"memlock-unlimited", memlock_is_unlimited},
    {"memlock-limited", memlock_is_limited},
    {"buffers-huge", buffers_are_huge},
    {"buffers-usual", buffers_are_usual},
    {"mig-slice", device_is_a_slice},
    {"ranks-on-two-hosts", ranks_are_on_two_hosts},
    {"ranks-on-one-host", ranks_are_on_one_host},
    {"segment-without-size", segment_has_no_size},
    {"segment-not-there", segment_is_not_there},
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
    {"no-interface-up", no_interface_is_up},
    {"nccl-versions-differ", versions_differ},
    {"networks-differ", networks_differ},
    {"hca-set", hca_is_set},
    {"rdma-device-used", rdma_device_is_used},
    {"topology-file-set", topology_file_is_set},
    {"topology-file-unset", topology_file_is_unset},
    {"gid-filter-set", gid_filter_is_set},
    {"gid-index-set", gid_index_is_set},
    {"gid-index-unset", gid_index_is_unset},
    {"nccl-chooses-gid", nccl_chooses_the_gid},
    {"nccl-before-cumem", nccl_is_before_cumem},
    {"gid-link-local", gid_is_link_local},
    {"failed-before", something_failed_before},
    {"mtu-differs", mtus_differ},
    {"transports-off", transports_are_off},
    {"transports-default", transports_are_on},
    {"acs-on", acs_is_on},
    {"acs-off", acs_is_off},
    {"many-ranks", are_many_ranks},
    {"bridge-chosen", bridge_is_chosen},
    {"link-lost", link_is_lost},
    {"packets-lost", packets_are_lost},
    {"rank-checked-in", rank_has_checked_in},
    {"family-inet6", family_is_inet6},
    {"gpu-shared-by-scheduler", scheduler_shares_a_gpu},
    {"nccl-older-than-gpu", nccl_is_older_than_gpu},
    {"nccl-not-in-stack", nccl_is_not_in_stack},
    {"shm-small", shm_is_small},
    {"shm-large", shm_is_large},
    {"segment-denied", segment_is_denied},
    {"segment-no-room", segment_has_no_room},
    {"dev-shm-open", shm_is_open_to_all},
    {"dev-shm-closed", shm_is_closed},
    {"nics-differ", nics_differ},
    {"nics-agree", nics_agree},
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
    {"segment-with-size", segment_has_a_size},
    {"gid-filter-unset", gid_filter_is_unset},
    {"mtu-equal", mtus_are_equal},
    {"failed-first", nothing_failed_before},
    {"link-kept", link_is_kept},
    {"no-rdma-device-seen", no_rdma_device_is_seen},
};

constexpr Opposites kOpposites[] = {
    {"buffers-huge", "buffers-usual"},
    {"memlock-unlimited", "memlock-limited"},
    {"ranks-on-two-hosts", "ranks-on-one-host"},
    {"gids-of-two-subnets", "gids-of-one-subnet"},
    {"one-node", "several-nodes"},
    {"ifname-matches-none", "ifname-matches"},
    {"topology-file-set", "topology-file-unset"},
    {"gid-index-set", "gid-index-unset"},
    {"acs-on", "acs-off"},
    {"nccl-in-stack", "nccl-not-in-stack"},
    {"nics-differ", "nics-agree"},
    {"shm-small", "shm-large"},
    {"segment-denied", "segment-no-room"},
    {"communicator-up", "communicator-not-up"},
    {"bridge-chosen", "no-bridge-chosen"},
    {"peer-is-neighbour", "peer-is-elsewhere"},
    {"gid-link-local", "gid-routable"},
    {"rank-checked-in", "rank-count-differs"},
    {"family-inet6", "family-not-inet6"},
    {"ifname-loopback", "ifname-not-loopback"},
    {"nccl-versions-differ", "nccl-version-one"},
    {"networks-differ", "networks-agree"},
    {"segment-without-size", "segment-with-size"},
    {"gid-filter-set", "gid-filter-unset"},
    {"mtu-differs", "mtu-equal"},
    {"failed-before", "failed-first"},
    {"link-lost", "link-kept"},
    {"rdma-device-used", "no-rdma-device-seen"},
};

constexpr std::size_t kLongestSight = 200;
constexpr std::size_t kMostHosts = 4096;
constexpr std::size_t kMostOnOneHost = 1024;

// Returns whether the line names a slice: "NVIDIA H100 80GB HBM3 MIG 3g.40gb", "MIG-5c3f…" as a UUID. nvidia-smi's
// heading "MIG M." is none.
bool names_slice(std::string_view line) {
  for (std::size_t at = line.find("MIG"); at != std::string_view::npos; at = line.find("MIG", at + 3)) {
    const std::string_view rest = line.substr(at + 3);
    if (rest.size() < 3) return false;
    if (rest[0] == '-' && (rest.starts_with("-GPU-") || std::isxdigit(static_cast<unsigned char>(rest[1]))))
      return true;
    if (rest[0] == ' ' && is_digit(rest[1]) && (rest[2] == 'g' || rest[2] == 'c')) return true;
  }
  return false;
}

// A limit of locked memory as programs print it: `ulimit -a` and /proc/PID/limits ("max locked memory … unlimited"),
// "memlock unlimited", docker's "--ulimit memlock=-1", libibverbs' "RLIMIT_MEMLOCK is 65536 bytes".
enum class Memlock { kNone, kUnlimited, kLimited };

Memlock memlock_in(std::string_view line) {
  const std::string small = lower(line);
  for (const std::string_view name : {"max locked memory", "rlimit_memlock", "memlock"}) {
    Scan scan(small);
    if (!scan.skip_past(name)) continue;
    std::string_view value = scan.rest();
    if (const auto close = value.find("-l)"); close != std::string_view::npos) value.remove_prefix(close + 3);
    value.remove_prefix(std::min(value.find_first_not_of(" \t:=(\"'"), value.size()));
    for (const std::string_view verb : {"is ", "set to "})
      if (value.starts_with(verb)) value.remove_prefix(verb.size());
    if (value.starts_with("unlimited") || value.starts_with("-1") || value.starts_with("infinity"))
      return Memlock::kUnlimited;
    return !value.empty() && is_digit(value.front()) ? Memlock::kLimited : Memlock::kNone;
  }
  return Memlock::kNone;
}

// Returns whether the line gives advice rather than a fact: "please set memlock unlimited".
bool advises(std::string_view line) {
  const std::string small = lower(line);
  return std::ranges::any_of(
      std::array{"please", "should", "try ", "increase", "raise ", "consider", "recommend"},
      [&](const char* word) { return small.find(word) != std::string::npos; });
}

// "eth0             UP             10.0.0.1/24", as `ip -brief address` and `ip -brief link` print it.
void read_interface(LogState& state, std::string_view line) {
  constexpr std::size_t kMost = 4096;
  const auto columns = words(line.substr(0, 256));
  if (columns.size() < 2 || state.interfaces_listed.size() >= kMost) return;
  const std::string_view name = columns[0].substr(0, columns[0].find('@'));
  const bool up = columns[1] == "UP" || (columns[1] == "UNKNOWN" && columns.size() > 2);
  const bool listed = up || columns[1] == "DOWN" || columns[1] == "UNKNOWN";
  constexpr std::size_t kLongestName = 15;  // IFNAMSIZ
  if (listed && !name.empty() && name.size() <= kLongestName)
    state.interfaces_listed[std::string(name)] |= up;
}

// "(WorkerDict pid=211530) CUDA_VISIBLE_DEVICES=5"
void read_sole_gpu(LogState& state, std::string_view line) {
  constexpr std::size_t kMost = 1024;
  const auto process = number_after(line, "pid=");
  const std::string_view value = trim(word_after(line, "CUDA_VISIBLE_DEVICES="));
  if (!process || !parse_number<int>(value)) return;
  if (state.sole_gpu.size() >= kMost && !state.sole_gpu.contains(std::string(value))) return;
  if (auto& known = state.sole_gpu[std::string(value)]; known.size() < kMost) known.insert(*process);
}

// "shm              64M   64M     0 100% /dev/shm", as df -h prints it: the second column is the size.
void read_shm(LogState& state, std::string_view line) {
  const auto columns = words(line.substr(0, 256));
  if (columns.size() < 6 || columns.back() != "/dev/shm" || !columns[4].ends_with('%')) return;
  const std::string_view size = columns[1];
  const auto number = parse_real(size.substr(0, size.find_first_of("KMGTPi")));
  if (!number) return;
  const bool gibibytes = size.find_first_of("GTP") != std::string_view::npos;
  const bool mebibytes = size.find('M') != std::string_view::npos;
  constexpr double kSmall = 512;  // MiB; NCCL takes some 33 MiB for each pair of ranks
  const bool large = gibibytes || (mebibytes && *number > kSmall);
  if (gibibytes || mebibytes) state.keep_sight(large ? state.shm_large : state.shm_small, line);
}

// "        8             2     float     sum      -1    13.65    0.00    0.00      0 …": sizes, times, rates, errors
bool is_result_of_tests(std::string_view line) {
  constexpr int kNumbers = 7;
  const auto columns = words(line.substr(0, 512));
  return std::ranges::count_if(columns, [](std::string_view word) { return parse_real(word).has_value(); }) >=
         kNumbers;
}

// "active_mtu:             4096 (5)", as ibv_devinfo prints it.
void read_active_mtu(LogState& state, std::string_view line) {
  constexpr std::size_t kMost = 4096;
  const auto columns = words(line.substr(0, 256));
  const auto mtu = columns.size() > 1 ? parse_number<int>(columns[1]) : std::nullopt;
  if (!mtu || columns[0] != "active_mtu:") return;
  if (state.active_mtus.size() >= kMost && !state.active_mtus.contains(state.file)) return;
  if (auto& known = state.active_mtus[state.file]; known.size() < kMost) known.insert(*mtu);
}

}  // namespace

std::span<const Question> nccl_questions() { return kQuestions; }

std::span<const Opposites> nccl_opposites() { return kOpposites; }

void LogState::keep_sight(LogSight& sight, std::string_view text) const {
  if (sight.line == 0)
    sight = {file, log.lines - lines_before, std::string(trim(text).substr(0, kLongestSight))};
}

void LogState::read_sights(std::string_view line) {
  static const Phrases worth({" UP ", " DOWN ", " UNKNOWN ",
                              "CUDA_VISIBLE_DEVICES=", "active_mtu:", "] NVIDIA ", ": NVIDIA ", "MIG", "lock",
                              "LOCK", " nGpus ", ": Test failure ", " /dev/shm", "(elements)"});
  if (awaits_result && is_result_of_tests(line)) awaits_result = false;
  if (!worth.any_in(line)) return;
  const auto has = [&](std::string_view words) { return line.find(words) != std::string_view::npos; };
  if (has("(elements)") && has("(us)")) awaits_result = true;
  if (has(" UP ") || has(" DOWN ") || has(" UNKNOWN ")) read_interface(*this, line);
  if (has("CUDA_VISIBLE_DEVICES=") && has("pid=")) read_sole_gpu(*this, line);
  if (has("active_mtu:")) read_active_mtu(*this, line);
  if (has("% /dev/shm")) read_shm(*this, line);
  // "drwxr-xr-x 2 root root 40 Nov  3 10:12 /dev/shm", of ls -ld
  if (has(" /dev/shm") && line.starts_with('d') && trim(line).ends_with(" /dev/shm"))
    keep_sight(shm_mode, line);
  // "#  Rank  0 Group  0 Pid 4 on node1 device  0 [0x01] NVIDIA GB200", of nccl-tests and of nvidia-smi -L
  if ((has(" device ") && has("] NVIDIA ")) || has(": NVIDIA ")) keep_sight(gpu_model, line);
  if (has("MIG") && names_slice(line)) keep_sight(mig, line);
  if ((has("lock") || has("LOCK")) && !advises(line)) {
    const Memlock limit = memlock_in(line);
    if (limit == Memlock::kUnlimited) keep_sight(memlock_unlimited, line);
    if (limit == Memlock::kLimited) keep_sight(memlock_limited, line);
  }
  // "# nThread 1 nGpus 8 minBytes …", then of each process that fails " .. g0010 pid 8386: Test failure common.cu:891".
  if (const auto gpus = number_after(line, " nGpus "); gpus && has("nThread ")) {
    const int threads = number_after(line, "nThread ").value_or(1);
    tests_gpus = std::clamp(*gpus, 0, 1024) * std::clamp(threads, 0, 1024);
    keep_sight(tests_shape, line);
  }
  if (!has(": Test failure ")) return;
  Scan scan(line);
  if (!scan.skip_past(".. ")) return;
  const std::string host(scan.until(" "));
  const auto process = number_after(scan.rest(), "pid ");
  if (!process || (tests_failed.size() >= kMostHosts && !tests_failed.contains(host))) return;
  if (auto& known = tests_failed[host]; known.size() < kMostOnOneHost) known.insert(*process);
}

}  // namespace railbed::diagnose
