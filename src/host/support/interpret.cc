#include "host/support/interpret.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
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

// Excludes `lspci -t`, which draws a tree, and -m, which is for programs.
bool is_list(const std::vector<std::string>& words) {
  const std::string flags = flags_of(words);
  return flags.find_first_of("tm") == flags.npos;
}

Listing listing_of(const Output& output) {
  const auto& words = output.words;
  const bool all = std::all_of(words.begin() + 1, words.end(), [](const std::string& word) {
    return is_flag(word) && word.find_first_not_of("-nvkDbxPQq") == word.npos;
  });
  const std::string flags = flags_of(words);
  return {&output, all, std::count(flags.begin(), flags.end(), 'v')};
}

void add_pci(const Outputs& outputs, ReportTree& report) {
  std::vector<Listing> listings;
  for (const Output* output : outputs.of("lspci"))
    if (is_list(output->words)) listings.push_back(listing_of(*output));
  std::ranges::stable_sort(listings, [](const Listing& a, const Listing& b) {
    return a.all != b.all ? a.all : a.detail > b.detail;
  });
  for (const Listing& listing : listings) add_lspci(listing.output->text, listing.all, report);
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

void add_ethernet(const Outputs& outputs, ReportTree& report) {
  for (const Output* output : outputs.of("ethtool")) {
    const auto& words = output->words;
    if (words.size() == 2)
      add_ethtool(words[1].substr(words[1].starts_with('-') ? 1 : 0), output->text, report);
    if (words.size() == 3 && words[1] == "-i") add_ethtool_driver(words[2], output->text, report);
  }
}

void add_net(const Outputs& outputs, ReportTree& report) {
  bool details = false;
  if (const Output* addresses = find_ip(outputs, "address", details))
    add_ip_address(addresses->text, details, report);
  if (const Output* routes = find_ip(outputs, "route", details)) add_ip_route(routes->text, report);
  add_ethernet(outputs, report);
}

// Returns the time of boot in Unix seconds: from the kernel's btime, from `uptime`, or else the latest
// possible time, which is when the log was read minus its last timestamp.
double boot_of(const ReportTree& report, const Output* uptime, double read_at, double last) {
  for (const auto line : lines(report.text("/proc/stat")))
    if (const auto parts = words(line); parts.size() == 2 && parts[0] == "btime")
      if (const auto boot = parse_number<std::uint64_t>(parts[1])) return static_cast<double>(*boot);
  const auto up = uptime == nullptr ? std::nullopt : uptime_in(uptime->text);
  if (up && *up >= last) return (uptime->when > 0 ? uptime->when : read_at) - *up;
  return read_at - last;
}

void add_log(const Outputs& outputs, double written_at, ReportTree& report) {
  const Output* log = outputs.find("dmesg", {"", "x", "r", "k", "H"});
  if (log == nullptr) return;
  const Output* date = outputs.find("date", {"", "u", "utc"});
  const auto said = date == nullptr ? std::nullopt : date_in(date->text);
  const double read_at = said ? *said : log->when > 0 ? log->when : written_at;
  add_dmesg(log->text, boot_of(report, outputs.find("uptime", {""}), read_at, last_stamp(log->text)), read_at,
            report);
}

void add_hostname(std::string_view text, ReportTree& report) {
  const auto name = trim(text);
  if (is_plain_word(name, 253)) report.line("/proc/sys/kernel/hostname", name);
}

}  // namespace

void interpret(const Outputs& outputs, double written_at, ReportTree& report) {
  add_if(outputs.find("uname", {"a", ""}), add_uname, report);
  add_if(outputs.find("hostname", {""}), add_hostname, report);
  add_if(outputs.find("sysctl", {"a"}), add_sysctl, report);
  add_if(outputs.find("lsmod", {""}), add_lsmod, report);
  add_if(outputs.find("lscpu", {""}), add_lscpu, report);
  add_if(outputs.find("timedatectl", {"", "status"}), add_timedatectl, report);
  add_pci(outputs, report);
  add_net(outputs, report);
  add_if(outputs.find("ibstatus", {""}), add_ibstatus, report);
  add_if(outputs.find("ibstat", {""}), add_ibstat, report);
  add_if(outputs.find("ibv_devinfo", {"v", ""}), add_ibv_devinfo, report);
  if (const Output* query = outputs.find("nvidia-smi", {"q", "query"})) {
    const Output* links = outputs.find("nvidia-smi", {"nvlinks", "nvlinkstatus"});
    add_nvidia_smi(query->text, links == nullptr ? "" : links->text, report);
  }
  add_log(outputs, written_at, report);
}

}  // namespace railbed
