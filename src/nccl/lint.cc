// The linter checks three properties of a node's variables. Does this NCCL have the variable, and does it
// read the value as intended (lint_values.cc)? Does the value refer to something that exists here: devices,
// interfaces, GIDs, files (lint_devices.cc)? Is it sensible as a setting for every job (this file)?
//
// NCCL itself checks none of them: it ignores an unknown name, reads "true" as 0, treats the name of a device
// as a prefix, and falls back to TCP without a warning. Values are checked wherever they are set, also in
// services and root's file. References are checked for the setting in effect in a login shell (settings.h).
// Checks that depend on the version assume the expected one, else the installed one, else the newest.
#include "nccl/lint.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/text.h"
#include "nccl/linter.h"

namespace railbed::nccl {

void Linter::say(Severity severity, std::string_view id, const NcclVariable& variable, std::string message,
                 Fix fix, std::string_view source) {
  complaints.push_back({std::string(id), severity, variable.name, variable.value, variable.from,
                        std::move(message), std::move(fix.text), std::move(fix.value), std::string(source)});
}

bool Linter::has_active_rdma() const {
  if (!facts.rdma.devices.ok()) return false;
  return std::ranges::any_of(*facts.rdma.devices, [](const RdmaDevice& device) {
    return device.ports.ok() && std::ranges::any_of(*device.ports, [](const RdmaPort& port) {
             return port.state.value_or("") == "ACTIVE";
           });
  });
}

namespace {

// Finds variables that disable RDMA on a node that has it, or require it on a node without an active port.
void rdma_off(Linter& lint) {
  if (const auto* const set = lint.settings.find("NCCL_IB_DISABLE");
      set != nullptr && lint.settings.number(set->name).value_or(0) != 0 && lint.has_active_rdma())
    lint.say(Severity::kError, "rdma-off", *set,
             "switches RDMA off on a node that has it: all traffic goes over TCP", remove_line());
  const auto* const net = lint.settings.find("NCCL_NET");
  if (net == nullptr) return;
  if (lower(net->value) == "socket" && lint.has_active_rdma())
    lint.say(Severity::kError, "rdma-off", *net, "asks for TCP on a node that has RDMA", remove_line());
  if (lower(net->value) == "ib" && (lint.facts.rdma.devices.ok() || lint.facts.rdma.devices.absent()) &&
      !lint.has_active_rdma())
    lint.say(Severity::kError, "no-rdma", *net,
             "forces RDMA, and no RDMA port is active here: NCCL does not start",
             Fix("Bring a port up, or remove the line.", ""));
}

// Finds debugging and experimental variables that are set for every job.
void debugging_left_on(Linter& lint) {
  std::vector<const NcclVariable*> places = lint.settings.all();
  places.insert(places.end(), lint.settings.elsewhere().begin(), lint.settings.elsewhere().end());
  for (const NcclVariable* const set : places) {
    if (!for_everybody(*set)) continue;
    const std::string level = lower(set->value);
    if (set->name == "NCCL_DEBUG" && (level == "info" || level == "trace"))
      lint.say(Severity::kWarning, "debug-on", *set,
               "was left on for everybody: each rank writes megabytes of log",
               Fix("Write WARN; set INFO for single jobs.", "WARN"));
    if (set->name == "NCCL_TOPO_DUMP_FILE" || set->name == "NCCL_GRAPH_DUMP_FILE")
      lint.say(Severity::kWarning, "debug-on", *set, "makes every job write this file", remove_line());
    if ((set->name == "NCCL_P2P_DISABLE" || set->name == "NCCL_SHM_DISABLE") &&
        lint.settings.number(set->name).value_or(0) == 1)
      lint.say(Severity::kWarning, "path-off", *set,
               set->name == "NCCL_P2P_DISABLE" ? "keeps GPUs of a node from NVLink and PCIe peer-to-peer"
                                               : "keeps processes of a node from shared memory",
               Fix("Remove the line; it is meant for experiments.", ""));
  }
}

// The traffic class is DSCP · 4 + ECN. NCCL's connections do not follow default_roce_tos.
void traffic_class(Linter& lint) {
  constexpr int kEcnMask = 3;
  const NcclVariable* const set = lint.settings.find("NCCL_IB_TC");
  const auto number = lint.settings.number("NCCL_IB_TC");
  if (set != nullptr && number && (*number & kEcnMask) == kEcnMask)
    lint.say(
        Severity::kError, "ecn-bits", *set,
        fmt::format("ends in ECN bits 11, which means \"congestion met\" from the start; DSCP {}",
                    *number / 4),
        Fix(fmt::format("Write {}, or {} for ECN-capable.", *number & ~kEcnMask, (*number & ~kEcnMask) | 2),
            std::to_string(*number & ~kEcnMask)));
  if (!lint.expected.traffic_class || !lint.has_active_rdma()) return;
  const int want = *lint.expected.traffic_class;
  const NcclVariable unset{"NCCL_IB_TC", "", ""};
  if (set == nullptr || !number)
    lint.say(Severity::kError, "traffic-class", unset,
             fmt::format("is not set, so NCCL sends with class 0; the lossless class is {} (DSCP {})", want,
                         want / 4),
             Fix(fmt::format(
                     "Add NCCL_IB_TC={} to /etc/nccl.conf; default_roce_tos marks RDMA-CM connections only.",
                     want),
                 std::to_string(want)));
  else if ((*number & ~kEcnMask) != (want & ~kEcnMask))
    lint.say(Severity::kError, "traffic-class", *set,
             fmt::format("is DSCP {}, and the lossless class is {} (DSCP {})", *number / 4, want, want / 4),
             write(std::to_string(want)));
}

// Checks the timeout: 4.096 µs · 2^NCCL_IB_TIMEOUT for each of up to seven retries.
void timeouts(Linter& lint) {
  const NcclVariable* const set = lint.settings.find("NCCL_IB_TIMEOUT");
  const auto exponent = lint.settings.number("NCCL_IB_TIMEOUT");
  if (set == nullptr || !exponent) return;
  if (*exponent == 0 || *exponent >= 32) {
    lint.say(Severity::kError, "timeout", *set, "waits for ever: a lost peer hangs the job",
             Fix("Write 20 (NCCL's default since 2.23), or at most 23.", "20"));
    return;
  }
  if (*exponent < 0) return;
  const auto retries = std::clamp(lint.settings.number("NCCL_IB_RETRY_CNT").value_or(7), 0LL, 7LL);
  const double seconds =
      4.096e-6 * std::pow(2.0, static_cast<double>(*exponent)) * static_cast<double>(retries);
  if (*exponent < 14)
    lint.say(Severity::kWarning, "timeout", *set,
             fmt::format("gives up after {:.2g} s: congestion alone ends jobs with error 12", seconds),
             Fix("Write 20 (NCCL's default since 2.23).", "20"));
  else if (*exponent > 23)
    lint.say(Severity::kWarning, "timeout", *set,
             fmt::format("waits {:.0f} minutes before a dead link is noticed", seconds / 60),
             Fix("Write 20 to 23; heal the fabric instead of waiting for it.", "23"));
}

void rails(Linter& lint) {
  const NcclVariable* const set = lint.settings.find("NCCL_CROSS_NIC");
  if (set != nullptr && lint.expected.separate_rails && lint.settings.number(set->name).value_or(2) == 1)
    lint.say(Severity::kWarning, "crosses-rails", *set,
             "lets traffic cross rails, each of which has its own switch", write("0"));
}

void socket_threads(Linter& lint) {
  const NcclVariable* const set = lint.settings.find("NCCL_NSOCKS_PERTHREAD");
  const auto threads = lint.settings.number("NCCL_SOCKET_NTHREADS").value_or(1);
  const auto sockets = lint.settings.number("NCCL_NSOCKS_PERTHREAD").value_or(1);
  if (set != nullptr && threads > 0 && sockets > 0 && threads <= 64 && sockets * threads > 64)
    lint.say(Severity::kWarning, "too-many-sockets", *set,
             fmt::format("times {} threads is more than 64 sockets; NCCL lowers it", threads),
             "Write a smaller number.");
}

// Warns if a job that a service starts gets another value than one from a login shell.
void contexts(Linter& lint) {
  for (const NcclService& service : lint.facts.nccl.services) {
    if (!service.variables.ok()) continue;
    std::map<std::string_view, const NcclVariable*> last;
    for (const NcclVariable& variable : *service.variables) last[variable.name] = &variable;
    for (const auto& [name, set] : last) {
      const NcclVariable* const login = lint.settings.find(name);
      if (login == nullptr || login->value == set->value) continue;
      lint.say(Severity::kWarning, "contexts-differ", *set,
               fmt::format("is what {} hands to its jobs; a login shell has \"{}\" from {}", service.name,
                           login->value, login->from),
               "Set it in one place that both read: /etc/nccl.conf.");
    }
  }
}

}  // namespace

std::span<const std::string_view> complaint_ids() {
  static constexpr std::string_view kIds[] = {
      // lint_values.cc
      "unknown", "not-nccl", "removed", "too-new", "deprecated", "not-a-number", "out-of-range",
      "unknown-word", "level-integer", "forced-choice", "quoted", "not-a-shell", "set-twice",
      // lint_devices.cc
      "prefix", "no-such-device", "port-down", "nothing-left", "no-interface", "no-such-interface",
      "loopback", "local-interface", "gid-wrong", "gid-pinned", "bad-range", "no-gid-in-range",
      "conf-in-conf", "conf-tilde", "conf-missing", "no-plugin",
      // lint.cc
      "rdma-off", "no-rdma", "debug-on", "path-off", "ecn-bits", "traffic-class", "timeout", "crosses-rails",
      "too-many-sockets", "contexts-differ"};
  return kIds;
}

void lint_habits(Linter& lint) {
  rdma_off(lint);
  debugging_left_on(lint);
  traffic_class(lint);
  timeouts(lint);
  rails(lint);
  socket_threads(lint);
  contexts(lint);
}

std::vector<Complaint> lint(const Facts& facts, const Expectation& expected) {
  const auto version = expected.version ? expected.version : installed_version(facts.nccl);
  Linter linter{facts, expected, version, Settings(facts.nccl), {}};
  lint_values(linter);
  lint_devices(linter);
  lint_habits(linter);
  std::ranges::stable_sort(linter.complaints, std::ranges::greater(), &Complaint::severity);
  return std::move(linter.complaints);
}

}  // namespace railbed::nccl
