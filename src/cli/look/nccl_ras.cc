#include "cli/look/nccl_ras.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fields.h"
#include "base/result.h"
#include "base/text.h"
#include "campaign/look/ras.h"
#include "cli/document.h"
#include "cli/terminal.h"
#include "facts/software/nccl.h"
#include "facts/software/process.h"
#include "nccl/severity.h"
#include "nccl/version.h"

namespace railbed {
namespace {

constexpr nccl::Version kFirstWithRas{2, 24, 0};
constexpr std::size_t kMostRasPlaces = 8;  // the environment of other users' processes adds addresses, too

// The addresses at which processes of this node listen, and the reasons why others do not.
struct ListeningProcesses {
  std::vector<RasAddress> addresses = {};
  std::vector<std::string> obstacles = {};
};

std::string mapped_version(const Process& process) {
  if (!process.seen.libraries.ok()) return "";
  for (const MappedLibrary& library : *process.seen.libraries)
    if (library.name == "libnccl") return library.version;
  return "";
}

void add_process(const Process& process, ListeningProcesses& into) {
  const auto* enabled = effective(process.nccl, "NCCL_RAS_ENABLE");
  const auto* address = effective(process.nccl, "NCCL_RAS_ADDR");
  const std::string written = mapped_version(process);
  const auto version = nccl::Version::parse(written);
  const std::string who = fmt::format("process {} {}", process.seen.pid, process.seen.name);
  if (version && *version < kFirstWithRas) {
    into.obstacles.push_back(fmt::format("{} has NCCL {}: RAS came with 2.24", who, written));
    return;
  }
  if (enabled != nullptr && enabled->value == "0") {
    into.obstacles.push_back(fmt::format("{} has NCCL_RAS_ENABLE=0 ({})", who, enabled->from));
    return;
  }
  const auto network = process.seen.shares.find("net");
  if (network != process.seen.shares.end() && network->second.ok() && !*network->second)
    into.obstacles.push_back(fmt::format(
        "{} is in a network of its own: run nsenter -t {} -n railbed nccl --ras", who, process.seen.pid));
  auto at = address == nullptr ? RasAddress{} : RasAddress::parse(address->value);
  if (!at)
    into.obstacles.push_back(
        fmt::format("{} has NCCL_RAS_ADDR={}, which is no address", who, address->value));
  if (at && into.addresses.size() < kMostRasPlaces &&
      std::ranges::find(into.addresses, *at) == into.addresses.end())
    into.addresses.push_back(*at);
}

ListeningProcesses listening_processes(Host& host) {
  ListeningProcesses found;
  if (const auto running = collect_running(host))
    for (const Process& process : running->found) add_process(process, found);
  if (found.addresses.empty()) found.addresses.push_back({});
  return found;
}

int report_silence(Error error, const std::vector<std::string>& obstacles) {
  if (error.kind == ErrorKind::kCancelled) return report(error);
  std::string text = "RAS does not answer:\n";
  for (const std::string_view line : lines(error.text)) text += fmt::format("  {}\n", printable(line));
  for (std::size_t i = 0; i < std::min(obstacles.size(), kMostRasPlaces); ++i)
    text += fmt::format("  {}\n", printable(obstacles[i]));
  if (obstacles.size() > kMostRasPlaces)
    text += fmt::format("  and {} more\n", obstacles.size() - kMostRasPlaces);
  text +=
      "Run this on a node of the job (ssh NODE railbed nccl --ras), or give the job's NCCL_RAS_ADDR: --ras HOST:PORT. It "
      "needs NCCL 2.24 or newer without NCCL_RAS_ENABLE=0. Without RAS: docs/how-to/job-that-hangs.md";
  print_to_stderr("railbed: {}\n", text);
  return kExitCouldNotLook;
}

int ras_exit_code(nccl::Severity severity) {
  if (severity == nccl::Severity::kNote) return kExitClean;
  return severity == nccl::Severity::kError ? kExitFailures : kExitWarnings;
}

}  // namespace

int look_at_job(Host& host, const RasOptions& options, bool json) {
  ListeningProcesses asked;
  if (options.address.empty()) {
    asked = listening_processes(host);
  } else {
    const auto at = RasAddress::parse(options.address);
    if (!at)
      return report({ErrorKind::kBadInput, fmt::format("--ras {}: write it as HOST, HOST:PORT or [::1]:PORT",
                                                       printable(options.address))});
    asked.addresses = {*at};
  }
  auto look = look_at_ras(asked.addresses, std::chrono::seconds(options.apart), {}, terminal_caller());
  clear_progress();
  if (!look) return report_silence(look.error(), asked.obstacles);
  RasOutput output{std::move(look->address), diagnose::judge_ras(look->pair), std::move(look->pair)};
  if (json)
    print_document(kRasDocument, output);
  else
    fmt::print("{}Asked at {}, twice within {:.1f} s.\n", diagnose::to_text(output.answers, output.verdict),
               printable(output.address), output.answers.seconds);
  return ras_exit_code(output.verdict.severity);
}

}  // namespace railbed
