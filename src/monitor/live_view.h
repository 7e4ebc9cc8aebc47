// What a live page or a terminal shows of the nodes that are watched: one document, of one node or of a
// fleet. It is made in three steps, each a pure function or a class that only computes:
//
//   LiveView view = live_view(evidence, findings, names);  // at each look: what the nodes are, and are not
//   add_story(view, desk.present(now), desk.recent(100));  // since when, and what happened before
//   meter.measure(view, node, counted);                    // at each count: rates, and their last minutes
//
// `made_at` and all other times are Unix seconds by the clock of who made it; ages are seconds.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "monitor/events.h"
#include "report/scene.h"
#include "verify/verify.h"

namespace railbed {

inline constexpr std::size_t kLiveSamples = 60;    // of a sparkline
inline constexpr std::size_t kLiveFindings = 200;  // that are shown
inline constexpr std::size_t kLiveEvents = 100;

// Samples, the newest last; nothing where one could not be made: the sparkline has a gap there.
using LiveSamples = std::vector<std::optional<double>>;

// An error counter that moved since the count before.
struct LiveError {
  std::string counter;  // "symbol_error", "rx_errors": as the kernel or the driver calls it
  double a_second = 0;
  FIELDS(LiveError, counter, a_second);
};

// One node's end of a rail.
struct LiveEnd {
  std::string node;
  std::string interface;
  std::string device;  // "mlx5_0/1"; empty: no RDMA device is behind it
  Health health = Health::kGood;
  std::string trouble;                   // the message that says most; empty where there is none
  std::string state;                     // "ACTIVE", "DOWN"; without RDMA "up", "down"; empty: not known
  std::optional<BitRate> rate;           // that the port runs at
  std::optional<BitRate> expected_rate;  // and should
  std::optional<int> mtu;                // of the interface
  std::optional<int> expected_mtu;
  std::optional<double> receive;  // bytes a second now; nothing: not known yet, or not countable
  std::optional<double> transmit;
  std::vector<LiveError> errors;
  LiveSamples receive_samples;
  LiveSamples transmit_samples;
  LiveSamples error_samples;  // all counters together, a second
  FIELDS(LiveEnd, node, interface, device, health, trouble, state, rate, expected_rate, mtu, expected_mtu,
         receive, transmit, errors, receive_samples, transmit_samples, error_samples);
};

struct LiveRail {
  std::string name;  // empty: cluster.yaml names no rails, these are the RDMA interfaces that are there
  std::string kind;  // "RoCE", "InfiniBand", "Ethernet"; empty with the name
  Health health = Health::kGood;  // the worst of its ends and of what is found about the rail
  std::vector<LiveEnd> ends;
  FIELDS(LiveRail, name, kind, health, ends);
};

struct LiveGpu {
  std::string pci_address;
  std::string model;
  Health health = Health::kGood;
  std::string trouble;                // also why NVML does not answer for it
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

struct LiveNode {
  std::string name;
  std::string system;       // "Debian GNU/Linux 12 · 6.1.0-21-amd64"
  bool reachable = false;   // it answered when it was last asked
  std::string why;          // it did not
  std::string asked_again;  // "in 40 s": when it is next tried; empty where it answers
  Health health = Health::kGood;
  std::size_t failures = 0;  // findings about it that no other explains
  std::size_t warnings = 0;
  std::size_t unknown = 0;
  std::optional<double> look_age;   // of its facts, and so of its findings; nothing: never looked at
  std::optional<double> count_age;  // of its rates and link states
  std::vector<LiveGpu> gpus;
  FIELDS(LiveNode, name, system, reachable, why, asked_again, health, failures, warnings, unknown, look_age,
         count_age, gpus);
};

// What is wrong and no other finding explains; the same on several nodes is one.
struct LiveFinding {
  std::string rule;
  std::string node;                // the first; empty: it concerns the cluster as a whole
  std::vector<std::string> nodes;  // all
  std::string subject;
  Status status = Status::kUnknown;
  std::string headline;  // "gpu07: mlx5_3/1 is DOWN", "gpu[001-016]: …"
  std::string message;
  std::string remedy;
  std::vector<std::string> commands;        // of the remedy, to run on the (first) node
  std::size_t explains = 0;                 // findings that follow from it
  std::optional<double> since;              // nothing: it was not told yet, for one look may err
  std::uint64_t times_before = 0;           // it had appeared before
  bool flapping = false;                    // it comes and goes
  std::vector<std::string> changes_before;  // facts that changed before it, the newest first
  FIELDS(LiveFinding, rule, node, nodes, subject, status, headline, message, remedy, commands, explains,
         since, times_before, flapping, changes_before);
};

struct LiveView {
  double made_at = 0;
  std::string title;     // the cluster's name, else the node's
  std::string sentence;  // as a pager reads it: "gpu07: mlx5_3/1 is DOWN. 2 other things are broken besides"
  Health health = Health::kGood;
  std::size_t failures = 0;  // of all findings, also of those that others explain
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

// Of these nodes, what the evidence and the verdict on it show. One of them that gave no facts is shown with
// why, or as not asked yet.
LiveView live_view(const Evidence& evidence, const Findings& findings, const std::vector<std::string>& names);

// The cluster's picture as the report draws it, these nodes alone: SVG in HTML, everything escaped.
std::string draw_live_picture(Evidence& evidence, Findings& findings, const std::vector<std::string>& names);

// `present`: the findings that are there, as FindingWatch::present() tells them; `recent`: the newest last.
void add_story(LiveView& view, const std::vector<NodeEvent>& present, const std::vector<NodeEvent>& recent);

}  // namespace railbed
