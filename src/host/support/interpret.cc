#include "host/support/interpret.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "host/support/bug_report.h"
#include "host/support/date_text.h"
#include "host/support/nvidia_smi.h"
#include "host/support/texts.h"

namespace railbed {
namespace {

using Flags = std::vector<std::string_view>;
using Add = void (*)(std::string_view text, ReportTree& report);

void add_if(const Output* output, Add add, ReportTree& report) {
  if (output != nullptr) add(output->text, report);
}

bool is_flag(std::string_view word) { return word.size() > 1 && word[0] == '-'; }

struct Listing {
  const Output* output;
  bool all;     // the command names no function or vendor
  long detail;  // number of "v" flags
};

// Excludes `lspci -t`, which draws a tree.
bool is_list(const std::vector<std::string>& words) {
  const std::string flags = flags_of(words);
  return flags.find('t') == flags.npos;
}

Listing listing_of(const Output& output) {
  const auto& words = output.words;
  const bool all = std::all_of(words.begin() + 1, words.end(), [](const std::string& word) {
    return is_flag(word) && word.find_first_not_of("-nvkDbxPQqmt") == word.npos;
  });
  const std::string flags = flags_of(words);
  return {&output, all && !output.filtered, std::count(flags.begin(), flags.end(), 'v')};
}

// Returns true for a list of one function, or of one that somebody chose: there may be any number of others.
bool is_choice(const Listing& listing) {
  const auto& words = listing.output->words;
  const bool by_slot = std::any_of(words.begin() + 1, words.end(),
                                   [](const std::string& word) { return word.starts_with("-s"); });
  return by_slot || count_lspci(listing.output->text) < 2;
}

// Returns true if NVIDIA's driver names the GPU in the kernel's log: whatever others there are, this one is to be looked at.
bool is_named_by_driver(const Outputs& outputs, const std::string& address) {
  const std::string gpu = "NVRM: GPU " + address;
  const std::string xid = "NVRM: Xid (PCI:" + address.substr(0, address.rfind('.')) + ")";
  for (const std::string_view program : {"dmesg", "journalctl"})
    for (const Output* output : outputs.of(program))
      if (output->text.find(gpu) != std::string::npos || output->text.find(xid) != std::string::npos)
        return true;
  return false;
}

// Adds the PCI functions. Returns the addresses of the GPUs if the lists are of some functions only: the folder of all
// is unknown then, and these are what there is to look at.
std::vector<std::string> add_pci(const Outputs& outputs, ReportTree& report) {
  std::vector<Listing> listings;
  std::string_view tree;
  for (const Output* output : outputs.of("lspci")) {
    const Listing listing = listing_of(*output);
    if (is_list(output->words))
      listings.push_back(listing);
    else if (listing.all && tree.empty())
      tree = output->text;
  }
  std::ranges::stable_sort(listings, [](const Listing& a, const Listing& b) {
    return a.all != b.all ? a.all : a.detail > b.detail;
  });
  for (const Listing& listing : listings) add_lspci(listing.output->text, listing.all, report, tree);
  if (listings.empty() && !tree.empty())
    report.leave_out(
        "`lspci -t`: it shows places without classes and numbers; add the output of lspci -nn of the same machine");
  std::vector<std::string> gpus;
  if (std::ranges::any_of(listings, &Listing::all)) return gpus;
  const bool chosen = std::ranges::all_of(listings, is_choice);
  const std::string functions = "/sys/bus/pci/devices";
  for (const std::string& address : report.names(functions)) {
    const std::string folder = functions + "/" + address;
    if (report.text(folder + "/vendor").starts_with("0x10de") &&
        report.text(folder + "/class").starts_with("0x03") &&
        (!chosen || is_named_by_driver(outputs, address)))
      gpus.push_back(address);
  }
  return gpus;
}

// An `ip` command: flags, object, "show".
struct IpCommand {
  std::string flags;
  std::string_view what;
  bool all = true;  // covers every interface and table
};

IpCommand ip_command(const std::vector<std::string>& words) {
  IpCommand command;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (is_flag(word) && command.what.empty())
      command.flags += word.substr(1);
    else if (command.what.empty())
      command.what = word;
    else if (word != "show" && word != "list" && word != "table" && word != "all")
      command.all = false;
  }
  return command;
}

bool is_short_for(std::string_view word, std::string_view whole) {
  return !word.empty() && whole.starts_with(word);
}

// Returns the best output for an object, one with details if there is any. Excluded are "-o", which prints
// one line, and "-4" and "-6", which omit half of the addresses.
const Output* find_ip(const Outputs& outputs, std::string_view what, bool& details) {
  const Output* found = nullptr;
  details = false;
  for (const Output* output : outputs.of("ip")) {
    const IpCommand command = ip_command(output->words);
    const bool is_it = command.all && is_short_for(command.what, what) &&
                       command.flags.find_first_of("o46brM") == command.flags.npos;
    const bool better = command.flags.find('d') != command.flags.npos;
    if (!is_it || (found != nullptr && (details || !better))) continue;
    found = output;
    details = better;
  }
  return found;
}

// Returns the interface that words name from `at` on; a file name separates "ib_0" as well.
std::string interface_at(const std::vector<std::string>& words, std::size_t at) {
  if (at >= words.size()) return "";
  return fmt::format("{}", fmt::join(words.begin() + static_cast<std::ptrdiff_t>(at), words.end(), "_"));
}

// Returns what `ethtool IF` shows of an interface, as "25000Mb/s, link detected"; empty if it shows neither.
std::string link_shown(std::string_view text) {
  std::vector<std::string> shown;
  for (const auto line : lines(text)) {
    const auto pair = key_value(line, ':');
    if (pair && pair->first == "Speed" && is_plain_word(pair->second, 20)) shown.emplace_back(pair->second);
    if (pair && pair->first == "Link detected")
      shown.emplace_back(pair->second.starts_with("yes") ? "link detected" : "no link");
  }
  return fmt::format("{}", fmt::join(shown, ", "));
}

// Explains why the outputs of ethtool become no facts where nothing lists the interfaces: which others there are, and
// what they are, is unknown.
void leave_out_ethernet(const Outputs& outputs, ReportTree& report) {
  for (const Output* output : outputs.of("ethtool")) {
    const auto& words = output->words;
    const bool of_module = words.size() > 1 && words[1] == "-m";
    const bool of_link = words.size() > 1 && !words[1].starts_with('-');
    if (of_module)
      report.leave_out(
          "`ethtool -m`: readings of a transceiver, which `railbed verify --load` judges on the node itself");
    if (!of_link || !report.names("/sys/class/net").empty()) continue;
    const std::string shown = link_shown(output->text);
    report.leave_out(fmt::format(
        "`ethtool {}`{}: nothing here lists the interfaces of the machine; add its output of ip -d address",
        printable(interface_at(words, 1)), shown.empty() ? "" : " (" + shown + ")"));
  }
}

void add_ethernet(const Outputs& outputs, ReportTree& report) {
  for (const Output* output : outputs.of("ethtool")) {
    const auto& words = output->words;
    if (words.size() < 2) continue;
    if (is_fec_text(output->text))
      add_ethtool_fec(output->text, report);
    else if (!words[1].starts_with('-'))
      add_ethtool(interface_at(words, 1), output->text, report);
    else if (words.size() == 2)  // "ethtool-eth0.txt"
      add_ethtool(words[1].substr(1), output->text, report);
    else if (words[1] == "-i")
      add_ethtool_driver(interface_at(words, 2), output->text, report);
  }
}

void add_net(const Outputs& outputs, ReportTree& report) {
  bool details = false;
  if (const Output* addresses = find_ip(outputs, "address", details))
    add_ip_address(addresses->text, details, report);
  if (const Output* routes = find_ip(outputs, "route", details)) add_ip_route(routes->text, report);
  add_ethernet(outputs, report);
  leave_out_ethernet(outputs, report);
}

// Returns the boot in Unix seconds, by the kernel's btime or by `uptime`; nullopt if the report holds neither.
std::optional<double> boot_of(const ReportTree& report, const Output* uptime, std::optional<double> read_at,
                              double last) {
  const std::string stat = report.text("/proc/stat");
  for (const auto line : lines(stat))
    if (const auto parts = words(line); parts.size() == 2 && parts[0] == "btime")
      if (const auto boot = parse_number<std::uint64_t>(parts[1])) return static_cast<double>(*boot);
  const auto up = uptime == nullptr ? std::nullopt : uptime_in(uptime->text);
  const auto at = uptime != nullptr && uptime->when > 0 ? std::optional(uptime->when) : read_at;
  if (!up || *up < last || !at) return std::nullopt;
  return *at - *up;
}

// Returns the machine's time zone: "+0200", or timedatectl's "Time zone: Europe/Berlin (CEST, +0200)".
std::optional<int> zone_of(const Outputs& outputs) {
  if (const Output* zone = outputs.find("date", {"+%z"})) return zone_offset(zone->text);
  const Output* clock = outputs.find("timedatectl", {"", "status"});
  for (const auto line : lines(clock == nullptr ? std::string_view() : std::string_view(clock->text))) {
    const auto pair = key_value(line, ':');
    if (!pair || pair->first != "Time zone") continue;
    const auto last = words(pair->second);
    if (!last.empty() && last.back().ends_with(')'))
      return zone_offset(last.back().substr(0, last.back().size() - 1));
  }
  const Output* date = outputs.find("date", {"", "u", "utc"});
  const auto parsed =
      date == nullptr || !flags_of(date->words).empty() ? std::nullopt : parse_date(date->text);
  return parsed ? parsed->zone : std::nullopt;
}

// Returns the device that words name from `at` on. A file name has "_" where the command has another sign: "mlx5_0" is
// two words there, and "0000:08:00.0" three.
std::string device_at(const std::vector<std::string>& words, std::size_t at) {
  if (at >= words.size()) return "";
  const bool is_split = words[at] == "mlx5" && at + 1 < words.size() && is_digits(words[at + 1]);
  if (is_split) return words[at] + "_" + words[at + 1];
  if (at + 2 < words.size()) {
    const std::string address = words[at] + ":" + words[at + 1] + ":" + words[at + 2];
    if (!full_pci_address(address).empty()) return address;
  }
  return words[at];
}

// Returns the word after a flag, or the rest of its own word: "-d mlx5_0", "-dmlx5_0", "--device mlx5_0"; empty if there is
// none.
std::string word_after(const std::vector<std::string>& words, std::string_view flag,
                       std::string_view long_flag = {}) {
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i] == long_flag) return device_at(words, i + 1);
    if (!words[i].starts_with(flag) || words[i].starts_with("--")) continue;
    return words[i].size() > flag.size() ? words[i].substr(flag.size()) : device_at(words, i + 1);
  }
  return "";
}

