// Turns the collected data into results for the user: sorted problems, the hang, the verdict.
//
// A text shows the first symptom in the table whose words it all contains and whose kind of source it has.
// Texts of one symptom are one problem: it keeps the first text with its line, a warning rather than an INFO, and counts the others with
// their hosts and ranks. A warning that matches no row is a problem of its own kind. An INFO text counts at
// most as a warning, since NCCL still tries to recover.
//
// One fault causes different messages on many ranks, and the log's order shows little about cause and effect,
// since hosts write at their own pace. So problems are sorted by severity, then causes before consequences of
// other problems, then by their rows in the table, whose first are the most informative. The verdict
// (run.cc) is the first cause, or the hang (hang.cc), or a consequence if there is nothing better.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/phrases.h"
#include "base/text.h"
#include "diagnose/log/scan.h"
#include "diagnose/log/state.h"

namespace railbed::diagnose {
namespace {

constexpr std::size_t kMostProblems = 256;
constexpr std::size_t kLongestText = 2048;  // NCCL writes into a buffer of 1024

// Returns the ibv_wc_status in "status=12", "error 12," or "status=IBV_WC_RETRY_EXC_ERR(12)" of NCCL, and in
// "Failed status 12:" or "Failed status-transport retry counter exceeded (12):" of perftest and ibv_rc_pingpong.
std::optional<int> completion_status(std::string_view text) {
  Scan scan(text);
  if (scan.skip_past("Failed status")) {
    scan.take(" ");
    if (const auto number = scan.number()) return number;
    if (const auto number = number_after(scan.rest(), "(")) return number;
    return number_after(scan.rest(), "status=");
  }
  if (!scan.skip_past("Got completion")) return std::nullopt;
  if (scan.skip_past("status=IBV_")) return number_after(scan.rest(), "(");
  if (scan.skip_past("status=") || scan.skip_past("error ")) return scan.number();
  return std::nullopt;
}

const Symptom* symptom_of(const LogProblem& problem) {
  const std::vector<Symptom>& symptoms = all_symptoms();
  const auto found = std::ranges::find(symptoms, problem.symptom, &Symptom::id);
  return problem.symptom.empty() || found == symptoms.end() ? nullptr : &*found;
}

bool matches(const Symptom& symptom, std::string_view text, const std::string& status) {
  for (const std::string_view word : symptom.words) {
    if (word.empty()) continue;
    if (word.starts_with('<') ? word != status : text.find(word) == std::string_view::npos) return false;
  }
  return true;
}

// The index of the rows by their first words.
const Phrases& first_words() {
  static const Phrases phrases = [] {
    std::vector<std::string_view> words;
    for (const Symptom& symptom : all_symptoms()) words.push_back(symptom.words.front());
    return Phrases(words);
  }();
  return phrases;
}

}  // namespace

bool is_aside(const LogProblem& problem) {
  const Symptom* symptom = symptom_of(problem);
  return symptom != nullptr && symptom->role == Role::kAside;
}

const Symptom* LogState::find_symptom(std::string_view text, bool nccl, bool warning) {
  const std::vector<Symptom>& symptoms = all_symptoms();
  const Symptom* found = nullptr;
  std::optional<std::string> status;
  first_words().visit(text, [&](std::size_t index) {
    const Symptom& symptom = symptoms[index];
    if (found != nullptr && &symptom >= found && symptom.role != Role::kSight) return;
    if (symptom.said == Said::kWarning && !warning) return;
    if (symptom.said == Said::kNccl && !nccl) return;
    if (!status) {
      const auto number = completion_status(text);
      status = number ? fmt::format("<status {}>", *number) : "";
    }
    if (!matches(symptom, text, *status)) return;
    if (symptom.role == Role::kSight)
      keep_sight(seen[symptom.id], text);
    else
      found = &symptom;
  });
  return found;
}

namespace {

// Returns a problem with count 0. Without a symptom, NCCL's own message is its title.
LogProblem new_problem(const Symptom* symptom, std::string_view text, const std::string& file,
                       std::uint64_t line) {
  LogProblem problem;
  problem.id = symptom != nullptr ? symptom->id : "other";
  problem.symptom = symptom != nullptr ? symptom->id : "";
  problem.title = symptom != nullptr ? symptom->title : text;
  problem.message = text;
  problem.file = file;
  problem.line = line;
  problem.severity = Severity::kNote;
  if (symptom == nullptr) return problem;
  problem.consequence = symptom->role == Role::kEcho;
  problem.source = symptom->source;
  return problem;
}

std::string id_of(const Symptom* symptom, std::string_view text) {
  return symptom != nullptr ? std::string(symptom->id) : "other: " + std::string(text.substr(0, 60));
}

std::size_t order_of(const LogProblem& problem) {
  const std::vector<Symptom>& symptoms = all_symptoms();
  if (problem.symptom.empty() && problem.id != "other") return 0;  // concluded from several lines
  const Symptom* symptom = symptom_of(problem);
  return symptom == nullptr ? symptoms.size() : static_cast<std::size_t>(symptom - symptoms.data());
}

void sort_problems(std::vector<LogProblem>& problems) {
  std::ranges::stable_sort(problems, [](const LogProblem& a, const LogProblem& b) {
    if (a.severity != b.severity) return a.severity > b.severity;
    if (a.consequence != b.consequence) return b.consequence;
    if (is_aside(a) != is_aside(b)) return is_aside(b);
    return order_of(a) < order_of(b);
  });
}

}  // namespace

bool LogState::read_symptom(std::string_view text, const LogProcess* process, const LogRank* rank,
                            bool warning) {
  text = text.substr(0, kLongestText);
  const Symptom* const found = find_symptom(text, process != nullptr || warning, warning);
  if (found == nullptr && !warning) return false;
  const std::string id = id_of(found, text);
  const auto [place, added] = problem_places.try_emplace(id, log.problems.size());
  if (added) {
    if (log.problems.size() >= kMostProblems) {
      problem_places.erase(place);
      return false;
    }
    log.problems.push_back(new_problem(found, trim(text), file, log.lines - lines_before));
    concerned.emplace_back();
  }
  LogProblem& problem = log.problems[place->second];
  ++problem.count;
  // After an INFO text NCCL still tries to recover ("retrying").
  const Severity whole = found != nullptr ? found->severity : Severity::kWarning;
  const Severity now = warning || process == nullptr ? whole : std::min(whole, Severity::kWarning);
  problem.severity = std::max(problem.severity, now);
  LogConcerned& whom = concerned[place->second];
  if (warning && !std::exchange(whom.warned, true) && !added) {
    problem.message = trim(text);
    problem.file = file;
    problem.line = log.lines - lines_before;
  }
  if (process != nullptr && !whom.hosts.contains(process->host) && has_room())
    whom.hosts.insert(process->host);
  if (rank != nullptr && !whom.ranks.contains(rank->rank) && has_room()) whom.ranks.insert(rank->rank);
  return found != nullptr && (found->severity == Severity::kNote || found->role == Role::kAside);
}

void LogState::read_quoted(std::string_view text) {
  text = text.substr(0, kLongestText);
  if (text.empty() || problem_places.contains(id_of(find_symptom(text, true, true), text))) return;
  read_symptom(text, nullptr, nullptr, true);
}

namespace {

// The names of the devices that carry network connections, by the number that NCCL gives them on their host.
class NicNames {
 public:
  explicit NicNames(const Log& log) {
    const bool socket = log.networks.size() == 1 && log.networks.front().name == "Socket";
    std::unordered_map<std::string_view, int> count;
    if (socket) {
      for (const LogInterface& interface : log.interfaces)
        if (interface.data) names_.try_emplace({interface.host, count[interface.host]++}, interface.name);
    } else {
      for (const LogNic& nic : log.nics) names_.try_emplace({nic.host, nic.index}, nic.device);
    }
  }
  std::string of(const LogRank& rank, const std::string& number) const {
    const auto index = parse_number<int>(number);
    const auto found = index ? names_.find({rank.host, *index}) : names_.end();
    return found == names_.end() ? "NIC " + number : std::string(found->second);
  }

