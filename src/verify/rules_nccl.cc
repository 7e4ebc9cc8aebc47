// What NCCL will be told on each node: variables that silently turn RDMA off, or pick the wrong port.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "verify/areas.h"
#include "verify/judge.h"

namespace railbed {
namespace {

// NCCL_IB_HCA and NCCL_SOCKET_IFNAME: [^][=]name[:port],… (NCCL user guide, environment variables).
struct NameList {
  bool exclude = false;
  bool exact = false;
  struct Entry {
    std::string name;
    std::optional<int> port;
  };
  std::vector<Entry> entries;

  bool matches(const Entry& entry, std::string_view name) const {
    return exact ? name == entry.name : name.starts_with(entry.name);
  }
};

NameList parse_names(std::string_view text) {
  NameList list;
  if (text.starts_with('^')) list.exclude = true, text.remove_prefix(1);
  if (text.starts_with('=')) list.exact = true, text.remove_prefix(1);
  for (const std::string_view piece : split(text, ',')) {
    const auto pair = key_value(piece, ':');
    const std::string_view name = pair ? pair->first : trim(piece);
    if (name.empty()) continue;
    list.entries.push_back({std::string(name), pair ? parse_number<int>(pair->second) : std::nullopt});
  }
  return list;
}

bool has_rdma_rail(const NodeView& node) {
  return std::ranges::any_of(node.ends, [](const RailEnd& end) { return end.wants_rdma() && end.rdma; });
}

std::vector<std::string> nccl_touches(const NodeView& node) {
  std::vector<std::string> touches = {"nccl"};
  for (const RailEnd& end : node.ends)
    if (end.rail != nullptr) touches.push_back("rail:" + end.rail->name);
  return touches;
}

// The variable, or null when it is not set: then the case has ended as passed.
const NcclVariable* set_variable(Case& one, const NodeView& node, std::string_view name) {
  const NcclVariable* variable = effective(node.facts->nccl, name);
  if (variable == nullptr)
    one.pass("unset");
  else
    one.add_evidence(variable->from);
  return variable;
}

// From "/etc/nccl.conf:3" the file alone.
std::string file_of(const NcclVariable& variable) { return std::string(split(variable.from, ':').front()); }

Remedy unset(const NcclVariable& variable, std::string_view text) {
  const std::string file = file_of(variable);
  if (!file.starts_with('/')) return {std::string(text), {fmt::format("unset {}", variable.name)}};
  return {std::string(text), {fmt::format("sed -i.bak '/{}=/d' {}", variable.name, file)}};
}

Remedy assign(const NcclVariable& variable, std::string_view value, std::string_view text) {
  const std::string file = file_of(variable);
  if (!file.starts_with('/'))
    return {std::string(text), {fmt::format("export {}='{}'", variable.name, value)}};
  return {std::string(text), {fmt::format("sed -i.bak 's/{0}=.*/{0}={1}/' {2}", variable.name, value, file)}};
}

void rdma_on(const Survey& survey, Judge& judge) {
  for (const NodeView& node : survey.nodes) {
    Case one = judge.on(node, "NCCL", nccl_touches(node));
    if (!has_rdma_rail(node)) {
      one.not_applicable("no rail with RDMA");
      continue;
    }
    const NcclVariable* disable = effective(node.facts->nccl, "NCCL_IB_DISABLE");
    const NcclVariable* net = effective(node.facts->nccl, "NCCL_NET");
    const NcclVariable* culprit = disable != nullptr && disable->value == "1"       ? disable
                                  : net != nullptr && lower(net->value) == "socket" ? net
                                                                                    : nullptr;
    if (culprit == nullptr) {
      one.pass("RDMA allowed");
      continue;
    }
    one.add_evidence(culprit->from);
    one.fail({.message = fmt::format("NCCL on {} is told not to use RDMA: {}={} in {}", *node.name,
                                     culprit->name, culprit->value, culprit->from),
              .expected = "RDMA allowed",
              .observed = fmt::format("{}={}", culprit->name, culprit->value),
              .remedy = unset(*culprit, "Remove the line; it sends all traffic over TCP.")});
  }
}

void hca_exists(const Survey& survey, Judge& judge) {
  for (const NodeView& node : survey.nodes) {
    Case one = judge.on(node, "NCCL_IB_HCA", nccl_touches(node));
    const NcclVariable* variable = set_variable(one, node, "NCCL_IB_HCA");
    if (variable == nullptr) continue;
    const auto* devices = one.read(node.facts->rdma.devices);
    if (devices == nullptr) continue;
    const NameList list = parse_names(variable->value);
    std::vector<std::string> lost;
    for (const NameList::Entry& entry : list.entries) {
      const bool found = std::ranges::any_of(*devices, [&](const RdmaDevice& device) {
        if (!list.matches(entry, device.name)) return false;
        return !entry.port || !device.ports.ok() ||
               std::ranges::find(*device.ports, *entry.port, &RdmaPort::number) != device.ports->end();
      });
      if (!found) lost.push_back(entry.port ? fmt::format("{}:{}", entry.name, *entry.port) : entry.name);
    }
    if (lost.empty() || list.exclude) {
      one.pass(variable->value);
      continue;
    }
    std::vector<std::string> names;
    for (const RailEnd& end : node.ends)
      if (end.rdma) names.push_back(fmt::format("{}:{}", end.rdma.device->name, end.rdma.port->number));
    one.fail({.message = fmt::format("NCCL_IB_HCA on {} names {}, which is not there", *node.name,
                                     fmt::join(lost, ", ")),
              .expected = fmt::format("={}", fmt::join(names, ",")),
              .observed = variable->value,
              .remedy = assign(*variable, fmt::format("={}", fmt::join(names, ",")),
                               "Name the devices of the rails; names change with udev rules.")});
  }
}

void hca_exact(const Survey& survey, Judge& judge) {
  for (const NodeView& node : survey.nodes) {
    Case one = judge.on(node, "NCCL_IB_HCA", nccl_touches(node));
    const NcclVariable* variable = set_variable(one, node, "NCCL_IB_HCA");
    if (variable == nullptr) continue;
    const auto* devices = one.read(node.facts->rdma.devices);
    if (devices == nullptr) continue;
    const NameList list = parse_names(variable->value);
    std::vector<std::string> hits;
    const NameList::Entry* vague = nullptr;
    for (const NameList::Entry& entry : list.entries) {
      std::vector<std::string> found;
      for (const RdmaDevice& device : *devices)
        if (!list.exact && device.name.starts_with(entry.name)) found.push_back(device.name);
      const bool meant = std::ranges::find(found, entry.name) != found.end();
      if (found.size() > 1 && meant && vague == nullptr) vague = &entry, hits = std::move(found);
    }
    if (vague == nullptr) {
      one.pass(variable->value);
      continue;
    }
    const std::string exact = (list.exclude ? "^=" : "=") + variable->value.substr(list.exclude ? 1 : 0);
    one.warn({.message = fmt::format("NCCL_IB_HCA on {}: {} is a prefix and matches {}", *node.name,
                                     vague->name, fmt::join(hits, ", ")),
              .expected = exact,
              .observed = variable->value,
              .remedy = assign(*variable, exact, "Write = before the list: names are then taken whole.")});
  }
}

void hca_covers_rails(const Survey& survey, Judge& judge) {
  for (const NodeView& node : survey.nodes) {
    Case one = judge.on(node, "NCCL_IB_HCA", nccl_touches(node));
    const NcclVariable* variable = set_variable(one, node, "NCCL_IB_HCA");
    if (variable == nullptr) continue;
    const NameList list = parse_names(variable->value);
    std::vector<std::string> left_out;
    for (const RailEnd& end : node.ends) {
      if (!end.rdma || !end.wants_rdma()) continue;
      const bool listed = std::ranges::any_of(list.entries, [&](const NameList::Entry& entry) {
        return list.matches(entry, end.rdma.device->name) &&
               (!entry.port || *entry.port == end.rdma.port->number);
      });
      if (listed == list.exclude) left_out.push_back(fmt::format("{} ({})", end.rdma_name(), end.name));
    }
    if (left_out.empty()) {
      one.pass(variable->value);
      continue;
    }
    one.warn({.message = fmt::format("NCCL_IB_HCA on {} leaves out {}: that rail stays idle", *node.name,
                                     fmt::join(left_out, ", ")),
              .expected = "every rail",
              .observed = variable->value,
              .remedy = {fmt::format("Add it to the list in {}, or take the rail out of cluster.yaml.",
                                     variable->from)}});
  }
}

void gid_index(const Survey& survey, Judge& judge) {
  for (const NodeView& node : survey.nodes) {
    Case one = judge.on(node, "NCCL_IB_GID_INDEX", nccl_touches(node));
    const NcclVariable* variable = set_variable(one, node, "NCCL_IB_GID_INDEX");
    if (variable == nullptr) continue;
    const auto index = parse_number<int>(variable->value);
    if (index && *index < 0) {
      one.pass("chosen by NCCL");
      continue;
    }
    std::string now = "is no RoCE v2 IPv4 GID now";
    for (const RailEnd& end : node.ends) {
      if (!end.rdma || !end.rdma.port->gids.ok()) continue;
      for (const Gid& gid : *end.rdma.port->gids)
        if (index && gid.index == *index && gid.type.value_or("") == "RoCE v2" && gid.gid.ok() &&
            gid.gid->is_v4())
          now = "happens to be right now";
    }
    one.warn({.message = fmt::format(
                  "NCCL on {} takes GID {} whatever it holds ({}): the table's order changes with "
                  "addresses",
                  *node.name, variable->value, now),
              .expected = "unset (NCCL ≥ 2.21 chooses by family and version)",
              .observed = variable->value,
              .remedy = unset(*variable, "Remove it; on old NCCL upgrade instead.")});
  }
}

void socket_interface(const Survey& survey, Judge& judge) {
  for (const NodeView& node : survey.nodes) {
    Case one = judge.on(node, "NCCL_SOCKET_IFNAME", nccl_touches(node));
    const NcclVariable* variable = set_variable(one, node, "NCCL_SOCKET_IFNAME");
    if (variable == nullptr) continue;
    const auto* interfaces = one.read(node.facts->net.interfaces);
    if (interfaces == nullptr) continue;
    const NameList list = parse_names(variable->value);
    const bool found = std::ranges::any_of(list.entries, [&](const NameList::Entry& entry) {
      return std::ranges::any_of(
          *interfaces, [&](const NetInterface& one_of) { return list.matches(entry, one_of.name); });
    });
    if (found || list.exclude) {
      one.pass(variable->value);
      continue;
    }
    one.fail({.message = fmt::format(
                  "NCCL on {} is to start over {}, which is no interface here: \"no socket interface "
                  "found\"",
                  *node.name, variable->value),
              .expected = "an interface of this node",
              .observed = variable->value,
              .remedy = unset(*variable, "Correct the name, or remove the line: NCCL finds one by itself.")});
  }
}

void gdr_level(const Survey& survey, Judge& judge) {
  for (const NodeView& node : survey.nodes) {
    Case one = judge.on(node, "NCCL_NET_GDR_LEVEL", nccl_touches(node));
    const NcclVariable* variable = set_variable(one, node, "NCCL_NET_GDR_LEVEL");
    if (variable == nullptr) continue;
    constexpr std::string_view kLevels[] = {"LOC", "PIX", "PXB", "PHB", "SYS"};
    if (std::ranges::find(kLevels, variable->value) != std::end(kLevels)) {
      one.pass(variable->value);
      continue;
    }
    // NCCL maps old integers 0…5 to these (user guide, NCCL_NET_GDR_LEVEL).
    constexpr std::string_view kByInteger[] = {"LOC", "PIX", "PXB", "PHB", "SYS", "SYS"};
    const auto number = parse_number<std::size_t>(variable->value);
    const std::string_view word = number && *number < std::size(kByInteger) ? kByInteger[*number] : "PXB";
    one.warn({.message = fmt::format("NCCL_NET_GDR_LEVEL is {} on {}: {}", variable->value, *node.name,
                                     number ? "integers are a legacy that changed meaning between versions"
                                            : "NCCL does not know this level"),
              .expected = "LOC, PIX, PXB, PHB or SYS",
              .observed = variable->value,
              .remedy = assign(*variable, word, "Write the level as a word, or leave it to NCCL.")});
  }
}

void retry_count(const Survey& survey, Judge& judge) {
  for (const NodeView& node : survey.nodes) {
    Case one = judge.on(node, "NCCL_IB_RETRY_CNT", nccl_touches(node));
    const NcclVariable* variable = set_variable(one, node, "NCCL_IB_RETRY_CNT");
    if (variable == nullptr) continue;
    const auto number = parse_number<int>(variable->value);
    if (number && *number >= 0 && *number <= 7) {
      one.pass(variable->value);
      continue;
    }
    one.fail({.message = fmt::format(
                  "NCCL_IB_RETRY_CNT is {} on {}: the field has three bits, the connection is refused "
                  "or wraps",
                  variable->value, *node.name),
              .expected = "0 to 7",
              .observed = variable->value,
              .remedy = assign(*variable, "7", "Seven is the most.")});
  }
}

void debug_off(const Survey& survey, Judge& judge) {
  for (const NodeView& node : survey.nodes) {
    Case one = judge.on(node, "NCCL_DEBUG", nccl_touches(node));
    const NcclVariable* variable = set_variable(one, node, "NCCL_DEBUG");
    if (variable == nullptr) continue;
    const std::string level = lower(variable->value);
    if (level != "info" && level != "trace") {
      one.pass(variable->value);
      continue;
    }
    one.warn({.message = fmt::format(
                  "NCCL_DEBUG={} was left on for everybody on {}: each rank writes megabytes of log",
                  variable->value, *node.name),
              .expected = "WARN, or unset",
              .observed = variable->value,
              .remedy = assign(*variable, "WARN", "Set it per job when it is needed.")});
  }
}

void traffic_class(const Survey& survey, Judge& judge) {
  for (const NodeView& node : survey.nodes) {
    Case one = judge.on(node, "NCCL_IB_TC", nccl_touches(node));
    if (!node.expect().traffic_class || !has_rdma_rail(node)) {
      one.not_applicable("no traffic class is expected");
      continue;
    }
    const int want = *node.expect().traffic_class;
    const NcclVariable* variable = effective(node.facts->nccl, "NCCL_IB_TC");
    if (variable != nullptr) one.add_evidence(variable->from);
    if (variable != nullptr && parse_number<int>(variable->value) == want) {
      one.pass(variable->value);
      continue;
    }
    const std::string have = variable == nullptr ? "unset" : variable->value;
    one.fail(
        {.message = fmt::format("NCCL_IB_TC is {} on {}, expected {}: NCCL's own connections do not follow "
                                "default_roce_tos and travel in the lossy class",
                                have, *node.name, want),
         .expected = std::to_string(want),
         .observed = have,
         .remedy = variable == nullptr
                       ? Remedy{"Set it for all programs.",
                                {fmt::format("echo NCCL_IB_TC={} >> /etc/nccl.conf", want)}}
                       : assign(*variable, std::to_string(want), "Set it for all programs.")});
  }
}

}  // namespace

std::span<const Rule> nccl_rules() {
  static constexpr std::string_view kFiles =
      "/etc/nccl.conf, ~/.nccl.conf, /etc/profile.d/*.sh, /etc/environment, the environment";
  static const Rule kRules[] = {
      {.id = "nccl.rdma-on",
       .title = "NCCL may use RDMA",
       .why =
           "NCCL_IB_DISABLE=1 or NCCL_NET=Socket, left from a test, sends everything over TCP: the log says "
           "\"Using network Socket\" and nobody reads it.",
       .source = kFiles,
       .standard = "neither is set where the node has an RDMA rail",
       .remedy = "Remove the line.",
       .fixture = "v100-nccl-ib-disabled",
       .explained_by = {},
       .check = rdma_on},
      {.id = "nccl.hca",
       .title = "NCCL_IB_HCA names devices that exist",
       .why = "A list that matches nothing leaves NCCL without RDMA; it falls back to TCP.",
       .source = kFiles,
       .standard = "each entry matches a device and port of this node",
       .remedy = "Name the devices of the rails.",
       .fixture = "v100-nccl-hca-unknown",
       .explained_by = {"rdma.pci-device", "rdma.rail-device"},
       .check = hca_exists},
      {.id = "nccl.hca-exact",
       .title = "NCCL_IB_HCA means what it says",
       .why = "Names are prefixes: mlx5_1 also takes mlx5_10 to mlx5_19, management ports among them.",
       .source = kFiles,
       .standard = "= before the list wherever a name is a prefix of another device",
       .remedy = "Write =.",
       .fixture = "h100-nccl-hca-prefix",
       .explained_by = {},
       .check = hca_exact},
      {.id = "nccl.hca-covers-rails",
       .title = "NCCL_IB_HCA covers every rail",
       .why = "A rail that is not listed is paid for and idle.",
       .source = kFiles,
       .standard = "each rail's device and port is selected",
       .remedy = "Add it.",
       .fixture = "v100-nccl-hca-one-port",
       .explained_by = {"nccl.hca"},
       .check = hca_covers_rails},
      {.id = "nccl.gid-index",
       .title = "NCCL chooses the GID itself",
       .why = "The GID table is filled in the order in which addresses came up: a pinned index points "
              "elsewhere after a "
              "reboot, and connections stop with error 12.",
       .source = kFiles,
       .standard = "NCCL_IB_GID_INDEX unset; NCCL 2.21 and later choose by address family and RoCE version",
       .remedy = "Remove it.",
       .fixture = "v100-nccl-gid-pinned",
       .explained_by = {},
       .check = gid_index},
      {.id = "nccl.socket-interface",
       .title = "NCCL_SOCKET_IFNAME names an interface",
       .why = "NCCL meets its peers over TCP first, on this interface; when there is none, nothing starts.",
       .source = kFiles,
       .standard = "matches an interface of this node",
       .remedy = "Correct or remove it.",
       .fixture = "spark-nccl-socket-interface",
       .explained_by = {"net.interface"},
       .check = socket_interface},
      {.id = "nccl.gdr-level",
       .title = "NCCL_NET_GDR_LEVEL is a word",
       .why = "Integers are a legacy whose meaning moved when levels were added.",
       .source = kFiles,
       .standard = "LOC, PIX, PXB, PHB or SYS (NCCL user guide)",
       .remedy = "Write the word.",
       .fixture = "h100-nccl-gdr-integer",
       .explained_by = {},
       .check = gdr_level},
      {.id = "nccl.retry-count",
       .title = "NCCL_IB_RETRY_CNT fits its field",
       .why = "InfiniBand gives the retry count three bits: 0 to 7.",
       .source = kFiles,
       .standard = "0 to 7",
       .remedy = "7.",
       .fixture = "v100-nccl-retry",
       .explained_by = {},
       .check = retry_count},
      {.id = "nccl.debug",
       .title = "NCCL's debug log is off by default",
       .why = "INFO on a thousand ranks fills disks and slows the start.",
       .source = kFiles,
       .standard = "unset, VERSION or WARN",
       .remedy = "WARN.",
       .fixture = "v100-nccl-debug",
       .explained_by = {},
       .check = debug_off},
      {.id = "nccl.traffic-class",
       .title = "NCCL marks the lossless class",
       .why = "default_roce_tos marks only connections made by RDMA-CM. NCCL makes its own and takes "
              "NCCL_IB_TC.",
       .source = kFiles,
       .standard = "NCCL_IB_TC = expect.traffic_class of cluster.yaml; not judged without it",
       .remedy = "Set NCCL_IB_TC.",
       .fixture = "h100-nccl-traffic-class",
       .explained_by = {},
       .check = traffic_class},
  };
  return kRules;
}

}  // namespace railbed