// Returns the adapter that a command is about: that of -d, or in the names that sos of DOCA gives ("mlxlink_000008000")
// the PCI address without its signs.
std::string adapter_of(const std::vector<std::string>& words) {
  constexpr std::size_t kDigits = 9;  // of domain, bus, device and function
  if (words.size() > 1 && words[1].size() == kDigits && !words[1].starts_with('-')) {
    const std::string& bare = words[1];
    const std::string address =
        bare.substr(0, 4) + ":" + bare.substr(4, 2) + ":" + bare.substr(6, 2) + "." + bare.substr(8);
    if (!full_pci_address(address).empty()) return address;
  }
  return word_after(words, "-d", "--device");
}

void add_links(const Outputs& outputs, ReportTree& report) {
  std::vector<LinkText> texts;
  for (const std::string_view program : {"mlxlink", "mstlink"})
    for (const Output* output : outputs.of(program)) {
      const std::string port = word_after(output->words, "-p", "--port");
      const auto number = port.empty() ? 1 : parse_number<int>(port).value_or(0);
      if (number < 1) {
        report.leave_out(
            fmt::format("`mlxlink` of port {}: only ports of adapters are read, which have a number", port));
        continue;
      }
      texts.push_back({adapter_of(output->words), number, output->text});
    }
  add_mlxlink(texts, report);
}

