#include "facts/facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <future>

#include "base/json.h"
#include "base/version.h"
#include "facts/collectors.h"
#include "facts/readings.h"
#include "host/calls.h"
#include "host/host.h"
#include "os/words.h"

namespace railbed {
namespace {

// The size limit of facts from elsewhere. Real facts are far smaller; a hostile document must not fill the
// memory.
constexpr std::size_t kMaxFactsBytes = 8 << 20;

// Runs one collector and records its duration.
template <class Collect>
auto timed(std::string_view name, std::vector<CollectorRun>& runs, Collect&& collect) {
  const auto start = std::chrono::steady_clock::now();
  auto result = collect();
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  runs.push_back({std::string(name), took.count()});
  return result;
}

// The result of one thread's collector, with its duration.
template <class Part>
struct Share {
  Part part;
  std::vector<CollectorRun> runs;
};

std::optional<std::string> utc_of(const std::string& answer) {
  const auto parsed = json::read<ClockAnswer>(answer);
  if (!parsed) return std::nullopt;
  return parsed->utc;
}

// Collectors that wait for other programs run in threads of their own.
Share<Net> collect_net_share(Host& host) {
  Share<Net> share;
  share.part = timed("net", share.runs, [&] { return collect_net(host); });
  return share;
}

Share<Rdma> collect_rdma_share(Host& host) {
  Share<Rdma> share;
  share.part = timed("rdma", share.runs, [&] { return collect_rdma(host); });
  return share;
}

Share<Gpus> collect_gpu_share(Host& host, const Reading<std::vector<PciDevice>>& pci) {
  Share<Gpus> share;
  share.part = timed("gpu", share.runs, [&] { return collect_gpus(host, pci); });
  return share;
}

// Starts the container with the devices that a job on this machine would get.
Reading<ContainerLook> look_as_a_job(Host& host, const CollectOptions& options, const Facts& facts) {
  ContainerPlan plan{.image = options.container, .runtime = options.container_runtime};
  plan.gpus = std::ranges::any_of(items(facts.pci), is_gpu);
  plan.rdma = facts.rdma.device_modes.ok() && !facts.rdma.device_modes->empty();
  plan.deadline = std::chrono::seconds(options.container_seconds);
  return look_into_container(host, plan);
}

SiteCheckRun run_site_check(Host& host, const SiteCheckOrder& order) {
  const auto output = host.call("site-check " + json::dump(json::encode(order.job)));
  const std::string from = joined(order.job.run);
  if (!output) return {order.name, order.job, {output.miss(), from}};
  auto read = json::read<ConfinedOutput>(*output);
  if (!read) return {order.name, order.job, {Miss{Missing::kGarbled, read.error().text}, from}};
  return {order.name, order.job, {*std::move(read), from}};
}

// Returns a note for each folder that has more entries than are read.
std::vector<std::string> count_left_out(Host& host) {
  std::vector<std::string> found;
  for (const auto& [folder, most] : {std::pair{"/sys/class/net", kMostOfAKind},
                                     {"/sys/class/infiniband", kMostRdmaDevices},
                                     {"/sys/class/nvme", kMostOfAKind},
                                     {"/sys/bus/pci/devices", kMostOfAKind}})
    if (const auto names = host.list(folder); names && names->size() > most)
      found.push_back(fmt::format("{} of {} in {}", most, names->size(), folder));
  return found;
}

}  // namespace

Facts collect_facts(Host& host, const CollectOptions& options) {
  Facts facts;
  auto& runs = facts.collectors;
  facts.railbed = railbed_version();
  auto net = std::async(std::launch::async, collect_net_share, std::ref(host));
  auto rdma = std::async(std::launch::async, collect_rdma_share, std::ref(host));
  facts.pci = timed("pcie", runs, [&] { return collect_pcie(host); });
  auto gpus = std::async(std::launch::async, collect_gpu_share, std::ref(host), std::cref(facts.pci));
  facts.collected_at = host.call("clock").parsed(utc_of);
  auto& system = facts.system;
  system.services = timed("services", runs, [&] { return collect_services(host); });
  system.own_units_at_boot = timed("own_units", runs, [&] { return collect_own_units_at_boot(host); });
  system.os = timed("os", runs, [&] { return collect_os(host); });
  system.kernel = timed("kernel", runs, [&] { return collect_kernel(host); });
  system.console = timed("console", runs, [&] { return collect_console(host, system.kernel.command_line); });
  system.cpu = timed("cpu", runs, [&] { return collect_cpu(host); });
  system.memory = timed("memory", runs, [&] { return collect_memory(host, system.services); });
  system.storage = timed("storage", runs, [&] {
    return collect_storage(host, options.paths, options.devices, options.folders);
  });
  system.sysctl = timed("sysctl", runs, [&] { return collect_sysctl(host); });
  system.sysctl_at_boot = timed("sysctl_at_boot", runs, [&] { return collect_sysctl_at_boot(host); });
  system.firmware = timed("firmware", runs, [&] { return collect_firmware(host); });
  system.stuck = timed("stuck", runs, [&] { return collect_stuck(host); });
  system.hosts = timed("hosts", runs, [&] { return collect_hosts(host); });
  system.hosts_template = timed("hosts_template", runs, [&] { return collect_hosts_template(host); });
  system.package_sources = timed("package_sources", runs, [&] { return collect_package_sources(host); });
  system.engines = timed("engines", runs, [&] { return collect_engines(host); });
  system.memory_guards = timed("memory_guards", runs, [&] { return collect_memory_guards(host); });
  system.mps_daemon = timed("mps_daemon", runs, [&] { return collect_mps_daemon(host); });
  system.ssh = timed("ssh", runs, [&] { return collect_ssh(host); });
  system.firewall = timed("firewall", runs, [&] { return collect_firewall(host); });
  system.interrupts = timed("interrupts", runs, [&] { return collect_interrupts(host, facts.pci); });
  facts.nccl = timed("nccl", runs, [&] { return collect_nccl(host, system.services); });
  facts.toolkit = timed("toolkit", runs, [&] { return collect_toolkit(host); });
  facts.kernel_log = timed("kernel_log", runs, [&] { return collect_kernel_log(host, options.log_since); });
  auto gpu_share = gpus.get();
  facts.pytorch = timed("pytorch", runs, [&] {
    return collect_pytorch(host, options.venv, std::chrono::seconds(options.venv_seconds),
                           options.venv_on_gpu && are_idle(gpu_share.part));
  });
  facts.left_out = count_left_out(host);
  auto net_share = net.get();
  auto rdma_share = rdma.get();
  facts.gpus = std::move(gpu_share.part);
  facts.gpus.gds = timed("gds", runs, [&] { return collect_gds(host, options.gds); });
  facts.net = std::move(net_share.part);
  facts.rdma = std::move(rdma_share.part);
  runs.insert(runs.end(), gpu_share.runs.begin(), gpu_share.runs.end());
  runs.insert(runs.end(), net_share.runs.begin(), net_share.runs.end());
  runs.insert(runs.end(), rdma_share.runs.begin(), rdma_share.runs.end());
  facts.container = timed("container", runs, [&] { return look_as_a_job(host, options, facts); });
  for (const SiteCheckOrder& order : options.site_checks)
    facts.site_checks.push_back(
        timed("site-check " + order.name, runs, [&] { return run_site_check(host, order); }));
  // The load runs last and alone, because it would disturb all other measurements.
  if (options.load_seconds)
    facts.load = timed("load", runs, [&] { return collect_load(host, *options.load_seconds); });
  return facts;
}

std::string facts_to_json(const Facts& facts) { return json::dump_pretty(json::encode(facts)); }

namespace {

// Returns a description of the first name in untrusted facts that such a thing cannot have; empty if all
// names are safe in a path, a YAML file or a command.
std::string odd_name(const Facts& facts) {
  const auto odd = [](std::string_view name, std::size_t most) { return !is_device_name(name, most); };
  for (const NetInterface& interface : items(facts.net.interfaces)) {
    if (odd(interface.name, kLongestInterface))
      return fmt::format("an interface is called \"{}\"", interface.name);
    if (interface.master && odd(*interface.master, kLongestDevice))
      return fmt::format("an interface is in \"{}\"", *interface.master);
  }
  for (const Vlan& vlan : items(facts.net.vlans))
    if (odd(vlan.interface, kLongestInterface) ||
        (!vlan.parent.empty() && odd(vlan.parent, kLongestInterface)))
      return fmt::format("a VLAN is called \"{}\", on \"{}\"", vlan.interface, vlan.parent);
  for (const BootProfile& profile : items(facts.net.at_boot))
    if (odd(profile.interface, kLongestInterface) || (!profile.id.empty() && odd(profile.id, kLongestDevice)))
      return fmt::format("a file is for the interface \"{}\", as \"{}\"", profile.interface, profile.id);
  if (facts.system.firewall)
    for (const FirewallChain& chain : facts.system.firewall->chains)
      if (!is_plain_word(chain.family, kLongestDevice) || !is_plain_word(chain.table, kLongestHost) ||
          !is_plain_word(chain.name, kLongestHost))
        return fmt::format("a firewall's chain is called \"{} {} {}\"", chain.family, chain.table,
                           chain.name);
  for (const AdapterInterrupts& interrupts : items(facts.system.interrupts))
    if (sysfs_pci_address(interrupts.pci_address) != interrupts.pci_address)
      return fmt::format("interrupts are of \"{}\"", interrupts.pci_address);
  for (const RdmaDevice& device : items(facts.rdma.devices))
    if (odd(device.name, kLongestDevice)) return fmt::format("an RDMA device is called \"{}\"", device.name);
  for (const PciDevice& device : items(facts.pci))
    if (sysfs_pci_address(device.address) != device.address)
      return fmt::format("a PCI device has the address \"{}\"", device.address);
  for (const Display& display : items(facts.system.console.displays))
    if (sysfs_pci_address(display.address) != display.address)
      return fmt::format("a display has the address \"{}\"", display.address);
  for (const NvmeTarget& target : items(facts.system.storage.nvme_targets))
    if (odd(target.nqn, kLongestNqn)) return fmt::format("an NVMe subsystem is called \"{}\"", target.nqn);
  for (const Gpu& gpu : items(facts.gpus.devices))
    if (sysfs_pci_address(gpu.pci_address) != gpu.pci_address)
      return fmt::format("a GPU has the address \"{}\"", gpu.pci_address);
  if (facts.system.os.hostname && odd(*facts.system.os.hostname, kLongestHost))
    return fmt::format("the host is called \"{}\"", *facts.system.os.hostname);
  return "";
}

// Returns a description of the first bad key; empty if there is none. A fingerprint that is not the key's own
// would be compared with another machine's.
std::string odd_key(const Facts& facts) {
  for (const HostKey& key : items(facts.system.ssh.host_keys))
    if (key.key == PublicKey{} || key.fingerprint != fingerprint_of(key.key))
      return fmt::format("a host key has the fingerprint \"{}\", which is not its own", key.fingerprint);
  for (const KnownHost& host : items(facts.system.ssh.known_hosts))
    if (host.key == PublicKey{}) return "a known host has no key";
  return "";
}

}  // namespace

Result<Facts> facts_from_json(std::string_view text) {
  if (text.size() > kMaxFactsBytes) return fail(ErrorKind::kBadInput, "facts larger than 8 MiB");
  const auto document = json::parse(text);
  if (!document) return fail(document.error(), "facts");
  auto facts = json::decode<Facts>(*document);
  if (!facts) return fail(facts.error(), "facts");
  // Every member has a default, so that any object would be the facts of an empty machine.
  for (const char* member : {"version", "system"})
    if (!document->contains(member))
      return fail(ErrorKind::kBadInput,
                  fmt::format("these are no facts of railbed: \"{}\" is missing", member));
  if (facts->version != kFactsVersion)
    return fail(ErrorKind::kBadInput, "facts of version " + std::to_string(facts->version) +
                                          ": this railbed reads version " + std::to_string(kFactsVersion));
  if (const std::string odd = odd_name(*facts); !odd.empty())
    return fail(ErrorKind::kBadInput, "facts: " + odd + ", which nothing can be called");
  if (const std::string odd = odd_key(*facts); !odd.empty())
    return fail(ErrorKind::kBadInput, "facts: " + odd);
  return facts;
}

}  // namespace railbed
