#include "verify/log_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <map>

#include "base/moment.h"

namespace railbed {
namespace {

// A driver takes a few seconds to report a failure: the longest time, in seconds, between its first and last
// message. Our value.
constexpr double kSameFailure = 5;

// Seconds that the driver takes to stop a program whose memory access was invalid. Our value.
constexpr double kGivenUpWithin = 60;

bool follows(double effect, double cause) { return effect >= cause && effect - cause <= kGivenUpWithin; }

// Adds what a PCI address touches: the device, the devices below a bridge, and their rails. An address that
// is no longer on PCI is taken for a GPU if the GPU driver reported the event.
void touch_pci(const NodeView& node, const LogEvent& event, Things& touches) {
  touches.add("pci:" + event.subject);
  const PciDevice* device = find_pci(node.pci(), event.subject);
  if (device != nullptr && !is_bridge(*device)) {
    touches.add(node.touches_of(*device));
    return;
  }
  for (const PciDevice& device : node.pci()) {
    const auto path = path_to_root(node.pci(), device);
    const bool below = std::ranges::find(path, event.subject, &PciDevice::address) != path.end();
    if (!below || is_bridge(device)) continue;
    touches.add(node.touches_of(device));
  }
  const bool of_gpu = event.kind == LogKind::kXid || event.kind == LogKind::kXidNvlinkFatal ||
                      event.kind == LogKind::kGpuLost;
  if (of_gpu && find_pci(node.pci(), event.subject) == nullptr) touches.add("gpus");
}

// Returns true for events that hang tasks: they wait for a disk or a server that does not respond.
bool holds_tasks(LogKind kind) {
  using enum LogKind;
  return is_failure_of_drive(kind) || kind == kDiskPowerSaving || kind == kServerSilent;
}

// Returns what an event touches: a rail's end, GPUs, adapters, a PCI device, or "tasks" for events that hang
// tasks.
Things touches_of(const NodeView& node, const LogEvent& event) {
  Things touches;
  if (event.kind == LogKind::kLinkDown || event.kind == LogKind::kLinkUp ||
      event.kind == LogKind::kTransmitTimeout) {
    const auto end = std::ranges::find(node.ends, event.subject, &RailEnd::name);
    if (end != node.ends.end()) return end->touches;
    touches.add("netdev:" + event.subject);
  } else if (event.kind == LogKind::kModuleRejected || event.kind == LogKind::kUnknownSymbol ||
             event.kind == LogKind::kSignatureRejected) {
    if (event.subject.starts_with("nvidia")) {
      touches.add(node.gpu_touches);
    } else {
      for (const PciDevice* adapter : node.adapters()) touches.add(node.touches_of(*adapter));
    }
  } else if (event.kind == LogKind::kSxidFatal || event.kind == LogKind::kSxidNonFatal ||
             event.kind == LogKind::kVersionMismatch ||
             ((event.kind == LogKind::kGpuInitFailed || event.kind == LogKind::kGpuUnsupported) &&
              event.subject.empty())) {
    touches.add(node.gpu_touches);
  } else if (holds_tasks(event.kind) || event.kind == LogKind::kHungTask) {
    touches.add("tasks");
  } else if (event.subject.find(':') != std::string::npos) {
    touch_pci(node, event, touches);
  }
  return touches;
}

}  // namespace

std::optional<XidAction> xid_action_of(const LogEvent& event) {
  if (event.kind == LogKind::kGpuLost) return XidAction::kReboot;
  if (event.kind == LogKind::kXidNvlinkFatal) return XidAction::kReset;  // NVIDIA Xid catalog, NVLink 5
  if (event.kind != LogKind::kXid) return std::nullopt;
  const Xid* row = find_xid(event.code);
  // a code that is newer than the table must not be ignored
  if (row == nullptr) return XidAction::kApplication;
  if (row->action != XidAction::kDriverSays) return row->action;
  return action_of_xid_154(event.text).value_or(XidAction::kReset);
}

std::string xid_meaning_of(const LogEvent& event) {
  if (event.kind == LogKind::kGpuLost) return "the GPU has fallen off the bus";
  if (event.kind == LogKind::kXidNvlinkFatal) return fmt::format("Xid {}, a fatal NVLink error", event.code);
  const Xid* row = find_xid(event.code);
  return fmt::format("Xid {}, {}", event.code,
                     row == nullptr ? "a number that railbed does not know" : row->meaning);
}

bool is_xid_of_program(int code) { return code == 13 || code == 31; }

bool xid_follows_program(int code) { return code == 109; }

bool xid_came_before(const LogEvent& cause, double effect) {
  return follows(effect, cause.first) || follows(effect, cause.last);
}

void each_told(const Survey& survey, Judge& judge, std::string_view what, const Concerns& concerns,
               const JudgeTold& look) {
  for (const NodeView& node : survey.nodes) {
    const Reading<KernelLog>& log = node.facts->kernel_log;
    if (!log) {
      judge.on(node, std::string(what))
          .not_applicable(log.absent() ? "no kernel log was read here"
                                       : "the kernel log cannot be read (host.kernel-log)");
      continue;
    }
    std::map<std::string, std::vector<const LogEvent*>> subjects;
    for (const LogEvent& event : log->events)
      if (concerns(node, event)) subjects[event.subject].push_back(&event);
    if (subjects.empty()) {
      Case verdict = judge.on(node, std::string(what));
      verdict.seen(log);
      log->part ? verdict.unknown(kPartOfLog) : verdict.pass("none in the kernel log");
    }
    for (auto& [subject, events] : subjects) {
      Case verdict =
          judge.on(node, subject.empty() ? std::string(what) : subject, touches_of(node, *events.front()));
      verdict.seen(log);
      look(verdict, Told{node, std::move(events)});
    }
  }
}

// Sums the counts of the events, leaving out those that another event of the same failure precedes in the
// list.
std::uint64_t Told::total() const {
  std::uint64_t sum = 0;
  for (auto one = events.begin(); one != events.end(); ++one) {
    const bool said = std::any_of(events.begin(), one, [&](const LogEvent* other) {
      return came_together(*other, **one, kSameFailure);
    });
    if (!said) sum += (*one)->count;
  }
  return sum;
}

const LogEvent& Told::newest() const { return **std::ranges::max_element(events, {}, &LogEvent::last); }

const LogEvent* Told::first(LogKind kind) const {
  const auto found = std::ranges::find(events, kind, &LogEvent::kind);
  return found == events.end() ? nullptr : *found;
}

std::string Told::how_often() const {
  const std::uint64_t count = total();
  const std::string last = utc_text(newest().last);
  return count == 1 ? fmt::format("once, at {}", last) : fmt::format("{} times, last at {}", count, last);
}

double Told::per_day() const {
  const KernelLog& log = *node.facts->kernel_log;
  return static_cast<double>(total()) / std::max(1.0, (log.ends - log.begins) / 86400);
}

std::string Told::thing() const {
  const std::string& address = newest().subject;
  const PciDevice* device = find_pci(node.pci(), address);
  return device != nullptr && is_gpu(*device) ? "GPU " + address : address;
}

}  // namespace railbed