 private:
  std::map<std::pair<std::string_view, int>, std::string_view> names_;
};

// Moves the data that was collected while reading into the lists of the result.
void gather(LogState& state) {
  Log& log = state.log;
  log.processes = state.processes.size();
  std::unordered_set<std::string_view> hosts;
  for (const LogProcess& process : state.processes)
    if (hosts.insert(process.host).second) log.hosts.push_back(process.host);
  for (std::size_t i = 0; i < state.concerned.size(); ++i) {
    log.problems[i].hosts.assign(state.concerned[i].hosts.begin(), state.concerned[i].hosts.end());
    log.problems[i].ranks.assign(state.concerned[i].ranks.begin(), state.concerned[i].ranks.end());
  }
  std::map<std::string, std::uint64_t> networks;
  for (const LogProcess& process : state.processes)
    for (const std::string& name : process.networks) ++networks[name];
  for (const auto& [name, count] : networks) log.networks.push_back({name, count});
  for (const auto& [key, processes] : state.variables)
    log.variables.push_back({key.first, key.second, processes.size()});
  for (auto& [key, nic] : state.nics) log.nics.push_back(std::move(nic));
  std::ranges::stable_sort(log.nics, [](const LogNic& a, const LogNic& b) {
    return std::tie(a.host, a.index, a.port) < std::tie(b.host, b.index, b.port);  // merged ones first
  });
  const NicNames names(log);
  for (LogCommunicator& communicator : log.communicators)
    for (LogRank& rank : communicator.ranks)
      for (std::string& nic : rank.nics) nic = names.of(rank, nic);
  for (auto& [number, rank] : state.torch) log.torch.push_back(std::move(rank));
  std::ranges::sort(log.choices, [](const LogChoice& a, const LogChoice& b) {
    return std::tie(a.function, a.from_bytes) < std::tie(b.function, b.from_bytes);
  });
  for (LogCommunicator& communicator : log.communicators)
    std::ranges::sort(communicator.ranks, {}, &LogRank::rank);
  std::ranges::stable_sort(log.communicators, std::ranges::greater(), &LogCommunicator::size);
  sort_problems(log.problems);
}

// Counts the nodes of communicators for which no line does. NCCL prints nNodes since 2.20; before, and where
// the line was cut, the hosts of the ranks tell, if each rank is in the log. Connections through the network
// refute a single host: two machines may have one name.
void count_nodes(Log& log) {
  for (LogCommunicator& communicator : log.communicators) {
    if (communicator.nodes != 0 || std::ssize(communicator.ranks) != communicator.size) continue;
    const std::size_t hosts = hosts_of(communicator).size();
    const bool networked = std::ranges::any_of(
        communicator.connections,
        [](const LogConnections& connections) { return connections.via.starts_with("NET/"); });
    if (hosts > 1 || !networked) communicator.nodes = static_cast<int>(hosts);
  }
}

// Adds a problem if two hosts announce the same address of a bridge. Docker and similar programs give the
// bridge of every host the same address, so ranks that announce it connect to themselves.
void judge_addresses(Log& log) {
  // For each address the first interface, and the first one on another host.
  std::unordered_map<std::string_view, std::pair<const LogInterface*, const LogInterface*>> first;
  for (const LogInterface& interface : log.interfaces) {
    auto& [here, elsewhere] = first[interface.address];
    if (here == nullptr)
      here = &interface;
    else if (elsewhere == nullptr && interface.host != here->host)
      elsewhere = &interface;
  }
  for (const LogInterface& interface : log.interfaces) {
    const bool link_local = interface.address.starts_with("169.254.");
    if (!is_bridge(interface.name) && !link_local) continue;
    const auto& [here, elsewhere] = first[interface.address];
    const LogInterface* const twin = here->host != interface.host ? here : elsewhere;
    if (twin == nullptr) continue;
    LogProblem& problem = log.problems.emplace_back();
    problem.id = "same-address";
    problem.certainty = Certainty::kCause;
    problem.severity = Severity::kError;
    problem.title = fmt::format("Hosts announce one address: {} of {} on {} and on {}", interface.address,
                                interface.name, interface.host, twin->host);
    problem.message = "the \"Using\" lines of both hosts";
    problem.count = 1;
    problem.hosts = {interface.host, twin->host};
    problem.cause =
        link_local
            ? "NCCL chose an interface with a link-local address, such as a BMC's own USB network: every host has "
              "the same one, and each host reaches itself there."
            : "NCCL chose an interface that has the same address on every host, as a bridge of Docker or "
              "libvirt has.";
    problem.remedy =
        "Name the interface of the nodes' own network on all of them: NCCL_SOCKET_IFNAME==eth0, or leave out the bridge: "
        "NCCL_SOCKET_IFNAME=^docker,lo,virbr.";
    problem.source = "NCCL user guide, Environment Variables";
    return;
  }
}

// Sets whether GPUDirect RDMA is on, off or partly on, from the network connections that use it, except those
// over sockets; its route; and the reasons if not all connections use it.
void judge_gpudirect(LogState& state) {
  Log& log = state.log;
  std::uint64_t through_rdma = 0;
  std::uint64_t direct = 0;
  for (const LogCommunicator& communicator : log.communicators)
    for (const LogConnections& connections : communicator.connections) {
      if (!connections.via.starts_with("NET/") || connections.via == "NET/Socket") continue;
      through_rdma += connections.count;
      direct += connections.gpudirect;
    }
  if (through_rdma == 0) return;
  log.gpudirect = direct == 0 ? "off" : direct == through_rdma ? "on" : "partly";
  // NCCL's own IB network prints at INFO if it can use DMA-BUF; a plugin may not.
  const bool internal = log.networks.size() == 1 && log.networks.front().name == "IB";
  if (direct > 0 && (state.dma_buf || internal)) log.gpudirect_route = state.dma_buf ? "DMA-BUF" : "peermem";
  if (log.gpudirect == "on") log.gpudirect_why.clear();
  for (const LogVariable& variable : log.variables)
    if (log.gpudirect != "on" &&
        (variable.name == "NCCL_NET_GDR_LEVEL" || variable.name == "NCCL_NET_GDR_READ" ||
         variable.name == "NCCL_DMABUF_ENABLE"))
      log.gpudirect_why.push_back(fmt::format("{}={} is set", variable.name, variable.value));
  if (log.gpudirect != "on" && log.gpudirect_why.empty() && !state.network_lines)
    log.gpudirect_why.push_back("the log does not say why: run with NCCL_DEBUG_SUBSYS=INIT,NET,GRAPH");
}

// Adds a problem if ranks waited long for the last one in the first exchange of addresses.
void judge_start(Log& log) {
  constexpr double kLateSeconds = 10;
  for (const LogCommunicator& communicator : log.communicators) {
    Scan scan(communicator.slowest_init);
    const double waited = scan.skip_past("bootstrap ") ? scan.real().value_or(0) : 0;
    if (waited < kLateSeconds) continue;
    LogProblem& problem = log.problems.emplace_back();
    problem.id = "late-rank";
    problem.certainty = Certainty::kCause;
    problem.severity = Severity::kNote;
    problem.title = fmt::format("Ranks arrived up to {:.0f} s apart", waited);
    problem.message = communicator.slowest_init;
    problem.count = 1;
    problem.cause = "A rank came late to ncclCommInitRank: slow start, slow data loading, or a slow host.";
    problem.remedy = "Compare when each rank's first NCCL line appears.";
    problem.source = "NCCL \"Init timings\" (2.22)";
    return;
  }
}

// Adds a problem if GPUs exchange data by PCIe P2P below bridges that redirect it.
void judge_p2p(LogState& state) {
  const auto by_nvlink = [](const LogCommunicator& communicator) {
    return communicator.local_path == "NVL" || communicator.nvls_channels > 0;
  };
  if (!state.p2p || std::ranges::any_of(state.log.communicators, by_nvlink)) return;
  LogProblem problem;
  const Seen redirects = look_for("acs-on", state, problem);
  if (redirects.answer != Answer::kYes) return;
  problem.id = "p2p-acs";
  problem.certainty = Certainty::kLikely;
  problem.severity = Severity::kWarning;
  problem.title =
      "GPUs use P2P below PCIe bridges that redirect it (ACS): it hangs or crawls, and no message is printed";
  problem.message = redirects.evidence;
  problem.count = 1;
  problem.cause = "PCIe ACS sends what two GPUs exchange up to the root port instead of straight across.";
  problem.remedy =
      "Switch ACS redirection off on the bridges above the GPUs (railbed verify names them) and boot with iommu=pt.";
  problem.settle_by = "NCCL_P2P_DISABLE=1: if the job runs with it, this is the cause";
  problem.source = "NCCL user guide, PCI Access Control Services";
  state.log.problems.push_back(std::move(problem));
}

// Adds a note if a table shows slow PCIe links of GPUs that are idle, and none of a GPU at work.
void judge_idle_links(LogState& state) {
  const auto slow = state.seen.find("link-slow-idle");
  if (slow == state.seen.end() || state.seen.contains("link-slow-busy")) return;
  LogProblem problem;
  problem.id = "idle-link";
  problem.certainty = Certainty::kCause;
  problem.severity = Severity::kNote;
  problem.title = "GPUs show a lower PCIe generation than they have because they are idle, which is normal";
  problem.message = at_line(slow->second);
  problem.count = 1;
  problem.cause = "A GPU without work lowers the speed of its link to save power, and raises it under load.";
  problem.remedy =
      "Nothing. To be sure, look while the GPUs work: nvidia-smi "
      "--query-gpu=pstate,pcie.link.gen.gpucurrent,pcie.link.gen.gpumax --format=csv -l 1.";
  problem.source = "github.com/NVIDIA/open-gpu-kernel-modules/issues/731";
  state.log.problems.push_back(std::move(problem));
}

}  // namespace

bool is_bridge(std::string_view name) {
  constexpr std::string_view kBridges[] = {"docker", "virbr", "br-", "cni", "podman", "lxcbr", "lxdbr"};
  return std::ranges::any_of(kBridges, [&](std::string_view one) { return name.starts_with(one); });
}

std::set<std::string_view> hosts_of(const LogCommunicator& communicator) {
  std::set<std::string_view> hosts;
  for (const LogRank& rank : communicator.ranks) hosts.insert(rank.host);
  return hosts;
}

void conclude(LogState& state) {
  judge_addresses(state.log);
  settle_launch(state);  // launcher_lines.cc
  gather(state);
  count_nodes(state.log);
  judge_gpudirect(state);
  judge_start(state.log);
  judge_p2p(state);
  judge_idle_links(state);
  find_causes(state);  // causes.cc
  judge_hang(state);   // hang.cc
  judge_run(state);    // run.cc
  judge_slow(state);   // slow.cc
}

}  // namespace railbed::diagnose
