// Reads what RDMA programs print, and the output of commands that people add to a log: ibv_devinfo, ibstat, lsmod,
// ls /dev/infiniband, ulimit -l, ibqueryerrors, docker inspect, dpkg -l.
//
// A line with a shell's prompt begins the output of a command. Its prompt shows whether the command ran on the host or
// in a container, where people write both.
#include <fmt/format.h>

#include <algorithm>
#include <bitset>

#include "base/phrases.h"
#include "base/text.h"
#include "diagnose/log/scan.h"
#include "diagnose/log/state.h"
#include "nccl/version.h"

namespace railbed::diagnose {
namespace {

using RdmaCommand = RdmaLines::Command;

constexpr std::size_t kMostRdmaPorts = 512;
constexpr std::size_t kMostRdmaRetryHosts = 64;
constexpr std::size_t kMostEfaZones = 8;
constexpr std::size_t kMostTestVersions = 8;
constexpr std::size_t kLongestShellPrompt = 64;
constexpr std::size_t kLongestRdmaName = 64;
constexpr std::size_t kLongestRdmaLine = 1024;

// Fewer errors on a link may be from the time when it was plugged in.
constexpr int kManyLinkErrors = 10;

// UCX numbers the requests of a queue; one with this number was sent after earlier ones were answered.
constexpr int kLateRequest = 64;

// read_rdma() reads only lines with one of these words.
enum RdmaWord : std::size_t {
  kHca,
  kMtu,
  kPortState,
  kIbstatState,
  kModules,
  kNvidiaModule,
  kPeerMem,
  kDevices,
  kMemoryPeers,
  kUlimit,
  kInspect,
  kPrivileged,
  kLinkError,
  kPhysicalError,
  kLinkSummary,
  kAddress,
  kGid,
  kRequest,
  kRetry,
  kVerbsPackage,
  kLinkLayer,
  kZone,
  kGpuName,
  kMappedGid,
  kIbstatusState,
  kLinkState,
  kPort,
  kVersionOption,
  kAdapterName,
  kNodeGuid,
  kNodeGuidField,
  kZeroGuid,
  kLinkLocalGid,
  kGidTable,
  kGetconf,
  kRdmaWordCount
};

constexpr std::string_view kRdmaWords[kRdmaWordCount] = {
    "hca_id:",
    "active_mtu:",
    "PORT_",
    "State: ",
    "lsmod",
    "nvidia",
    "nv_peer_mem",
    "/dev/infiniband",
    "memory_peers",
    "ulimit",
    "inspect",
    "rivileged",
    "Errors == ",
    "Counter == ",
    "nodes checked, ",
    " address: LID",
    "GID:",
    " wqe[",
    "(synd 0x15",
    "libibverbs",
    "link_layer:",
    "AvailabilityZone",
    "NVIDIA ",
    "0000:ffff:",
    "state: ",
    "physical_state ",
    "port:",
    "--version",
    "CA '",
    "Node GUID:",
    "node_guid:",
    "0000000000000000",
    "fe80:0000:",
    "GID[",
    "getconf",
};

using FoundWords = std::bitset<kRdmaWordCount>;

FoundWords rdma_words_of(std::string_view line) {
  static const Phrases phrases{std::span(kRdmaWords)};
  FoundWords found;
  phrases.visit(line, [&](std::size_t index) { found.set(index); });
  return found;
}

// Splits "root@node1:~# lsmod | grep peer" into prompt and command; the command is empty if the line has none.
std::pair<std::string_view, std::string_view> shell_command(std::string_view line) {
  const std::size_t at = line.find_first_of("$#");
  if (at == std::string_view::npos || at > kLongestShellPrompt || at + 1 >= line.size() ||
      line[at + 1] != ' ')
    return {};
  const std::string_view prompt = line.substr(0, at);
  if (!prompt.empty() && prompt.find(' ') != std::string_view::npos && !prompt.starts_with('[')) return {};
  return {prompt, trim(line.substr(at + 1))};
}

std::string first_word_of(std::string_view text) {
  const auto parts = words(text);
  return parts.empty() ? "" : std::string(parts.front().substr(0, kLongestRdmaName));
}

// Returns whether a GPU's name, without "NVIDIA ", is that of one made for data centers, which have GPUDirect RDMA.
bool is_data_center_gpu(std::string_view name) {
  constexpr std::string_view kNames[] = {"H100", "H200", "H800", "H20",   "A100",  "A800",  "A40", "A30",
                                         "B100", "B200", "B300", "GB200", "GB300", "GH200", "L40", "Tesla"};
  return std::ranges::any_of(kNames, [&](std::string_view known) { return name.starts_with(known); });
}

bool is_peer_module(std::string_view name) {
  return name == "nvidia_peermem" || name == "nv_peer_mem" || name == "efa_nv_peermem";
}

// Returns the largest number after "== " in "[PortRcvErrors == 48211] [SymbolErrorCounter == 2]".
int worst_counter(std::string_view line) {
  constexpr std::string_view kCounters[] = {"PortRcvErrors == ",      "PortRcvRemotePhysicalErrors == ",
                                            "SymbolErrorCounter == ", "LinkErrorRecoveryCounter == ",
                                            "LinkDownedCounter == ",  "LocalLinkIntegrityErrors == "};
  int worst = 0;
  for (const std::string_view counter : kCounters)
    worst = std::max(worst, number_after(line, counter).value_or(0));
  return worst;
}

// Returns the value after "privileged" in `"Privileged": false` and "privileged: true".
std::optional<bool> privileged_in(std::string_view line) {
  Scan scan(line);
  if (!scan.skip_past("rivileged")) return std::nullopt;
  std::string_view rest = scan.rest();
  rest.remove_prefix(std::min(rest.find_first_not_of("\"'"), rest.size()));
  if (!rest.starts_with(':') && !rest.starts_with('=')) return std::nullopt;
  rest = trim(rest.substr(1));
  if (rest.starts_with("false")) return false;
  return rest.starts_with("true") ? std::optional(true) : std::nullopt;
}

// Returns the host in the prompt "root@gpu01:~", "gpu01:~" or "[root@gpu01 ucx]"; empty if it names none.
std::string host_of_prompt(std::string_view prompt) {
  if (const auto at = prompt.find('@'); at != std::string_view::npos) prompt.remove_prefix(at + 1);
  const std::string_view host = prompt.substr(0, prompt.find_first_of(": ]"));
  return host.size() < prompt.size() && is_plain_word(host, kLongestRdmaName) ? std::string(host) : "";
}

// Keeps the device in "ibv_devinfo -d mlx5_0 | grep mtu", whose output does not name it, and the host of its prompt.
void read_rdma_question(RdmaLines& rdma, std::string_view prompt, std::string_view command) {
  rdma.asked_node.clear();
  rdma.asked_device.clear();
  const std::string_view device = word_after(command, " -d ");
  if (!command.starts_with("ibv_devinfo ") || !is_plain_word(device, kLongestRdmaName)) return;
  rdma.asked_node = host_of_prompt(prompt);
  rdma.asked_device = device;
}

// Reads the MTUs of ibv_devinfo.
void read_rdma_mtu(LogState& state, std::string_view text, const FoundWords& found) {
  RdmaLines& rdma = state.rdma;
  if (found[kHca]) rdma.device = first_word_of(text.substr(text.find("hca_id:") + 7));
  if (found[kPort] && text.starts_with("port:")) rdma.port = first_word_of(text.substr(5));
  if (found[kPortState] && has_text(text, "state:")) rdma.port_active = has_text(text, "PORT_ACTIVE");
  if (found[kMtu] && rdma.port_active && rdma.mtus.size() < kMostRdmaPorts) {
    const auto bytes = parse_number<int>(first_word_of(text.substr(text.find("active_mtu:") + 11)));
    if (!bytes) return;
    RdmaMtu& mtu = rdma.mtus.emplace_back();
    if (!rdma.device.empty()) {
      mtu.port = fmt::format("{}/{}", rdma.device, rdma.port);
    } else if (!rdma.asked_node.empty()) {
      mtu.node = rdma.asked_node;
      mtu.device = rdma.asked_device;
    }
    mtu.bytes = *bytes;
    std::string shown(text);
    if (!mtu.port.empty()) shown = fmt::format("{} active_mtu {}", mtu.port, *bytes);
    if (!mtu.node.empty()) shown = fmt::format("{} {} active_mtu {}", mtu.node, mtu.device, *bytes);
    state.keep_sight(mtu.sight, shown);
  }
}

// Reads states and link layers of ports: ibv_devinfo, ibstat, ibstatus, rdma link.
void read_rdma_port(LogState& state, std::string_view text, const FoundWords& found) {
  if (found[kHca] && state.rdma.device.starts_with("mlx5")) state.keep_sight(state.seen["hca-mlx5"], text);
  if (found[kLinkLayer])
    state.keep_sight(state.seen[has_text(text, "InfiniBand") ? "link-infiniband" : "link-ethernet"],
                     fmt::format("{} {}", state.rdma.device, text));
  // ibstatus: "state: 4: ACTIVE"; rdma link: "link mlx5_0/1 state ACTIVE physical_state LINK_UP"
  if ((found[kIbstatusState] && text.ends_with("4: ACTIVE")) ||
      (found[kLinkState] && has_text(text, "state ACTIVE")))
    state.keep_sight(state.seen["port-active"], text);
  if ((found[kIbstatusState] && text.starts_with("state:") && text.ends_with("1: DOWN")) ||
      (found[kLinkState] && has_text(text, "state DOWN")))
    state.keep_sight(state.seen["port-not-active"], text);
  if (found[kPortState] && has_text(text, "state:")) {
    if (has_text(text, "PORT_ACTIVE")) state.keep_sight(state.seen["port-active"], text);
    if (has_text(text, "PORT_DOWN") || has_text(text, "PORT_INIT"))
      state.keep_sight(state.seen["port-not-active"], text);
  }
  if (found[kIbstatState] && text.starts_with("State: ")) {
    if (text == "State: Active") state.keep_sight(state.seen["port-active"], text);
    if (text == "State: Down" || text == "State: Initializing")
      state.keep_sight(state.seen["port-not-active"], text);
  }
}

// Returns whether a device of this name has a GUID: EFA's, which udev may call rdmap…, has none.
bool has_guid(std::string_view device) {
  return !device.empty() && !device.starts_with("efa") && !device.starts_with("rdmap");
}

// Reads GUIDs of devices: ibstat, ibv_devinfo, ibv_devices.
void read_rdma_guid(LogState& state, std::string_view text, const FoundWords& found) {
  const auto keep = [&](std::string_view device, bool zero) {
    if (has_guid(device))
      state.keep_sight(state.seen[zero ? "guid-zero" : "guid-of-device"], fmt::format("{} {}", device, text));
  };
  if (found[kAdapterName] && text.starts_with("CA '")) {
    Scan scan(text);
    scan.take("CA '");
    state.rdma.adapter = scan.until("'").substr(0, kLongestRdmaName);
  }
  if (found[kNodeGuid] && text.starts_with("Node GUID:"))
    keep(state.rdma.adapter, text.ends_with("0x0000000000000000"));
  if (found[kNodeGuidField] && text.starts_with("node_guid:"))
    keep(state.rdma.device, text.ends_with("0000:0000:0000:0000"));
  if (found[kZeroGuid]) {
    const auto parts = words(text);
    if (parts.size() == 2 && parts[1] == "0000000000000000") keep(parts[0], true);
  }
}

// Reads modules for peer memory: lsmod, /sys.
void read_peer_modules(LogState& state, std::string_view text, const FoundWords& found, bool is_command) {
  if (found[kNvidiaModule] || found[kPeerMem]) {
    const auto parts = words(text);
    const bool is_row =
        parts.size() >= 3 && is_digits(parts[1]) && parts[1].size() >= 4 && is_digits(parts[2]);
    const bool uses =
        parts.size() >= 4 && (has_text(parts[3], "peermem") || has_text(parts[3], "nv_peer_mem"));
    if (is_row && (is_peer_module(parts[0]) || (parts[0] == "nvidia" && uses))) {
      state.seen.erase("peermem-absent");
      state.keep_sight(state.seen["peermem-loaded"], text);
    } else if (is_row && parts[0] == "nvidia" && !state.seen.contains("peermem-loaded")) {
      state.keep_sight(state.seen["peermem-absent"], fmt::format("{} (without nvidia_peermem)", text));
    }
    const bool no_module = has_text(text, "cannot access") || has_text(text, "No such file");
    if (has_text(text, "/sys/module/nvidia_peermem") && no_module)
      state.keep_sight(state.seen["peermem-absent"], text);
    if (has_text(text, "modprobe: FATAL") && has_text(text, "peermem"))
      state.keep_sight(state.seen["peermem-absent"], text);
  }
  if (found[kMemoryPeers] && !is_command)
    state.keep_sight(
        state.seen[has_text(text, "No such file") ? "memory-peers-absent" : "memory-peers-present"], text);
}

// Reads limits, rights and packages of the process and its container.
void read_surroundings(LogState& state, std::string_view text, const FoundWords& found) {
  if (found[kDevices] && has_text(text, "No such file"))
    state.keep_sight(state.seen[state.rdma.on_host ? "no-uverbs-on-host" : "no-dev-infiniband"], text);
  if (found[kUlimit] && !has_text(text, "login")) {
    // "in the job: ulimit -l -> 64"
    Scan scan(text);
    if (scan.skip_past("ulimit ") && scan.skip_past("-l")) {
      std::string_view value = trim(scan.rest());
      const bool shows = value.starts_with("->") || value.starts_with(':') || value.starts_with('=');
      value.remove_prefix(std::min(value.find_first_not_of("-> :="), value.size()));
      if (shows && value.starts_with("unlimited")) state.keep_sight(state.memlock_unlimited, text);
      if (shows && !value.empty() && is_digit(value.front())) state.keep_sight(state.memlock_limited, text);
    }
  }
  if (found[kPrivileged])
    if (const auto privileged = privileged_in(text))
      state.keep_sight(state.seen[*privileged ? "container-privileged" : "container-unprivileged"], text);
  if (found[kVerbsPackage]) {
    const auto parts = words(text);
    const bool deb = parts.size() >= 3 && parts[0] == "ii" && parts[1].starts_with("libibverbs1");
    const bool rpm =
        parts.size() == 1 && text.starts_with("libibverbs-") && text.size() > 11 && is_digit(text[11]);
    if (deb || rpm)
      state.keep_sight(
          state.seen[has_text(deb ? parts[2] : text, "mlnx") ? "ofed-rdma-core" : "distro-rdma-core"], text);
  }
}

// Keeps the kind of a GID at its index.
void keep_gid(LogState& state, int index, std::string_view gid, std::string_view text) {
  constexpr int kMostGids = 4096;
  if (index < 0 || index >= kMostGids) return;
  if (!gid.starts_with("fe80:"))
    state.rdma.routable_gids.insert(index);
  else
    state.keep_sight(state.rdma.link_local_gids[index], text);
}

// Reads "GID[  1]:		fe80::ac0:ebff:fe12:3456, RoCE v2" of ibv_devinfo -v.
void read_gid_table(LogState& state, std::string_view text) {
  Scan scan(text);
  if (!scan.take("GID[")) return;
  const auto index = parse_number<int>(trim(scan.until("]")));
  if (!index || !scan.skip_past(":")) return;
  keep_gid(state, *index, trim(scan.rest()), text);
}

// Reads addresses of perftest, and GIDs of show_gids.
void read_rdma_test(LogState& state, std::string_view text, const FoundWords& found) {
  if (found[kGidTable]) read_gid_table(state, text);
  if (found[kMappedGid] || found[kLinkLocalGid]) {
    // "mlx5_1  1  0  fe80:0000:0000:0000:0a3b:53ff:fe77:1ce9  v1  ens2"
    constexpr std::size_t kLongGid = 39;
    constexpr int kMostGids = 1 << 16;
    const auto parts = words(text);
    if (parts.size() >= 5 && parts[3].size() == kLongGid && is_digits(parts[1]) && is_digits(parts[2])) {
      const int index = parse_number<int>(parts[2]).value_or(kMostGids);
      keep_gid(state, index, parts[3], text);
      if (index < kMostGids && (state.rdma.lowest_gid < 0 || index < state.rdma.lowest_gid)) {
        state.rdma.lowest_gid = index;
        state.rdma.lowest_gid_line = {};
        state.keep_sight(state.rdma.lowest_gid_line, text);
      }
    }
  }
  if (found[kMappedGid]) {
    // show_gids: "mlx5_1  1  3  0000:0000:0000:0000:0000:ffff:0a01:0102  10.1.1.2  v2  ens2"
    const auto parts = words(text);
    if (parts.size() >= 6 && is_digits(parts[1]) && is_digits(parts[2]) && parts[5] == "v2")
      state.keep_sight(state.seen["gid-roce-v2"], fmt::format("{} port {} has {} (v2) at GID index {}",
                                                              parts[0], parts[1], parts[4], parts[2]));
  }
  if (found[kAddress]) state.rdma.remote = text.starts_with("remote");
  if (found[kGid] && text.starts_with("GID:"))
    state.keep_sight(state.rdma.remote ? state.rdma.remote_gid : state.rdma.local_gid, text);
}

// Reads counters of ibqueryerrors and zones of AWS.
void read_fabric(LogState& state, std::string_view text, const FoundWords& found) {
  if ((found[kLinkError] || found[kPhysicalError]) && worst_counter(text) >= kManyLinkErrors)
    state.keep_sight(state.seen["ib-link-errors"], text);
  if (found[kLinkSummary] && has_text(text, ", 0 bad nodes found"))
    state.keep_sight(state.seen["ib-links-clean"], text);
  if (found[kZone] && state.rdma.zones.size() < kMostEfaZones) {
    // "AvailabilityZone": "eu-west-1a"
    Scan scan(text);
    if (scan.skip_past("AvailabilityZone\": \""))
      if (const std::string_view zone = scan.until("\""); is_plain_word(zone, kLongestRdmaName))
        state.rdma.zones.emplace(zone);
  }
}

// Reads the requests that UCX reports as lost.
void read_ucx_request(LogState& state, std::string_view text, const FoundWords& found) {
  if (found[kRequest] && has_text(text, "QP 0x")) {
    const int request = number_after(text, " wqe[").value_or(-1);
    for (const std::string_view name : {"dgid ", "rlid "}) {
      Scan target(text);
      if (target.skip_past(name) && state.rdma.retry_targets.size() < kMostRdmaRetryHosts)
        state.rdma.retry_targets.emplace(target.until(" ]").substr(0, kLongestRdmaName));
    }
    if (request == 0) state.keep_sight(state.seen["ucx-request-0"], text);
    if (request >= kLateRequest) state.keep_sight(state.seen["ucx-late-request"], text);
    if (has_text(text, "sgix ")) {
      if (has_text(text, "dgid fe80:"))
        state.keep_sight(state.seen["ucx-dgid-link-local"], text);
      else if (has_text(text, "dgid "))
        state.keep_sight(state.seen["ucx-routable"], text);
    }
  }
  if (found[kRetry] && state.rdma.retry_hosts.size() < kMostRdmaRetryHosts) {
    // "[node1:4711:0:4711] ib_mlx5_log.c:171 …", behind a launcher's prefix or not
    const std::size_t end = text.find("] ib_mlx5_log");
    const std::size_t begin = end == std::string_view::npos ? end : text.rfind('[', end);
    if (begin != std::string_view::npos) {
      Scan host(text.substr(begin + 1));
      state.rdma.retry_hosts.emplace(host.until(":]").substr(0, kLongestRdmaName));
    }
  }
}

// "iperf 3.7 (cJSON 1.5.2)"; "[SUM]   0.00-10.01  sec  7.57 GBytes  6.50 Gbits/sec                  receiver"
void read_iperf(LogState& state, std::string_view text) {
  RdmaLines& rdma = state.rdma;
  if (text.starts_with("iperf 3.")) {
    const auto version = number_after(text, "iperf 3.");
    if (version && *version > 0 && (rdma.iperf_version == 0 || *version < rdma.iperf_version))
      rdma.iperf_version = *version;
  } else if (text.starts_with("[SUM]") && text.ends_with("receiver")) {
    const auto end = text.find(" Gbits/sec");
    if (end == std::string_view::npos) return;
    const auto begin = text.find_last_of(' ', end - 1);
    const auto gigabits = parse_real(text.substr(begin + 1, end - begin - 1));
    if (!gigabits || *gigabits <= rdma.iperf_gigabits) return;
    rdma.iperf_gigabits = *gigabits;
    rdma.iperf = {};
    state.keep_sight(rdma.iperf, text);
  }
}

// Keeps the last row of a table of perftest: " 65536      5000             97.45              97.44  …".
void read_test_result(LogState& state, std::string_view line) {
  const auto has = [&](std::string_view words) { return line.find(words) != line.npos; };
  if (has("#bytes") && has("#iterations")) {
    state.rdma.in_test_table = true;
  } else if (state.rdma.in_test_table) {
    const auto columns = words(line.substr(0, 256));
    state.rdma.in_test_table =
        columns.size() >= 4 &&
        std::ranges::all_of(columns, [](std::string_view column) { return parse_real(column).has_value(); });
    if (!state.rdma.in_test_table) return;
    state.rdma.test_result = {};
    state.keep_sight(state.rdma.test_result, line);
  }
}

// The ibv_wc_status of a syndrome in a completion with error of the mlx5 adapters (PRM, CQE with error).
constexpr std::pair<unsigned, int> kMlx5Syndromes[] = {
    {0x01, 1}, {0x02, 2},  {0x04, 4},  {0x05, 5},  {0x06, 6},  {0x10, 7}, {0x11, 8},
    {0x12, 9}, {0x13, 10}, {0x14, 11}, {0x15, 12}, {0x16, 13}, {0x22, 16}};

// Reads "mlx5: gpu01: got completion with error:" and the four rows of four words that libmlx5 prints below it. The
// second word of the last row ends with the vendor's syndrome and the syndrome.
void read_mlx5_completion(LogState& state, std::string_view text) {
  constexpr int kRows = 4;  // of as many words
  if (text.ends_with("got completion with error:") && has_text(text, "mlx5: ")) {
    state.rdma.error_rows = kRows;
    return;
  }
  if (state.rdma.error_rows == 0) return;
  auto parts = words(text);
  if (parts.size() > kRows)
    parts.erase(parts.begin(), parts.end() - kRows);  // Ray's "(Actor pid=7, ip=10.0.0.2)"
  const bool is_row = parts.size() == kRows && std::ranges::all_of(parts, [](std::string_view word) {
                        return word.size() == 8 && word.find_first_not_of("0123456789abcdef") == word.npos;
                      });
  state.rdma.error_rows = is_row ? state.rdma.error_rows - 1 : 0;
  if (!is_row || state.rdma.error_rows > 0) return;
  const unsigned word = Scan(parts[1]).number<unsigned>(16).value_or(0);
  const auto known = std::ranges::find(kMlx5Syndromes, word & 0xffU, &std::pair<unsigned, int>::first);
  if (known == std::end(kMlx5Syndromes)) return;
  state.read_symptom(
      fmt::format("mlx5, completion with error {}: Failed status {}: wr_id not shown, syndrom 0x{:x}",
                  parts[1], known->second, word >> 8 & 0xffU),
      nullptr, nullptr, false);
}

// A list of opensm's processes that is empty: the next line is again a command.
void read_opensm_list(LogState& state, std::string_view text) {
  const std::string_view command = shell_command(text).second;
  if (state.rdma.asked_opensm && !command.empty()) state.keep_sight(state.seen["opensm-none"], text);
  state.rdma.asked_opensm =
      has_text(command, "opens") && (command.starts_with("ps ") || command.starts_with("pgrep "));
}

}  // namespace

// Reads a line with a prompt; an empty one ends the output of the last command.
void LogState::read_command(std::string_view line) {
  const auto [prompt, command] = shell_command(line);
  // "lsmod | grep peer" printed nothing before the next prompt.
  if (rdma.asks_peer) {
    seen.erase("peermem-loaded");
    keep_sight(seen["peermem-absent"], "lsmod lists no nvidia_peermem");
  }
  rdma.asks_peer = false;
  rdma.command = RdmaCommand::kOther;
  rdma.on_host = lower(prompt).find("host") != std::string::npos;
  if (has_text(command, "lsmod")) {
    rdma.command = RdmaCommand::kModules;
    // "# lsmod | grep peer" may be a comment.
    rdma.asks_peer = !line.starts_with('#') && has_text(command, "grep") && has_text(command, "peer") &&
                     !has_text(command, "|^");
  } else if (has_text(command, "ls ") && has_text(command, "/dev/infiniband")) {
    rdma.command = RdmaCommand::kDevices;
  } else if (has_text(command, "ulimit") && command.ends_with("-l")) {
    rdma.command = RdmaCommand::kLimit;
  } else if (command.starts_with("getconf PAGE")) {
    rdma.command = RdmaCommand::kPageSize;
  } else if (command.starts_with("ib_") && has_text(command, "--version")) {
    rdma.command = RdmaCommand::kVersion;
  } else if (has_text(command, "inspect") && has_text(command, "rivileged")) {
    rdma.command = RdmaCommand::kInspect;
  }
}

// Reads a line of the output of the command before it.
void LogState::read_output(std::string_view line) {
  const auto parts = words(line.substr(0, kLongestRdmaLine));
  if (parts.empty()) return;
  const bool is_row = parts.size() >= 3 && is_digits(parts[1]) && is_digits(parts[2]);
  if (rdma.asks_peer) {
    if (!is_row && !has_text(line, "peer")) {
      seen.erase("peermem-loaded");
      keep_sight(seen["peermem-absent"], "lsmod lists no nvidia_peermem");
    }
    rdma.asks_peer = false;
  }
  if (rdma.command == RdmaCommand::kLimit) {
    if (parts.front() == "unlimited")
      keep_sight(memlock_unlimited, "max locked memory unlimited (ulimit -l)");
    if (is_digits(parts.front()))
      keep_sight(memlock_limited, fmt::format("max locked memory {} KiB (ulimit -l)", parts.front()));
    rdma.command = RdmaCommand::kOther;
  } else if (rdma.command == RdmaCommand::kPageSize) {
    if (parts.front() == "4096") keep_sight(seen["pages-of-4k"], "pages of 4096 bytes (getconf PAGESIZE)");
    if (parts.front() == "65536") keep_sight(seen["pages-of-64k"], "pages of 65536 bytes (getconf PAGESIZE)");
    rdma.command = RdmaCommand::kOther;
  } else if (rdma.command == RdmaCommand::kVersion) {
    if (parts.size() == 2 && parts[0] == "Version:" && rdma.test_versions.size() < kMostTestVersions)
      rdma.test_versions.emplace(parts[1].substr(0, kLongestRdmaName));
    rdma.command = RdmaCommand::kOther;
  } else if (rdma.command == RdmaCommand::kInspect) {
    if (parts.front() == "false") keep_sight(seen["container-unprivileged"], line);
    if (parts.front() == "true") keep_sight(seen["container-privileged"], line);
    rdma.command = RdmaCommand::kOther;
  } else if (rdma.command == RdmaCommand::kDevices && has_text(line, "uverbs") && !has_text(line, "cannot")) {
    keep_sight(seen[rdma.on_host ? "uverbs-on-host" : "uverbs-here"], line);
  }
}

void LogState::read_rate(std::string_view line) {
  constexpr double kLarge = 1 << 16;  // smaller messages do not fill a link
  read_test_result(*this, line);
  read_iperf(*this, trim(line));
  for (const std::string_view test : {"ib_write_bw ", "ib_read_bw ", "ib_send_bw "})
    if (line.find(test) != std::string_view::npos)
      rdma.test_on_gpu = line.find("--use_cuda") != std::string_view::npos ||
                         line.find("--use_rocm") != std::string_view::npos;
  if (line.find("BW average[Gb/sec]") != std::string_view::npos) {
    rdma.in_gigabit_table = true;
  } else if (rdma.in_gigabit_table) {
    // " 1048576    15771            0.00               13.23              0.001577"
    const auto columns = words(line.substr(0, 256));
    const auto size = columns.size() >= 5 ? parse_real(columns[0]) : std::nullopt;
    const auto average = size ? parse_real(columns[3]) : std::nullopt;
    rdma.in_gigabit_table = average.has_value();
    if (!average || *size < kLarge) return;
    double& of_memory = rdma.test_on_gpu ? rdma.gpu_gigabits : rdma.host_gigabits;
    if (rdma.test_on_gpu && *average > of_memory) {
      rdma.measured_gpu = {};
      keep_sight(rdma.measured_gpu, line);
    }
    of_memory = std::max(of_memory, *average);
    if (*average <= rdma.measured_gigabits) return;
    rdma.measured_gigabits = *average;
    rdma.measured = {};
    keep_sight(rdma.measured, line);
  } else if (line.find("Speed: ") != std::string_view::npos) {
    const auto megabits = number_after(line, "Speed: ");
    if (megabits && *megabits > 0 && word_after(line, "Speed: ").ends_with("Mb/s"))
      rdma.link_gigabits = *megabits / 1000.0;
  } else if (line.find("Device         : roce") != std::string_view::npos) {
    rdma.measured_on_spark = line.find("rocep1s0f") != std::string_view::npos ||
                             line.find("roceP2p1s0f") != std::string_view::npos;
  }
}

void LogState::read_rdma(std::string_view line) {
  read_rate(line);
  line = line.substr(0, kLongestRdmaLine);
  const std::string_view text = trim(line);
  if (text.empty()) return;
  read_mlx5_completion(*this, text);
  read_opensm_list(*this, text);
  if (text.starts_with("local address:") && number_after<unsigned>(text, "LID 0x", 16).value_or(0) != 0)
    keep_sight(seen["test-link-ib"], text);  // ports of RoCE have no LID
  const FoundWords found = rdma_words_of(text);
  const auto [prompt, command] = shell_command(text);
  const bool is_command = !command.empty();
  if (is_command) read_rdma_question(rdma, prompt, command);
  if (is_command && (rdma.command != RdmaCommand::kOther || rdma.asks_peer || found.any())) {
    read_command(text);
  } else if (rdma.command != RdmaCommand::kOther || rdma.asks_peer) {
    read_output(text);
  }
  if (found.none()) return;
  read_rdma_mtu(*this, text, found);
  read_rdma_port(*this, text, found);
  read_rdma_guid(*this, text, found);
  read_peer_modules(*this, text, found, is_command);
  read_surroundings(*this, text, found);
  read_rdma_test(*this, text, found);
  read_fabric(*this, text, found);
  read_ucx_request(*this, text, found);
  if (found[kGpuName] && is_data_center_gpu(text.substr(text.find("NVIDIA ") + 7)))
    keep_sight(seen["gpu-data-center"], text);
}

}  // namespace railbed::diagnose