void add_adapter_texts(const Outputs& outputs, ReportTree& report) {
  std::vector<AdapterText> texts;
  for (const std::string_view program : {"mlxconfig", "mstconfig", "mlxfwmanager", "mlxup"})
    for (const Output* output : outputs.of(program))
      texts.push_back({adapter_of(output->words), output->text});
  add_adapters(texts, report);
}

std::string_view text_of(const Output* output) {
  return output == nullptr ? std::string_view() : output->text;
}

void add_topology(const Outputs& outputs, const GpuAddresses& addresses, ReportTree& report) {
  constexpr std::string_view kSmi = "nvidia-smi";
  TopologyTexts texts;
  const Output* ways = outputs.find(kSmi, {"topom", "topomatrix"});
  texts.has_nvlinks = ways != nullptr;
  texts.ways = text_of(ways != nullptr ? ways : outputs.find(kSmi, {"topomp", "topo"}));
  texts.read = text_of(outputs.find(kSmi, {"topop2pr", "topop2prw", "topop2p_statusr"}));
  texts.nvlink = text_of(outputs.find(kSmi, {"topop2pn"}));
  add_nvidia_topology(texts, addresses, report);
  if (outputs.find(kSmi, {"topop2p"}) != nullptr)
    report.leave_out(
        "`nvidia-smi topo -p2p`: its output does not state which access it is of; put the command into the file's name "
        "(nvidia-smi-topo-p2p-r.txt) or leave the prompt above it");
}

