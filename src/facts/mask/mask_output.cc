// Reduces the output of programs and the kernel's log to what a masked capture keeps: of each program that a
// collector runs the parts that the collector reads, and nothing of any other program.
#include <algorithm>
#include <array>
#include <span>

#include "base/json.h"
#include "base/text.h"
#include "facts/gpu.h"
#include "facts/log/kernel_log.h"
#include "facts/mask/mask.h"
#include "facts/software/nccl.h"
#include "facts/software/nccl_environment.h"
#include "facts/software/nccl_plugin.h"
#include "facts/software/pytorch.h"
#include "host/device_calls.h"
#include "host/kernel_log.h"

namespace railbed {
namespace {

using Keys = std::span<const std::string_view>;

bool is_among(Keys keys, std::string_view key) { return std::ranges::find(keys, key) != keys.end(); }

// Returns the known members of a JSON value. Of an unknown member that is an object or a list the name stays,
// with null: nft's parser counts it as an effect of the rule.
json::Value only_known(const json::Value& value, Keys keys) {
  if (value.is_array()) {
    json::Value kept = json::Value::array();
    for (const auto& one : value) kept.push_back(only_known(one, keys));
    return kept;
  }
  if (!value.is_object()) return value;
  json::Value kept = json::Value::object();
  for (const auto& [key, member] : value.items()) {
    // nft uses "prefix" for a network and for the text before a log line.
    const bool text_of_log = key == "prefix" && member.is_string();
    if (is_among(keys, key) && !text_of_log)
      kept[key] = only_known(member, keys);
    else if (member.is_structured())
      kept[key] = nullptr;
  }
  return kept;
}

std::string known_json(const std::string& text, Keys keys) {
  const auto value = json::parse(text);
  return value ? json::dump(only_known(*value, keys)) + "\n" : std::string();
}

// Returns the empty lines, and the lines of "Key=value" or "Key : value" whose key is known.
std::string known_lines(std::string_view text, char separator, bool (*known)(std::string_view key)) {
  std::string kept;
  for (const auto line : lines(text)) {
    const auto pair = key_value(line, separator);
    if (line.empty() || (pair && known(pair->first))) kept += std::string(line) + "\n";
  }
  return kept;
}

constexpr std::string_view kAddressKeys[] = {"ifname", "addr_info", "local",    "prefixlen", "family",
                                             "dev",    "link",      "linkinfo", "info_kind", "info_data",
                                             "id",     "protocol",  "dst"};
constexpr std::string_view kQueueKeys[] = {"dev",   "kind",  "options",     "rate", "bandwidth",
                                           "delay", "delay", "loss-random", "loss"};
constexpr std::string_view kNeighbourKeys[] = {"lldp",        "interface", "name",    "via",   "chassis",
                                               "id",          "type",      "port",    "value", "unknown-tlvs",
                                               "unknown-tlv", "oui",       "subtype", "mfs"};
constexpr std::string_view kFirewallKeys[] = {
    "nftables", "table",    "chain", "rule",     "set",    "map",  "element", "family", "name",   "hook",
    "prio",     "policy",   "type",  "expr",     "match",  "op",   "left",    "right",  "meta",   "key",
    "payload",  "protocol", "field", "ct",       "dir",    "fib",  "result",  "flags",  "vmap",   "data",
    "elem",     "val",      "range", "prefix",   "addr",   "len",  "stmt",    "target", "accept", "drop",
    "return",   "jump",     "goto",  "continue", "concat", "expr", "&",       "|",      "handle"};

// Replaces the names of switches and ports, which reveal the site, by placeholders. Equal names stay equal.
void rename_neighbours(json::Value& value, std::string_view kind, Mask& mask) {
  if (value.is_array())
    for (auto& one : value) rename_neighbours(one, kind, mask);
  if (!value.is_object()) return;
  for (auto one = value.begin(); one != value.end(); ++one) {
    const std::string& key = one.key();
    json::Value& member = one.value();
    if (key == "chassis" || key == "port")
      rename_neighbours(member, key, mask);
    else if (key == "interface" || key == "lldp" || key == "id" || (key == "name" && member.is_array()))
      rename_neighbours(member, kind, mask);
    else if (key == "value" && !kind.empty() && member.is_string())
      member = mask.placeholder(kind, member.get_ref<const std::string&>());
  }
}

std::string known_neighbours(const std::string& text, Mask& mask) {
  const auto document = json::parse(text);
  if (!document) return "";
  json::Value kept = only_known(*document, kNeighbourKeys);
  rename_neighbours(kept, "", mask);
  return json::dump(kept) + "\n";
}

// Returns the output of iptables-save without comments and log texts, which are free text, and without the
// values of options that are not known.
std::string known_iptables(std::string_view text) {
  constexpr std::string_view kOptions[] = {
      "-A",        "-s",      "-d",         "-p",          "-i",         "-o",         "-m",
      "-j",        "-g",      "!",          "--dport",     "--dports",   "--sport",    "--sports",
      "--ctstate", "--state", "--ctstatus", "--icmp-type", "--dst-type", "--pkt-type", "--tcp-flags"};
  std::string kept;
  for (const auto line : lines(text)) {
    if (line.starts_with('#')) continue;
    if (!line.starts_with("-A")) {
      kept += std::string(line) + "\n";
      continue;
    }
    std::string rule;
    bool known = false;
    bool quoted = false;
    for (const auto word : words(line)) {
      const bool option = !quoted && (word.starts_with('-') || word == "!");
      if (option) known = is_among(kOptions, word);
      if (std::ranges::count(word, '"') % 2 == 1) quoted = !quoted;
      if (option && word == "--comment") continue;
      if (option || known) rule += (rule.empty() ? "" : " ") + std::string(word);
    }
    kept += rule + "\n";
  }
  return kept;
}

bool is_unit_key(std::string_view key) {
  constexpr std::string_view kKeys[] = {"Id", "LoadState", "ActiveState", "UnitFileState", "MainPID"};
  return is_among(kKeys, key);
}

bool is_optics_key(std::string_view key) {
  return key == "Module temperature" || key == "Module voltage" ||
         key.find("optical power") != std::string_view::npos || key.starts_with("Laser output power") ||
         key.find("bias current") != std::string_view::npos || key.find("alarm") != std::string_view::npos ||
         key.find("warning") != std::string_view::npos;
}

// The lines of gdscheck that parse_gdscheck() reads; those about GPUs and the platform's state end in words of NVIDIA's.
bool is_gds_key(std::string_view key) {
  constexpr std::string_view kKeys[] = {"GDS release version",
                                        "nvidia_fs version",
                                        "NVMe",
                                        "NVMe P2PDMA",
                                        "NVMeOF",
                                        "SCSI",
                                        "NFS",
                                        "properties.use_compat_mode",
                                        "properties.force_compat_mode",
                                        "IOMMU",
                                        "WARN"};
  return std::ranges::find(kKeys, key) != std::end(kKeys);
}

bool is_version_key(std::string_view key) { return key == "Fabric Manager version is"; }

// Returns the lines that railbed's own script printed, with nvidia-smi's message masked.
std::string known_sight(std::string_view text, Mask& mask) {
  std::string kept;
  for (const auto line : lines(text)) {
    const auto what = line.substr(0, line.find(' '));
    constexpr std::string_view kWhat[] = {"gpu", "rdma", "memlock", "libcuda", "smi", "end"};
    if (is_among(kWhat, what)) kept += std::string(line) + "\n";
    if (what == "said") kept += "said " + mask.placeholder("said", line) + "\n";
  }
  return kept;
}

std::string known_pytorch(std::string_view text, Mask& mask) {
  std::string answer;
  for (const auto line : lines(text))
    if (line.starts_with("{")) answer = line;
  auto torch = json::read<PyTorch>(answer);
  if (!torch) return "";
  for (std::string* said : {&torch->operation, &torch->all_reduce})
    if (!said->empty() && *said != "worked") *said = mask.placeholder("masked", *said);
  for (std::string* version : {&torch->version, &torch->cuda, &torch->nccl_version})
    if (!is_plain_word(*version, 64)) version->clear();
  if (!torch->error.empty()) torch->error = mask.placeholder("masked", torch->error);
  return mask(json::dump(json::encode(*torch))) + "\n";
}

// Replaces the text between `begin` and `end`. Users choose the names of processes.
void hide_between(std::string& text, std::string_view begin, std::string_view end, Mask& mask) {
  const std::size_t at = text.find(begin);
  if (at == std::string::npos) return;
  const std::size_t from = at + begin.size();
  const std::size_t to = std::min(text.find(end, from), text.size());
  text.replace(from, to - from, mask.placeholder("task", text.substr(from, to - from)));
}

// Returns a line of an event with the name of the process or server masked; nullopt for all other lines.
std::optional<std::string> known_log_line(std::string text, Mask& mask) {
  const auto event = parse_log_line(text);
  if (!event) return std::nullopt;
  switch (event->kind) {
    case LogKind::kServerSilent:
    case LogKind::kServerBack:
      mask.hide(event->subject);
      return mask(text);
    case LogKind::kOutOfMemory:
    case LogKind::kJobOutOfMemory:
      hide_between(text, " (", ") total-vm", mask);
      break;
    case LogKind::kHungTask:
      hide_between(text, "INFO: task ", ":", mask);
      break;
    default:
      hide_between(text, "name=", ",", mask);
      hide_between(text, "Comm: ", " ", mask);
  }
  return mask.addresses(text);
}

}  // namespace

std::optional<std::string> known_output(std::string_view command, const std::string& output, Mask& mask,
                                        const KnownNames& known) {
  const auto begins = [&](std::string_view start) { return command.starts_with(start); };
  if (begins(kShowEnvironment)) return mask(masked_unit_environments(output, known, mask));
  if (begins("systemctl show ")) return mask(known_lines(output, '=', is_unit_key));
  if (begins("ip ")) return mask(known_json(output, kAddressKeys));
  if (begins("tc ")) return mask(known_json(output, kQueueKeys));
  if (begins("nft ")) return mask(known_json(output, kFirewallKeys));
  if (begins("iptables-save") || begins("ip6tables-save")) return mask(known_iptables(output));
  if (begins("lldpcli ")) return known_neighbours(output, mask);
  if (begins("ethtool -m ")) return known_lines(output, ':', is_optics_key);
  if (begins("nv-fabricmanager ")) return known_lines(output, ':', is_version_key);
  if (command.ends_with("/gdscheck -p")) return mask(known_lines(output, ':', is_gds_key));
  if (begins("modinfo ")) return used_modinfo({0, output, ""}).output;
  if (command == "ldconfig -p") return mask(used_loader_cache(output));
  if (begins("test -e ")) return "";
  if (begins("docker run ") || begins("podman run ")) return known_sight(output, mask);
  if (command.find("/bin/python -I -B -c ") != command.npos) return known_pytorch(output, mask);
  return std::nullopt;
}

std::optional<std::string> known_answer(std::string_view call, const std::string& answer, Mask& mask,
                                        const KnownNames& known) {
  const std::string_view name = call.substr(0, call.find(' '));
  // Replies that railbed composes itself: numbers, names of devices, versions.
  constexpr std::string_view kOwn[] = {
      "uname",          "clock",     "statvfs",    "verbs",          "load",   "ethernet",
      "statistics",     "nvme",      "addresses",  "default-routes", "queues", "nf-tables",
      "kernel-options", "modes",     "changeable", "nvml",           "cuda",   "gpu-load",
      "adapters",       "gpu-tests", "fec",        "signals"};
  if (call == "environment HOME") return mask(answer);
  if (name == "environment") {
    auto variables = json::read<std::map<std::string, std::string>>(answer);
    if (!variables) return std::nullopt;
    std::erase_if(*variables, [](const auto& one) { return !is_nccl_name(one.first); });
    for (auto& [variable, value] : *variables) value = masked_nccl_value(value, known, mask);
    return mask(json::dump(json::encode(*variables)));
  }
  if (name == "stuck") {
    auto stuck = json::read<std::vector<StuckAnswer>>(answer);
    if (!stuck) return std::nullopt;
    for (StuckAnswer& stuck_answer : *stuck) stuck_answer.name = mask.placeholder("task", stuck_answer.name);
    return json::dump(json::encode(*stuck));
  }
  if (name == "kernel-log") {
    auto log = json::read<KernelLogAnswer>(answer);
    if (!log) return std::nullopt;
    std::vector<KernelLogLine> kept;
    for (KernelLogLine& line : log->lines)
      if (auto text = known_log_line(line.text, mask)) {
        line.text = std::move(*text);
        kept.push_back(std::move(line));
      }
    log->lines = std::move(kept);
    return json::dump(json::encode(*log));
  }
  if (is_among(kOwn, name)) return mask(answer);
  return std::nullopt;
}

}  // namespace railbed
