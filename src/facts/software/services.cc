#include <algorithm>
#include <iterator>

#include "facts/collectors.h"
#include "facts/readings.h"

namespace railbed {
namespace {

// Units that decide whether a node keeps working after a reboot, and those that start its jobs.
constexpr std::string_view kUnits[] = {
    // the fabric: subnet managers, drivers, the guides' own units that restore traffic class and governor
    "opensm", "opensmd", "openibd", "rdma-load-modules@rdma", "rdma-ndd", "rdma-cm-tos", "rdma-optimize",
    "disable-unused-nics",
    // the GPUs
    "nvidia-persistenced", "nvidia-fabricmanager", "nvidia-dcgm", "nvidia-peermem",
    // time, power, interrupts
    "chrony", "chronyd", "systemd-timesyncd", "ntpsec", "tuned", "cpufrequtils", "cpupower", "irqbalance",
    // firewalls and network configuration
    "ufw", "firewalld", "nftables", "NetworkManager", "systemd-networkd",
    // services that start jobs, and others
    "slurmd", "containerd", "docker", "kubelet", "ssh", "sshd", "unattended-upgrades"};

// Parses blocks of "Key=value" lines with an empty line between units; systemctl(1), `show`.
std::vector<Service> parse_units(std::string_view text) {
  std::vector<Service> services;
  Service current;
  const auto keep = [&] {
    if (!current.name.empty()) services.push_back(current);
    current = {};
  };
  for (const auto line : lines(text)) {
    const auto pair = key_value(line, '=');
    if (!pair) {
      keep();
      continue;
    }
    const auto& [key, value] = *pair;
    if (key == "Id") current.name = value.ends_with(".service") ? value.substr(0, value.size() - 8) : value;
    if (key == "LoadState") current.load_state = value;
    if (key == "ActiveState") current.active_state = value;
    if (key == "UnitFileState") current.unit_file_state = value;
    if (key == "MainPID") current.main_pid = parse_number<int>(value).value_or(0);
  }
  keep();
  return services;
}

}  // namespace

Reading<std::vector<Service>> show_units(Host& host, const std::vector<std::string>& units) {
  // systemd creates this folder at boot (sd_booted(3)); without it systemctl can only fail.
  const auto booted = host.resolve("/run/systemd/system");
  if (booted.unknown()) return {booted.miss(), booted.from()};
  if (!booted) return {Miss{Missing::kAbsent, "this machine was not booted with systemd"}, booted.from()};
  std::vector<std::string> words{"systemctl", "show",
                                 "--property=Id,LoadState,ActiveState,UnitFileState,MainPID"};
  for (const auto& unit : units) words.push_back(unit + ".service");
  const auto output = host.run(words);
  if (!output) return {output.miss(), "systemctl show"};
  if (output->exit_code != 0)
    return {Miss{Missing::kUnsupported, "systemctl ended with " + std::to_string(output->exit_code)},
            "systemctl show"};
  return {parse_units(output->output), "systemctl show"};
}

Reading<std::vector<Service>> collect_services(Host& host) {
  return show_units(host, {std::begin(kUnits), std::end(kUnits)}).parsed([](std::vector<Service> services) {
    // Aliases (ssh and sshd) have one Id. A unit that does not exist is of no use to any rule.
    std::sort(services.begin(), services.end(),
              [](const Service& a, const Service& b) { return a.name < b.name; });
    services.erase(std::unique(services.begin(), services.end(),
                               [](const Service& a, const Service& b) { return a.name == b.name; }),
                   services.end());
    std::erase_if(services, [](const Service& service) { return service.load_state == "not-found"; });
    return std::optional(std::move(services));
  });
}

}  // namespace railbed