void add_gpus(const Outputs& outputs, ReportTree& report) {
  constexpr std::string_view kSmi = "nvidia-smi";
  const Output* links = outputs.find(kSmi, {"nvlinks", "nvlinkstatus"});
  const Output* list = outputs.find(kSmi, {"L", "list-gpus"});
  const std::string_view named = text_of(links != nullptr ? links : list);
  const Output* whole = outputs.find(kSmi, {"q", "query", "qx", "xq", "a"});
  GpuAddresses addresses;
  const auto add_query = [&](const Output& query) {
    add_nvidia_smi(query.text, named, report);
    if (addresses.empty()) addresses = find_gpu_addresses(query.text);
  };
  if (whole != nullptr) add_query(*whole);
  for (const Output* any : outputs.of(kSmi))
    if (any != whole) add_query(*any);
  if (links != nullptr && !report.has_call("nvml list"))
    report.leave_out(
        "`nvidia-smi nvlink -s`: it names GPUs by number and UUID, and nothing here states their PCI addresses; add the "
        "output of nvidia-smi or nvidia-smi -q of the same machine");
  if (outputs.find(kSmi, {"nvlinke", "nvlinkerrorcounters"}) != nullptr)
    report.leave_out(
        "`nvidia-smi nvlink -e`: counts since the driver was loaded, of which only the growth shows a fault; `railbed "
        "verify --load` judges it on the node itself");
  add_topology(outputs, addresses, report);
  for (const Output* any : outputs.of(kSmi)) add_nvidia_smi_errors(any->text, report);
  add_missing_driver(report);
}

