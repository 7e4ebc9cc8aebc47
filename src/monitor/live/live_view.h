// The data that a live page or a terminal shows: one document about one node or a fleet. It is made in three
// steps, each a pure function or a class that only computes:
//
//   LiveView view = live_view(evidence, findings, names);  // at each look: what the nodes are, and are not
//   add_story(view, desk.present(), desk.recent(100));     // since when, and what happened before
//   meter.measure(view, node, counted);                    // at each count: rates, and their last minutes
//
// `made_at` and all other times are Unix seconds on the clock of the machine that made the view. Ages are in
// seconds.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "monitor/events/events.h"
#include "report/picture/scene.h"
#include "verify/verify.h"

namespace railbed {

inline constexpr std::size_t kLiveSamples = 60;    // in a sparkline
inline constexpr std::size_t kLiveFindings = 200;  // limit for the findings in a view
inline constexpr std::size_t kLiveEvents = 100;

// Samples, the newest last; nullopt where there is none, which is a gap in the sparkline.
using LiveSamples = std::vector<std::optional<double>>;

// An error counter that has grown since the reading before.
struct LiveError {
  std::string counter;  // the name that the kernel or the driver uses: "symbol_error", "rx_errors"
  double a_second = 0;
  FIELDS(LiveError, counter, a_second);
};

// One node's end of a rail.
struct LiveEnd {
  std::string node;
  std::string interface;
  std::string device;  // "mlx5_0/1"; empty if no RDMA device is behind it
  Health health = Health::kGood;
  std::string trouble;                   // the message of its worst finding; empty if there is none
  std::string state;                     // "ACTIVE", "DOWN"; without RDMA "up", "down"; empty if unknown
  std::optional<BitRate> rate;           // the rate of the port
  std::optional<BitRate> expected_rate;  // the rate that it should have
  std::optional<int> mtu;                // of the interface
  std::optional<int> expected_mtu;
  std::optional<double> receive;  // bytes per second now; nullopt if not known yet, or not countable
  std::optional<double> transmit;
  std::vector<LiveError> errors;
  LiveSamples receive_samples;
  LiveSamples transmit_samples;
  LiveSamples error_samples;  // sum of all error counters, per second
  FIELDS(LiveEnd, node, interface, device, health, trouble, state, rate, expected_rate, mtu, expected_mtu,
         receive, transmit, errors, receive_samples, transmit_samples, error_samples);
};

// One rail with the ends that the watched nodes have on it.
struct LiveRail {
  std::string name;               // empty if cluster.yaml names none: all RDMA interfaces
  std::string kind;               // "RoCE", "InfiniBand", "Ethernet"; empty if the name is
  Health health = Health::kGood;  // the worst health of its ends and of findings on the rail
  std::vector<LiveEnd> ends;
  FIELDS(LiveRail, name, kind, health, ends);
};

// One GPU of a node.
struct LiveGpu {
  std::string pci_address;
  std::string model;
  Health health = Health::kGood;
  std::string trouble;                // the message of its worst finding, or why NVML could not read it
  std::optional<double> utilisation;  // percent
  std::optional<double> temperature;  // degrees Celsius
  std::optional<double> power;        // watts
  std::optional<double> power_limit;
  std::optional<double> memory_used;  // bytes
  std::optional<double> memory;
  LiveSamples utilisation_samples;
  FIELDS(LiveGpu, pci_address, model, health, trouble, utilisation, temperature, power, power_limit,
         memory_used, memory, utilisation_samples);
};

// One watched node.
struct LiveNode {
  std::string name;
  std::string system;       // "Debian GNU/Linux 12 · 6.1.0-21-amd64"
  bool reachable = false;   // the last attempt to read it succeeded
  std::string why;          // why it is not reachable
  std::string asked_again;  // time of the next attempt: "in 40 s", "now"; empty if reachable
  Health health = Health::kGood;
  std::size_t failures = 0;  // findings on it that no other finding explains
  std::size_t warnings = 0;
  std::size_t unknown = 0;
  std::optional<double> look_age;   // age of its facts and so of its findings; nullopt if there was no look
  std::optional<double> count_age;  // age of its rates and link states
  std::vector<LiveGpu> gpus;
  FIELDS(LiveNode, name, system, reachable, why, asked_again, health, failures, warnings, unknown, look_age,
         count_age, gpus);
};

// A finding that no other one explains. Equal findings on several nodes are one.
struct LiveFinding {
  std::string rule;
  std::string node;                // the first node; empty if it concerns the cluster as a whole
  std::vector<std::string> nodes;  // all nodes
  std::string subject;
  Status status = Status::kUnknown;
  std::string headline;  // "gpu07: mlx5_3/1 is DOWN", "gpu[001-016]: …"
  std::string message;
  std::string remedy;
  std::vector<std::string> commands;        // commands of the remedy, to run on the (first) node
  std::size_t explains = 0;                 // number of findings that follow from it
  std::optional<double> since;              // time of its appearance; nullopt while one look may err
  std::uint64_t times_before = 0;           // number of earlier appearances
  std::uint64_t flaps = 0;                  // if it comes and goes: number of its changes,
  std::optional<double> flapping_since;     // and the time of the first
  std::vector<std::string> changes_before;  // facts that changed before it, the newest first
  FIELDS(LiveFinding, rule, node, nodes, subject, status, headline, message, remedy, commands, explains,
         since, times_before, flaps, flapping_since, changes_before);
};

// The whole document.
struct LiveView {
  double made_at = 0;
  std::string title;     // the name of the cluster, else of the node
  std::string sentence;  // for a pager: "gpu07: mlx5_3/1 is DOWN. 2 other things are broken besides"
  Health health = Health::kGood;
  std::size_t failures = 0;  // counts all findings, including those that others explain
  std::size_t warnings = 0;
  std::size_t unknown = 0;
  std::size_t passed = 0;
  std::vector<LiveNode> nodes;
  std::vector<LiveRail> rails;
  std::vector<LiveFinding> findings;  // the worst first
  std::size_t findings_left_out = 0;
  std::vector<NodeEvent> events;  // the newest first
  FIELDS(LiveView, made_at, title, sentence, health, failures, warnings, unknown, passed, nodes, rails,
         findings, findings_left_out, events);
};

// Returns the view of these nodes, made from the evidence and its findings. A node without facts is shown
// with the reason, or as not read yet.
LiveView live_view(const Evidence& evidence, const Findings& findings, const std::vector<std::string>& names);

// Returns the picture of the cluster as in the report, with only these nodes: SVG in HTML, with everything
// escaped. The arguments are unchanged after the call.
std::string draw_live_picture(Evidence& evidence, Findings& findings, const std::vector<std::string>& names);

// Adds the history of the findings, and the recent events. `present` is the result of
// FindingWatch::present(); `recent` has the newest event last.
void add_story(LiveView& view, const std::vector<NodeEvent>& present, const std::vector<NodeEvent>& recent);

}  // namespace railbed
