// What people send to support may be anybody's: an archive is read within its bounds or refused, each tool's
// text is read as far as it is one, and the machine that comes of it can be looked at.
//
// Rooms: host nvidia os base
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/json.h"
#include "fuzz/require.h"
#include "host/calls.h"
#include "host/host.h"
#include "host/kernel_log.h"
#include "host/sent_answers.h"
#include "host/support/bug_report.h"
#include "host/support/nvidia_smi.h"
#include "host/support/pasted.h"
#include "host/support/support.h"
#include "host/support/sysinfo_snapshot.h"
#include "host/support/texts.h"
#include "nvidia/gpu_answers.h"

namespace railbed {
namespace {

// Every parser that takes a text alone.
constexpr void (*kParsers[])(std::string_view, ReportTree&) = {
    [](std::string_view text, ReportTree& report) { add_lspci(text, true, report, text); },
    [](std::string_view text, ReportTree& report) { add_nvidia_smi(text, text, report); },
    [](std::string_view text, ReportTree& report) {
      add_nvidia_topology({text, true, text, text}, {{0, "0000:17:00.0"}, {1, "0000:65:00.0"}}, report);
    },
    [](std::string_view text, ReportTree& report) { add_ip_address(text, true, report); },
    [](std::string_view text, ReportTree& report) { add_ip_route(text, report); },
    [](std::string_view text, ReportTree& report) {
      add_kernel_log({{"dmesg", text, false}, {"journalctl", text, true}}, {std::nullopt, 1e9, 3600}, report);
    },
    add_nvidia_smi_errors,
    add_ethtool_fec,
    add_ibstatus,
    add_ibstat,
    add_rdma_link,
    add_ibdev2netdev,
    add_show_gids,
    add_ibv_devinfo,
    add_uptime,
    add_sysctl,
    add_uname,
    add_lsmod,
    add_lscpu,
    add_numactl,
    add_timedatectl,
    [](std::string_view text, ReportTree& report) {
      add_adapters({{"0000:17:00.0", text}, {"", text}}, report);
    },
    [](std::string_view text, ReportTree& report) {
      add_ipmitool({{text, true}, {text, false}}, report);
    },
    [](std::string_view text, ReportTree& report) {
      add_gpu_tests({text, text}, report);
    }};

// What stands in for the libraries is what they answer.
void require_answers(const Tree& tree) {
  for (const auto& [name, answer] : tree.calls) {
    if (!answer) continue;
    if (name == "nvml") require(bool(json::read<NvmlSystem>(*answer)));
    if (name.starts_with("nvml 0")) require(bool(json::read<NvmlGpu>(*answer)));
    if (name == "nvml p2p") require(bool(json::read<NvmlPeers>(*answer)));
    if (name == "verbs") require(bool(json::read<VerbsAnswer>(*answer)));
    if (name == "adapters") {
      const auto adapters = json::read<std::vector<AdapterAnswer>>(*answer);
      require(adapters && adapters->size() <= kMostSentAdapters);
      for (const AdapterAnswer& adapter : *adapters) require(adapter.settings.size() <= kMostSentSettings);
    }
    if (name == "signals") {
      const auto signals = json::read<std::vector<SignalAnswer>>(*answer);
      require(signals && signals->size() <= kMostSentSignals);
      for (const SignalAnswer& signal : *signals) {
        require(signal.raw_errors.size() <= kMostSentLanes && signal.module.size() <= kMostSentReadings);
        require(signal.faults.size() < 2 * kMostSentLanes);
        for (const auto& ratio : {signal.raw_ber, signal.effective_ber, signal.symbol_ber})
          require(!ratio || (*ratio >= 0 && *ratio <= 1));
      }
    }
    if (name == "gpu-tests") {
      const auto tests = json::read<GpuTestsAnswer>(*answer);
      require(tests && tests->tests.size() <= kMostSentTests && tests->errors.size() <= kMostSentMessages);
    }
    if (name == "kernel-log") require(bool(json::read<KernelLogAnswer>(*answer)));
    if (name == "clock") require(bool(json::read<ClockAnswer>(*answer)));
  }
}

void look_at(ReportTree report) {
  const Gaps gaps = report.gaps();
  Tree tree = std::move(report).tree();
  require_answers(tree);
  tree.each([](const std::string& path, const TreeEntry&) { require(path.find("/../") == path.npos); });
  const auto host = open_tree(std::move(tree), gaps);
  for (const std::string folder : {"/sys/bus/pci/devices", "/sys/class/net", "/sys/class/infiniband"}) {
    const auto names = host->list(folder);
    for (const std::string& name : items(names)) {
      (void)host->resolve(folder + "/" + name + "/device");
      (void)host->read(folder + "/" + name + "/address");
    }
  }
}

void read_texts(std::string_view text) {
  ReportTree report;
  for (const auto parse : kParsers) parse(text, report);
  add_online(report);
  if (const auto outputs = outputs_in("paste", std::string(text)))
    for (const Output& output : *outputs) require(!output.words.empty());
  (void)date_in(text, 0);
  (void)is_lspci_tree(text);
  ReportTree copies;
  Outputs outputs;
  read_sysinfo_snapshot(text, copies, outputs);
  for (const Output& output : outputs.all()) require(!output.words.empty());
  require(without_colours(std::string(text)).size() <= text.size());
  for (const int boots : {1, 2}) require(messages_of_boot(text, boots).size() <= text.size() + 1);
  require(messages_of_log_file(text).size() <= text.size() + 1);
  for (const auto& [index, address] : find_gpu_addresses(text)) require(full_pci_address(address) == address);
  add_ethtool("eth0", text, report);
  add_ethtool_driver("eth0", text, report);
  add_mlxlink({{"mlx5_0", 1, text}, {std::string(text), 1, text}}, report);
  look_at(std::move(report));
}

void read_report(std::string_view bytes) {
  SentLimits limits;
  limits.unpacked = 4 << 20;
  limits.kept = 1 << 20;
  limits.entries = 1000;
  auto sent = read_archive_bytes(bytes, "fuzz", limits);
  if (!sent) return;
  for (const auto& [path, file] : sent->files)
    require(path.find("..") == path.npos || path.find("../") == path.npos);
  if (auto reports = reports_of(std::move(*sent), "fuzz")) {
    require(!reports->nodes.empty());
    for (SupportReport& report : reports->nodes) {
      require(!report.node.empty());
      look_at(std::move(report.tree));
    }
  }
}

}  // namespace
}  // namespace railbed

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = railbed::as_text(data, size);
  railbed::read_texts(bytes);
  railbed::read_report(bytes);
  return 0;
}