// Returns true if the words choose rows: "sdr type Fan", "sel elist last 20", "sensor get Temp".
bool chooses_rows(const std::vector<std::string>& words) {
  return std::ranges::any_of(words, [](const std::string& word) {
    return word == "type" || word == "entity" || word == "last" || word == "first" || word == "get";
  });
}

// With -H the output is of another machine's BMC, and no fact of the machine where the command was typed.
void add_bmc(const Outputs& outputs, ReportTree& report) {
  std::vector<IpmitoolOutput> texts;
  for (const Output* output : outputs.of("ipmitool")) {
    if (word_after(output->words, "-H").empty()) {
      texts.push_back({output->text, output->filtered || chooses_rows(output->words)});
      continue;
    }
    report.leave_out(
        "`ipmitool -H`: its output is of the BMC at that address, which may be any machine's; put it into a "
        "file of its own without the command line");
  }
  add_ipmitool(texts, report);
}

void add_tests_of_gpus(const Outputs& outputs, ReportTree& report) {
  std::vector<std::string_view> texts;
  for (const Output* output : outputs.of("dcgmi")) {
    const auto& words = output->words;
    const auto kind = dcgm_kind(output->text);
    if (kind == "nvlink -e") {
      report.leave_out(
          "`dcgmi nvlink -e`: counts since the driver was loaded, of which only the growth shows a fault; `railbed verify "
          "--load` judges it on the node itself");
      continue;
    }
    if (kind == "topo") {
      report.leave_out(
          "`dcgmi topo`: it names GPUs by number alone; add the outputs of nvidia-smi -q and nvidia-smi topo -m");
      continue;
    }
    const bool judged = words.size() > 1 && (words[1] == "diag" || words[1] == "health");
    if (judged || !kind.empty()) texts.push_back(output->text);
  }
  add_gpu_tests(texts, report);
}

void add_checks_of_gds(const Outputs& outputs, ReportTree& report) {
  for (const std::string_view program : {"gdscheck", "gdscheck.py"})
    for (const Output* output : outputs.of(program))
      if (is_gdscheck(output->text)) return add_gdscheck(output->text, report);
}

LogText log_text(const Output& output) {
  // The script behind an nvidia-bug-report searches this journal for NVIDIA's lines.
  return {command_of(output), output.text, flags_of(output.words) == "b0" || output.filtered};
}

void add_log(const Outputs& outputs, ReportTree& report) {
  std::vector<LogText> texts;
  std::optional<double> read_at;
  double last = 0;
  for (const std::string_view program : {"dmesg", "journalctl"})
    for (const Output* output : outputs.of(program)) {
      texts.push_back(log_text(*output));
      if (!read_at && output->when > 0) read_at = output->when;
      last = std::max(last, last_stamp(output->text));
    }
  if (texts.empty()) return;
  const auto zone = zone_of(outputs);
  const Output* date = outputs.find("date", {"", "u", "utc"});
  if (const auto stated = date == nullptr ? std::nullopt : date_in(date->text, zone)) read_at = stated;
  add_kernel_log(texts, {boot_of(report, outputs.find("uptime", {""}), read_at, last), read_at, zone},
                 report);
}

// Adds files that somebody printed: "cat /proc/driver/nvidia/version".
void add_printed_files(const Outputs& outputs, ReportTree& report) {
  constexpr std::string_view kNone = "No such file or directory";
  for (const Output* output : outputs.of("cat")) {
    const auto& words = output->words;
    if (words.size() != 2 || output->filtered || !is_copied_file(words[1])) continue;
    const auto text = trim(output->text);
    if (text.starts_with("cat: "))
      text.ends_with(kNone) ? report.nothing(words[1]) : report.leave_out("`" + printable(text) + "`");
    else
      report.copy(words[1], output->text);
  }
}

