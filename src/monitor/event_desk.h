// What becomes of each look of a monitor: events, written to the state folder, to journald and to a webhook.
// Whatever of these fails is told once and costs nothing else; an event that could not be written waits.
//
// One thread looks; the rest may be asked from any.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "host/journal.h"
#include "monitor/event_log.h"
#include "monitor/finding_watch.h"
#include "monitor/webhook.h"
#include "verify/verify.h"

namespace railbed {

struct EventDeskOptions {
  std::string folder = default_state_folder();
  std::string node;                     // as findings call it; of a fleet the cluster's name
  std::vector<std::string> nodes = {};  // of a fleet
  bool journal = true;
  std::string journal_socket = "/run/systemd/journal/socket";
  std::optional<WebhookOptions> webhook = {};  // its note is set by the desk
  // What a person should know of the monitor itself, a line each; from other threads too.
  std::function<void(const std::string&)> note = {};
};

struct EventCounts {
  std::map<EventKind, std::uint64_t> events = {};  // since the process began
  std::uint64_t unwritten = 0;                     // wait for room on the disk
  std::uint64_t lost = 0;                          // waited for too long
  std::uint64_t journal_refused = 0;               // journald did not take
  WebhookCounts webhook;
};

class EventDesk {
 public:
  static Result<std::unique_ptr<EventDesk>> open(EventDeskOptions options);
  ~EventDesk();  // keeps the state

  void look(const Verdict& verdict, const Facts& facts, double now);
  void failed_look(std::string_view why, double now);
  // Of a fleet: each node has a watch of its own, and the cluster as a whole one. Nothing of a node that gave
  // no facts is gone, and while there is one, nothing of the cluster as a whole: it may have an end there.
  void look_at_fleet(const Findings& findings, const Evidence& evidence, double now);

  std::vector<NodeEvent> recent(std::size_t most) const;  // the newest last; of earlier processes as well
  std::map<FindingKey, double> since() const;             // of the findings that are there: Unix time
  // The findings that are there, as an event each, with what had changed before them.
  std::vector<NodeEvent> present() const;
  EventCounts counts() const;

 private:
  EventDesk(EventDeskOptions options, EventLog log);
  void restore();
  Result<void> go_on(WatchState state, std::vector<WatchState> nodes);
  std::vector<NodeEvent> all_present(double now) const;
  std::map<FindingKey, double> all_since() const;
  void take(std::vector<NodeEvent> events, double now);
  void tell(const NodeEvent& event);
  void write_waiting();
  void keep_state(double now, bool at_once);
  void note(const std::string& text) const;
  // Tells a trouble once, until it is over.
  void trouble(std::optional<std::string>& told, const Result<void>& outcome, std::string_view over);

  EventDeskOptions options_;
  EventLog log_;
  FindingWatch watch_;  // of the node, or of the cluster as a whole
  std::map<std::string, FindingWatch> node_watches_;
  std::optional<SystemJournal> journal_;
  std::unique_ptr<Webhook> webhook_;

  mutable std::mutex mutex_;  // of what follows; the watch and the files are the looking thread's
  std::deque<NodeEvent> recent_;
  std::map<FindingKey, double> since_;
  std::vector<NodeEvent> present_;
  EventCounts counts_;

  std::deque<std::string> waiting_;  // lines for the log
  std::optional<std::string> log_trouble_, state_trouble_, journal_trouble_;
  bool told_left_out_ = false;
  bool restored_ = false;
  double kept_at_ = 0;
};

}  // namespace railbed
