// NCCL's variables on each node. The lint in src/nccl finds the problems; each rule covers one kind of its
// complaints.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "nccl/settings.h"
#include "verify/areas.h"
#include "verify/judge.h"
#include "verify/nccl_topics.h"

namespace railbed {
namespace {

// Returns the file of a location: "/etc/nccl.conf" of "/etc/nccl.conf:3".
std::string file_of(const nccl::Complaint& complaint) {
  return complaint.from.substr(0, complaint.from.rfind(':'));
}

bool is_variable_name(std::string_view name) {
  return !name.empty() && !is_digit(name.front()) && std::ranges::all_of(name, [](char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  });
}

Remedy remedy_of(const nccl::Complaint& complaint) {
  if (!complaint.better) return {complaint.remedy};
  const std::string& value = *complaint.better;
  if (complaint.from.empty())
    return {complaint.remedy, {command("echo {}={} >> /etc/nccl.conf", complaint.variable, value)}};
  if (complaint.from.ends_with(".service"))
    return {complaint.remedy + " Restart the service when no job runs.",
            {command("systemctl edit {}", complaint.from), command("systemctl restart {}", complaint.from)}};
  const std::string file = file_of(complaint);
  // A shell evaluates what follows a variable's name in brackets, quoted or not.
  if (!file.starts_with('/') && !is_variable_name(complaint.variable)) return {complaint.remedy};
  if (!file.starts_with('/'))
    return {complaint.remedy,
            {value.empty() ? command("unset {}", complaint.variable)
                           : command("export {}={}", complaint.variable, ShellQuoted{value})}};
  return {complaint.remedy,
          {command("sed -i.bak {} {}",
                   ShellQuoted{value.empty() ? fmt::format("/{}=/d", sed_pattern(complaint.variable))
                                             : fmt::format("s/{}=.*/{}={}/", sed_pattern(complaint.variable),
                                                           sed_replacement(complaint.variable),
                                                           sed_replacement(value))},
                   file)}};
}

// Returns the rails' devices in the form of the list; nullopt if cluster.yaml and the node give none.
std::optional<std::string> rails_as_list(const NodeView& node) {
  std::string names;
  for (const RailEnd& end : node.ends)
    if (end.rdma_rail() && end.rdma && end.for_gpus())  // without cluster.yaml it may be for storage
      names +=
          fmt::format("{}{}:{}", names.empty() ? "=" : ",", end.rdma.device->name, end.rdma.port->number);
  if (names.empty()) return std::nullopt;
  return names;
}

void tell(Case& verdict, const NodeView& node, nccl::Complaint complaint) {
  const std::string what = complaint.variable + (complaint.value.empty() ? "" : "=" + complaint.value);
  verdict.add_evidence(complaint.from.empty() ? "/etc/nccl.conf, the environment" : complaint.from);
  if (complaint.id == "no-such-device") complaint.better = rails_as_list(node);
  const bool gone = complaint.better && complaint.better->empty();
  verdict.red(complaint.severity == nccl::Severity::kError ? Status::kFail : Status::kWarn,
              {.message = fmt::format("{} on {} {}", what, *node.name, complaint.message),
               .expected = gone ? "unset" : complaint.better.value_or(complaint.remedy),
               .observed = complaint.value.empty() ? "unset" : complaint.value,
               .remedy = remedy_of(complaint)});
}

// Returns true after ending the case if a place that sets variables could not be read.
bool unreadable(Case& verdict, const Nccl& nccl) {
  for (const auto* place : {&nccl.environment, &nccl.profile, &nccl.user_file, &nccl.system_file})
    if (!place->ok() && !place->absent()) return verdict.read(*place) == nullptr;
  return false;
}

// The check function of every rule in kRules: reports the lint's complaints that belong to the rule.
void by_lint(const Survey& survey, Judge& judge) {
  const std::string_view rule = judge.rule().id;
  for (const NodeView& node : survey.nodes) {
    if (untold(node.facts->nccl) != nullptr) {
      (void)judge.on(node, "NCCL variables", node.nccl_touches).lacks_settings(node);
      continue;
    }
    bool red = false;
    for (const nccl::Complaint& complaint : node.nccl_complaints) {
      if (complaint.severity == nccl::Severity::kNote || nccl_rule_of(complaint) != rule) continue;
      Case verdict = judge.on(node, complaint.variable, node.nccl_touches);
      tell(verdict, node, complaint);
      red = true;
    }
    if (red) continue;
    Case verdict = judge.on(node, "NCCL variables", node.nccl_touches);
    if (unreadable(verdict, node.facts->nccl)) continue;
    if (rule == "nccl.traffic-class" && !node.expect().traffic_class)
      verdict.not_applicable("no traffic class is expected");
    else
      verdict.pass(fmt::format("{} set", node.nccl_variables));
  }
}

constexpr std::string_view kFiles =
    "/etc/nccl.conf, ~/.nccl.conf, $NCCL_CONF_FILE, /etc/profile.d/*.sh, /etc/environment, the environment";
constexpr std::string_view kUnits =
    "systemctl show of slurmd, containerd, docker, kubelet; /etc/nccl.conf, /etc/profile.d, the environment";

}  // namespace

std::span<const Rule> nccl_rules() {
  static const Rule kRules[] = {
      {.id = "nccl.rdma-on",
       .title = "NCCL may use RDMA",
       .why = "NCCL_IB_DISABLE (any number but 0) or NCCL_NET=Socket, left from a test, "
              "sends everything over TCP: the log says \"Using network Socket\" and nobody reads it.",
       .source = kFiles,
       .standard = "neither is set where the node has an active RDMA port",
       .remedy = "Remove the line.",
       .fixture = "v100-nccl-ib-disabled",
       .explained_by = {},
       .settings = {"nccl/variables"},
       .check = by_lint},
      {.id = "nccl.net-forced",
       .title = "NCCL_NET asks for a network that is there",
       .why = "NCCL_NET=IB forbids the fallback to TCP: without an active RDMA port NCCL does not start.",
       .source = kFiles,
       .standard = "NCCL_NET=IB only where an RDMA port is active",
       .remedy = "Bring a port up, or remove the line.",
       .fixture = "h200-nccl-net-forced",
       .explained_by = {"rdma.adapter-modules", "rdma.pci-device", "rdma.rail-device", "rdma.physical-state",
                        "rdma.port-state", "net.carrier"},
       .settings = {"nccl/variables"},
       .check = by_lint},
      {.id = "nccl.hca",
       .title = "NCCL_IB_HCA names devices that exist",
       .why = "A list that matches nothing leaves NCCL without RDMA; it falls back to TCP.",
       .source = kFiles,
       .standard = "each entry matches a device and port of this node, and something is left",
       .remedy = "Name the devices of the rails.",
       .fixture = "v100-nccl-hca-unknown",
       .explained_by = {"rdma.pci-device", "rdma.rail-device"},
       .settings = {"nccl/variables"},
       .check = by_lint},
      {.id = "nccl.hca-port",
       .title = "NCCL_IB_HCA selects active ports",
       .why = "NCCL leaves out a listed port that is not ACTIVE without a word; the job runs on fewer rails.",
       .source = kFiles,
       .standard = "each selected port is ACTIVE",
       .remedy = "Bring the port up, or take it off the list.",
       .fixture = "h100-nccl-hca-port",
       .explained_by = {"rdma.physical-state", "rdma.port-state", "rdma.subnet-manager", "net.carrier",
                        "net.admin-up"},
       .settings = {"nccl/variables"},
       .check = by_lint},
      {.id = "nccl.hca-exact",
       .title = "NCCL_IB_HCA means what it says",
       .why = "Names are prefixes: mlx5_1 also takes mlx5_10 to mlx5_19, management ports among them.",
       .source = kFiles,
       .standard = "= before the list wherever a name is a prefix of another device",
       .remedy = "Write = before the list.",
       .fixture = "h100-nccl-hca-prefix",
       .explained_by = {},
       .settings = {"nccl/variables"},
       .check = by_lint},
      {.id = "nccl.gid-index",
       .title = "NCCL chooses the GID itself",
       .why = "The GID table is filled in the order in which addresses came up: "
              "a pinned index points elsewhere after a reboot.",
       .source = kFiles,
       .standard = "NCCL_IB_GID_INDEX unset; NCCL 2.21 and later choose by address family and RoCE version",
       .remedy = "Remove it.",
       .fixture = "v100-nccl-gid-pinned",
       .explained_by = {},
       .settings = {"nccl/variables"},
       .check = by_lint},
      {.id = "nccl.gid-entry",
       .title = "pinned GID is a RoCE v2 address",
       .why =
           "An empty entry makes no connection. "
           "RoCE v1 and link-local ones work inside one Ethernet segment and with peers that use the same kind; "
           "elsewhere sends end in error 12.",
       .source = "NCCL_IB_GID_INDEX; /sys/class/infiniband/*/ports/*/gids",
       .standard = "RoCE v2, neither empty nor fe80::",
       .remedy = "Remove NCCL_IB_GID_INDEX.",
       .fixture = "v100-nccl-gid-entry",
       .explained_by = {"rdma.gid"},
       .settings = {"nccl/variables"},
       .check = by_lint},
      {.id = "nccl.gid-range",
       .title = "NCCL_IB_ADDR_RANGE holds a GID of every port",
       .why = "Where no GID is in the range NCCL keeps entry 0, usually link-local.",
       .source = kFiles,
       .standard = "a range of NCCL_IB_ADDR_FAMILY with an address of each active RoCE port",
       .remedy = "Correct the range.",
       .fixture = "v100-nccl-gid-range",
       .explained_by = {"net.address", "rdma.gid"},
       .settings = {"nccl/variables"},
       .check = by_lint},
      {.id = "nccl.socket-interface",
       .title = "NCCL_SOCKET_IFNAME names an interface",
       .why = "NCCL meets its peers over TCP first, on this interface; when there is none, nothing starts.",
       .source = kFiles,
       .standard = "matches an interface that is up and has an address",
       .remedy = "Correct or remove it.",
       .fixture = "spark-nccl-socket-interface",
       .explained_by = {"net.interface", "net.admin-up", "net.carrier", "net.address"},
       .settings = {"nccl/variables"},
       .check = by_lint},
      {.id = "nccl.socket-interface-exact",
       .title = "NCCL_SOCKET_IFNAME means what it says",
       .why = "Names are prefixes: eth1 also takes eth10; and a name that is not there is skipped silently.",
       .source = kFiles,
       .standard = "= before the list wherever a name is a prefix of another; each name exists",
       .remedy = "Write =, and the names this node has.",
       .fixture = "h100-nccl-socket-interface-gone",
       .explained_by = {"net.interface"},
       .settings = {"nccl/variables"},
       .check = by_lint},
      {.id = "nccl.socket-interface-reach",
       .title = "NCCL_SOCKET_IFNAME leaves the node",
       .why = "Loopback, container bridges and veth pairs end inside the node: other nodes wait for ever.",
       .source = kFiles,
       .standard = "no lo, docker*, virbr*, veth*, br-*",
       .remedy = "Name the interface of the node's own address.",
       .fixture = "v100-nccl-socket-loopback",
       .explained_by = {},
       .settings = {"nccl/variables"},
       .check = by_lint},
      {.id = "nccl.gdr-level",
       .title = "NCCL_NET_GDR_LEVEL and NCCL_P2P_LEVEL are words",
       .why = "Integers are a legacy whose meaning moved when levels were added; an unknown word is ignored.",
       .source = kFiles,
       .standard = "LOC, NVL, PIX, PXB, PHB or SYS (NCCL user guide)",
       .remedy = "Write the word.",
       .fixture = "h100-nccl-gdr-integer",
       .explained_by = {},
       .settings = {"nccl/variables"},
       .check = by_lint},
      {.id = "nccl.retry-count",
       .title = "NCCL_IB_RETRY_CNT fits its field",
       .why = "InfiniBand gives the retry count three bits: 0 to 7.",
       .source = kFiles,
       .standard = "0 to 7",
       .remedy = "Set it to 7.",
       .fixture = "v100-nccl-retry",
       .explained_by = {},
       .check = by_lint},
      {.id = "nccl.timeout",
       .title = "NCCL_IB_TIMEOUT bears congestion and still ends",
       .why = "The wait is 4.096 µs · 2^value per try: small values end jobs with error 12 under congestion, "
              "large ones hide a dead link for minutes, 0 and 32 wait for ever.",
       .source = kFiles,
       .standard = "14 to 23; NCCL's default is 20 since 2.23 (the bounds are ours)",
       .remedy = "Set it to 20.",
       .fixture = "v100-nccl-timeout",
       .explained_by = {},
       .check = by_lint},
      {.id = "nccl.traffic-class",
       .title = "NCCL marks the lossless class",
       .why = "default_roce_tos marks only connections made by RDMA-CM. "
              "NCCL makes its own and takes NCCL_IB_TC.",
       .source = kFiles,
       .standard = "DSCP of NCCL_IB_TC = that of expect.traffic_class in cluster.yaml; not judged without it",
       .remedy = "Set NCCL_IB_TC.",
       .fixture = "h100-nccl-traffic-class",
       .explained_by = {},
       .settings = {"nccl/variables"},
       .check = by_lint},
      {.id = "nccl.ecn-bits",
       .title = "NCCL_IB_TC does not claim congestion",
       .why = "The lowest two bits are ECN's: 11 says \"congestion met\" of every packet, "
              "and senders slow down.",
       .source = kFiles,
       .standard = "lowest bits 00, or 10 for ECN-capable (RFC 3168)",
       .remedy = "Set it to 104, or to 106 for ECN-capable packets.",
       .fixture = "v100-nccl-ecn-bits",
       .explained_by = {},
       .check = by_lint},
      {.id = "nccl.value",
       .title = "NCCL's variables have values that NCCL takes",
       .why = "Numbers are read by strtoll: \"true\" is 0. A word that NCCL does not know is ignored, "
              "or since 2.24 keeps it from starting (NCCL_ALGO, NCCL_PROTO).",
       .source = kFiles,
       .standard = "kind and range of each variable (NCCL user guide)",
       .remedy = "Correct the value.",
       .fixture = "v100-nccl-value",
       .explained_by = {},
       .check = by_lint},
      {.id = "nccl.known-variable",
       .title = "NCCL knows the variables that are set",
       .why = "A misspelt variable does nothing, and nobody notices.",
       .source = kFiles,
       .standard = "in some release of NCCL from 2.3 to 2.30, or of a known plugin",
       .remedy = "Correct the name.",
       .fixture = "v100-nccl-unknown-variable",
       .explained_by = {},
       .check = by_lint},
      {.id = "nccl.removed-variable",
       .title = "NCCL still reads the variables that are set",
       .why = "A variable that NCCL dropped does nothing; what it was set for does not happen.",
       .source = kFiles,
       .standard = "in the NCCL of expect.nccl, else the installed one, else the newest known",
       .remedy = "Remove the line.",
       .fixture = "v100-nccl-removed-variable",
       .explained_by = {},
       .check = by_lint},
      {.id = "nccl.variable-version",
       .title = "NCCL is new enough for the variables that are set",
       .why = "An older NCCL ignores a variable that came later: the GID family, the range, "
              "subnet-aware routing.",
       .source = "libnccl.so.2; the files and environments that set variables",
       .standard = "in the NCCL of expect.nccl, else the installed one; not judged without either",
       .remedy = "Upgrade NCCL.",
       .fixture = "v100-nccl-old-library",
       .explained_by = {"nccl.version"},
       .check = by_lint},
      {.id = "nccl.file-syntax",
       .title = "NCCL's own files are written as NCCL reads them",
       .why = "nccl.conf is no shell script: quotes become part of the value, "
              "\"export\" and spaces part of the name.",
       .source = "/etc/nccl.conf, ~/.nccl.conf, $NCCL_CONF_FILE",
       .standard = "NAME=value from the first column (NCCL src/misc/param.cc)",
       .remedy = "Remove quotes, export and spaces.",
       .fixture = "v100-nccl-quoted",
       .explained_by = {},
       .check = by_lint},
      {.id = "nccl.set-once",
       .title = "NCCL's variables have one value",
       .why = "Two places disagree; which one wins depends on file and context. "
              "In NCCL's files the first line wins, in shells the last.",
       .source = kFiles,
       .standard = "no variable with two values",
       .remedy = "Keep one of them.",
       .fixture = "v100-nccl-set-twice",
       .explained_by = {},
       .check = by_lint},
      {.id = "nccl.contexts",
       .title = "services hand NCCL what login shells do",
       .why = "A job tried by hand works, and the same job from the scheduler gets another value.",
       .source = kUnits,
       .standard = "equal where both set a variable",
       .remedy = "Set it once, in /etc/nccl.conf.",
       .fixture = "h100-nccl-contexts",
       .explained_by = {},
       .check = by_lint},
      {.id = "nccl.conf-file",
       .title = "NCCL_CONF_FILE is read",
       .why = "When it names no file, ~/.nccl.conf is not read either.",
       .source = kFiles,
       .standard = "set in the environment, a whole path, a file that is there (2.23)",
       .remedy = "Correct the path.",
       .fixture = "v100-nccl-conf-file",
       .explained_by = {},
       .check = by_lint},
      {.id = "nccl.net-plugin",
       .title = "network plugin is there",
       .why = "NCCL goes on without a plugin that it cannot open, over a network that nobody chose.",
       .source = "NCCL_NET_PLUGIN beside ldconfig -p, or the file that it names",
       .standard =
           "in the loader's cache (as named, or libnccl-net-NAME.so); not judged where it cannot be read",
       .remedy = "Install it, or remove the name.",
       .fixture = "v100-nccl-net-plugin",
       .explained_by = {},
       .check = by_lint},
      {.id = "nccl.debug",
       .title = "NCCL's debug output is off by default",
       .why =
           "INFO on a thousand ranks fills disks and slows the start; dump files are written by every job.",
       .source = kFiles,
       .standard = "unset, VERSION or WARN in files that every job reads",
       .remedy = "Set it to WARN.",
       .fixture = "v100-nccl-debug",
       .explained_by = {},
       .check = by_lint},
      {.id = "nccl.paths-on",
       .title = "NCCL may use every path inside the node",
       .why = "NCCL_P2P_DISABLE keeps GPUs from NVLink, NCCL_SHM_DISABLE processes from shared memory.",
       .source = kFiles,
       .standard = "neither is 1 in files that every job reads",
       .remedy = "Remove the line.",
       .fixture = "v100-nccl-p2p-disabled",
       .explained_by = {},
       .check = by_lint},
      {.id = "nccl.algorithm-free",
       .title = "NCCL chooses algorithm and protocol",
       .why = "Forced for every job, one size gains and the others lose.",
       .source = kFiles,
       .standard = "NCCL_ALGO and NCCL_PROTO unset in files that every job reads",
       .remedy = "Remove the line.",
       .fixture = "v100-nccl-algorithm-forced",
       .explained_by = {},
       .check = by_lint},
      {.id = "nccl.cross-rails",
       .title = "NCCL keeps to its rails",
       .why = "NCCL_CROSS_NIC=1 lets a GPU send through another rail's NIC; "
              "rails that are subnets of their own meet only in a router, or nowhere.",
       .source = kFiles,
       .standard = "not 1 where cluster.yaml has two or more RDMA rails",
       .remedy = "Set it to 0.",
       .fixture = "h100-nccl-cross-rails",
       .explained_by = {},
       .settings = {"nccl/variables"},
       .check = by_lint},
  };
  return kRules;
}

}  // namespace railbed