// Returns what modinfo prints of the GPUs' driver among several modules ("modinfo_ALL_MODULES" of sos): the lines from a
// "filename:" to the next one. Empty if it is not there.
std::string_view of_gpu_driver(std::string_view text) {
  constexpr std::string_view kBegins = "filename:";
  for (std::size_t at = text.find(kBegins); at != text.npos;) {
    const auto next = text.find("\nfilename:", at);
    const auto one = text.substr(at, next == text.npos ? next : next + 1 - at);
    const auto file = trim(one.substr(kBegins.size(), one.find('\n') - kBegins.size()));
    const auto name = file.substr(file.rfind('/') + 1);
    if (name.starts_with("nvidia.ko") || name.starts_with("nvidia-current.ko")) return one;
    at = next == text.npos ? next : next + 1;
  }
  return {};
}

void add_modinfo(const Outputs& outputs, ReportTree& report) {
  for (const Output* output : outputs.of("modinfo")) {
    const auto& words = output->words;
    const std::string_view whole = of_gpu_driver(output->text);
    if (!whole.empty()) report.command("modinfo nvidia", std::string(whole));
    const bool of_license =
        words.size() == 4 && words[1] == "-F" && words[2] == "license" && words[3] == "nvidia";
    if (of_license) report.command("modinfo -F license nvidia", output->text);
  }
}

void add_hostname(std::string_view text, ReportTree& report) {
  const auto name = trim(text);
  if (is_plain_word(name, 253)) report.line("/proc/sys/kernel/hostname", name);
}

void add_names(const Outputs& outputs, ReportTree& report) {
  add_if(outputs.find("uname", {"a", ""}), add_uname, report);
  add_if(outputs.find("hostname", {""}), add_hostname, report);
}

}  // namespace

std::string node_in(const Outputs& outputs, const ReportTree& report) {
  constexpr std::string_view kHostname = "/proc/sys/kernel/hostname";
  ReportTree names;
  if (report.has(kHostname)) names.copy(kHostname, report.text(kHostname));
  add_names(outputs, names);
  const std::string text = names.text(kHostname);
  const auto name = trim(text);
  return is_plain_word(name, 253) && name.find('/') == name.npos ? std::string(name) : "";
}

void interpret(const Outputs& outputs, ReportTree& report) {
  add_printed_files(outputs, report);
  add_names(outputs, report);
  add_modinfo(outputs, report);
  add_if(outputs.find("uptime", {""}), add_uptime, report);
  add_if(outputs.find("sysctl", {"a"}), add_sysctl, report);
  add_if(outputs.find("lsmod", {""}), add_lsmod, report);
  add_if(outputs.find("lscpu", {""}), add_lscpu, report);
  add_if(outputs.find("numactl", {"hardware", "H"}), add_numactl, report);
  add_online(report);
  add_if(outputs.find("timedatectl", {"", "status"}), add_timedatectl, report);
  const auto listed_gpus = add_pci(outputs, report);
  add_net(outputs, report);
  add_if(outputs.find("ibstatus", {""}), add_ibstatus, report);
  add_if(outputs.find("ibstat", {""}), add_ibstat, report);
  add_if(outputs.find("ibv_devinfo", {"v", ""}), add_ibv_devinfo, report);
  add_if(outputs.find("show_gids", {""}), add_show_gids, report);
  add_if(outputs.find("ibdev2netdev", {"v", ""}), add_ibdev2netdev, report);
  add_if(outputs.find("rdma", {"link", "linkshow", "jlink", "jlinkshow", "dlink", "djlink", "jdlink",
                               "pjlink", "jplink", "linkj", "linkshowd", "linkd"}),
         add_rdma_link, report);
  add_links(outputs, report);
  add_adapter_texts(outputs, report);
  add_gpus(outputs, report);
  if (!listed_gpus.empty() && !report.has_call("nvml list"))
    report.call("nvml list", json::dump(json::encode(listed_gpus)));
  add_tests_of_gpus(outputs, report);
  add_checks_of_gds(outputs, report);
  add_bmc(outputs, report);
  add_log(outputs, report);
}

}  // namespace railbed
