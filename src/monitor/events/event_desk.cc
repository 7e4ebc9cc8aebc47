#include "monitor/events/event_desk.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>
#include <thread>

#include "base/fields.h"
#include "base/json.h"
#include "base/kept_format.h"
#include "base/moment.h"
#include "base/text.h"
#include "base/version.h"
#include "facts/facts.h"
#include "monitor/events/event_text.h"
#include "monitor/injection.h"

namespace railbed {
namespace {

constexpr std::size_t kMostRecent = 1000;
constexpr std::size_t kMostUnwritten = 1000;
// Interval of state writes while there are no events. A crash loses at most this much, which shortens the gap
// that is reported after a restart.
constexpr double kKeepSeconds = 30;
constexpr double kKeepWatchedSeconds = 600;
constexpr double kPruneSeconds = 86400;
constexpr double kMostAgedAtOnce = 31 * 86400.0;

// The contents of the state file. It begins with a KeptStamp.
struct DeskState {
  int version = format_of(Kept::kWatch).written;
  std::string railbed = railbed_version();
  WatchState watch;
  std::vector<WatchState> nodes;
  std::vector<Alert> unsent;
  FIELDS(DeskState, version, railbed, watch, nodes, unsent);
};

// Converts version 1: until findings were held, one that flapped had neither a count nor a time of its first
// change. Both follow from the changes that it kept, which were the latest of them.
void convert_from_one(WatchState& watch) {
  for (TrackedFinding& finding : watch.findings) {
    if (!finding.flapping || finding.flaps > 0) continue;
    finding.flaps = std::max<std::uint64_t>(finding.turns.size(), 1);
    finding.flapping_since = finding.turns.empty()
                                 ? finding.since
                                 : std::max(watch.last_look - (watch.age - finding.turns.front()), 0.0);
  }
}

Result<DeskState> parse_state(const json::Value& document, int version) {
  ASSIGN_OR_RETURN(auto state, json::decode<DeskState>(document));
  if (version == 1) {
    convert_from_one(state.watch);
    for (WatchState& watch : state.nodes) convert_from_one(watch);
  }
  return state;
}

// The contents of monitor.watched. It begins with a KeptStamp.
struct KeptWatched {
  int version = format_of(Kept::kWatched).written;
  std::string railbed = railbed_version();
  std::map<std::string, Watched> nodes;
  FIELDS(KeptWatched, version, railbed, nodes);
};

// Returns the priority of syslog(3).
std::string_view priority_of(const NodeEvent& event) {
  const bool there = event.kind == EventKind::kAppeared || event.kind == EventKind::kChanged ||
                     event.kind == EventKind::kFlapping || (event.kind == EventKind::kCalm && event.present);
  if (!there) return "6";
  return event.status == Status::kFail ? "3" : "4";
}

std::vector<JournalField> journal_fields(const NodeEvent& event) {
  const auto kind = enum_names(EventKind{})[static_cast<std::size_t>(event.kind)];
  std::vector<JournalField> fields = {{"MESSAGE", event_summary(event)},
                                      {"PRIORITY", std::string(priority_of(event))},
                                      {"SYSLOG_IDENTIFIER", "railbed"},
                                      {"RAILBED_EVENT", std::string(kind)},
                                      {"RAILBED_NODE", event.node}};
  const auto status = enum_names(Status{})[static_cast<std::size_t>(event.status)];
  if (is_injected(event.message)) fields.push_back({"RAILBED_INJECTED", "true"});
  if (!event.subject.empty()) fields.push_back({"RAILBED_SUBJECT", event.subject});
  if (event.rule.empty()) return fields;
  fields.push_back({"RAILBED_RULE", event.rule});
  fields.push_back({"RAILBED_STATUS", std::string(status)});
  if (event.since) fields.push_back({"RAILBED_SINCE", event.since->to_text()});
  if (event.flaps > 0) fields.push_back({"RAILBED_FLAPS", std::to_string(event.flaps)});
  if (event.flapping_since) fields.push_back({"RAILBED_FLAPPING_SINCE", event.flapping_since->to_text()});
  if (!event.remedy.empty()) fields.push_back({"RAILBED_REMEDY", event.remedy});
  for (const std::string& change : event.changes_before) fields.push_back({"RAILBED_BEFORE", change});
  return fields;
}

// Returns the findings that a watch follows, by node. The index by which one finding refers to the finding
// that explains it is no longer valid in the result; that there is an explanation stays visible.
std::map<std::string, Findings> split_by_node(const Findings& findings) {
  std::map<std::string, Findings> split;
  for (const Finding& finding : findings)
    if (severity(finding.status) <= severity(Status::kUnknown)) split[finding.node].push_back(finding);
  return split;
}

}  // namespace

EventDesk::EventDesk(EventDeskOptions options, EventLog log)
    : options_(std::move(options)), log_(std::move(log)), watch_(options_.node) {}

Result<std::unique_ptr<EventDesk>> EventDesk::open(EventDeskOptions options) {
  ASSIGN_OR_RETURN(auto log, EventLog::open(options.folder, options.log_bytes));
  std::unique_ptr<EventDesk> desk(new EventDesk(std::move(options), std::move(log)));
  if (desk->options_.journal) desk->journal_.emplace(desk->options_.journal_socket);
  if (desk->options_.webhook) {
    WebhookOptions webhook = *desk->options_.webhook;
    webhook.note = desk->options_.note;
    ASSIGN_OR_RETURN(auto opened, Webhook::open(std::move(webhook)));
    desk->webhook_ = std::move(opened);
  }
  RETURN_IF_ERROR(desk->restore());
  return desk;
}

EventDesk::~EventDesk() {
  if (restored_) keep_state(kept_at_, true);
  if (!watched_.empty()) write_watched();
}

void EventDesk::withdraw_injected() {
  auto gone = watch_.withdraw_injected(now_unix());
  if (gone.empty()) return;
  take(std::move(gone), now_unix());
  // A receiver should not wait for the end of a trial until the monitor starts again.
  constexpr int kTries = 20;
  for (int i = 0; i < kTries && webhook_ != nullptr && !webhook_->waiting().empty(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
}

void EventDesk::note(const std::string& text) const {
  if (options_.note) options_.note(printable(text));
}

Result<void> EventDesk::restore() {
  auto text = log_.read_state();
  if (options_.fresh && !(text && text->empty())) {
    ASSIGN_OR_RETURN(const auto aside, log_.set_state_aside());
    note(fmt::format("begins without what the watch remembered, which is now {}", aside));
    text = std::string();
  }
  Result<DeskState> state = text ? Result<DeskState>(DeskState{}) : Result<DeskState>(fail(text.error()));
  if (text && !text->empty()) {
    const auto document = json::parse(*text);
    const auto stamp =
        document ? json::decode<KeptStamp>(*document) : Result<KeptStamp>(fail(document.error()));
    const KeptFormat& format = format_of(Kept::kWatch);
    if (stamp && stamp->version > format.written) return check_kept(Kept::kWatch, log_.state_path(), *stamp);
    state = stamp ? parse_state(*document, stamp->version) : Result<DeskState>(fail(stamp.error()));
    if (state)
      if (const auto went_on = go_on(std::move(state->watch), std::move(state->nodes)); !went_on)
        state = fail(went_on.error());
    if (state && stamp->version < format.written)
      if (const auto kept = log_.keep_older_state(stamp->version); !kept) note(kept.error().text);
  }
  if (!state) {
    const auto aside = log_.set_state_aside();
    note(fmt::format("what the watch remembered cannot be used ({}): {}; it begins anew", state.error().text,
                     aside ? "it lies in " + *aside : aside.error().text));
  }
  if (auto logged = read_events(options_.folder, 0, kMostRecent))
    recent_.assign(logged->events.begin(), logged->events.end());
  // A monitor that was killed could not withdraw them.
  auto withdrawn = watch_.withdraw_injected(now_unix());
  since_ = all_since();
  present_ = all_present(now_unix());
  age_clock_ = last_look_ = watch_.state().last_look;
  restored_ = true;
  if (webhook_ == nullptr) {
    if (!withdrawn.empty()) take(std::move(withdrawn), now_unix());
    return {};
  }
  // The receiver may be a different one now, so it gets every present finding; then come the alerts that were
  // waiting, which hold more.
  for (const NodeEvent& event : present_) webhook_->send(alerts_of(event));
  if (state) webhook_->send(std::move(state->unsent));
  if (!withdrawn.empty()) take(std::move(withdrawn), now_unix());
  return {};
}

Result<void> EventDesk::go_on(WatchState state, std::vector<WatchState> nodes) {
  ASSIGN_OR_RETURN(auto watch, FindingWatch::go_on(options_.node, std::move(state)));
  std::map<std::string, FindingWatch> watches;
  for (WatchState& watch_state : nodes) {
    const std::string name = watch_state.node;
    if (std::ranges::find(options_.nodes, name) == options_.nodes.end()) continue;
    ASSIGN_OR_RETURN(auto of_node, FindingWatch::go_on(name, std::move(watch_state)));
    watches.insert_or_assign(name, std::move(of_node));
  }
  watch_ = std::move(watch);
  node_watches_ = std::move(watches);
  return {};
}

std::vector<NodeEvent> EventDesk::all_present(double now) const {
  std::vector<NodeEvent> all = watch_.present(now);
  for (const auto& [name, watch] : node_watches_)
    for (NodeEvent& event : watch.present(now)) all.push_back(std::move(event));
  return all;
}

std::map<FindingKey, double> EventDesk::all_since() const {
  std::map<FindingKey, double> all = watch_.since();
  for (const auto& [name, watch] : node_watches_) all.merge(watch.since());
  return all;
}

void EventDesk::look_at_fleet(const Findings& findings, const Evidence& evidence, double now) {
  std::map<std::string, Findings> by_node = split_by_node(findings);
  const Findings of_cluster = std::move(by_node[""]);
  std::vector<NodeEvent> events =
      evidence.unreachable.empty() ? watch_.look(of_cluster, Facts{}, now) : watch_.unseen(of_cluster, now);
  const auto take_from = [&](std::vector<NodeEvent> more) {
    // The start of a fleet's watch is one event, not one for each node.
    std::erase_if(more, [](const NodeEvent& event) { return event.kind == EventKind::kStarted; });
    std::ranges::move(more, std::back_inserter(events));
  };
  const auto watch_of = [&](const std::string& name) -> FindingWatch& {
    return node_watches_.try_emplace(name, name).first->second;
  };
  for (const auto& [name, facts] : evidence.nodes) take_from(watch_of(name).look(by_node[name], facts, now));
  for (const Unreachable& unreachable : evidence.unreachable)
    take_from(watch_of(unreachable.node).unseen(by_node[unreachable.node], now));
  take(std::move(events), now);
  keep_watched(evidence.watched, now);
}

std::map<std::string, Watched> EventDesk::watched() {
  const auto text = log_.read_watched();
  if (text && text->empty()) return {};
  Result<KeptWatched> kept = fail(ErrorKind::kBadInput, "");
  if (text) {
    const auto document = json::parse(*text);
    const auto stamp =
        document ? json::decode<KeptStamp>(*document) : Result<KeptStamp>(fail(document.error()));
    if (stamp && stamp->version > format_of(Kept::kWatched).written) {
      keeps_watched_ = false;
      note(check_kept(Kept::kWatched, log_.watched_path(), *stamp).error().text);
      return {};
    }
    kept = stamp ? json::decode<KeptWatched>(*document) : Result<KeptWatched>(fail(stamp.error()));
  } else {
    kept = fail(text.error());
  }
  if (kept) return std::move(kept->nodes);
  note(fmt::format("what the monitor saw over time cannot be used ({}); it begins anew", kept.error().text));
  return {};
}

void EventDesk::keep_watched(std::map<std::string, std::shared_ptr<const Watched>> watched, double now) {
  watched_ = std::move(watched);
  if (watched_.empty() || std::abs(now - watched_kept_at_) < kKeepWatchedSeconds) return;
  watched_kept_at_ = now;
  write_watched();
}

void EventDesk::write_watched() {
  if (!keeps_watched_) return;
  KeptWatched kept;
  for (const auto& [node, watched] : watched_)
    if (watched) kept.nodes.emplace(node, *watched);
  trouble(watched_trouble_, log_.write_watched(json::dump(json::encode(kept)) + '\n'),
          "what the monitor saw over time is written again");
}

void EventDesk::look(const Verdict& verdict, const Facts& facts, double now) {
  take(watch_.look(verdict.findings, facts, now), now);
  if (watch_.left_out() > 0 && !told_left_out_)
    note(fmt::format("{} findings are more than the monitor follows, and are left out", watch_.left_out()));
  told_left_out_ = watch_.left_out() > 0;
}

void EventDesk::failed_look(std::string_view why, double now) { take(watch_.failed_look(why, now), now); }

void EventDesk::take(std::vector<NodeEvent> events, double now) {
  for (const NodeEvent& event : events) tell(event);
  write_waiting();
  keep_state(now, !events.empty());
  prune(now);
  const std::lock_guard lock(mutex_);
  for (const NodeEvent& event : events) ++counts_.events[event.kind];
  counts_.unwritten = waiting_.size();
  since_ = all_since();
  present_ = all_present(now);
  for (NodeEvent& event : events) recent_.push_back(std::move(event));
  while (recent_.size() > kMostRecent) recent_.pop_front();
}

void EventDesk::tell(const NodeEvent& event) {
  waiting_.push_back(event_line(event));
  if (journal_) {
    const auto sent = journal_->send(journal_fields(event));
    trouble(journal_trouble_, sent, "journald takes events again");
    const std::lock_guard lock(mutex_);
    if (!sent) ++counts_.journal_refused;
  }
  if (webhook_ != nullptr) webhook_->send(alerts_of(event));
}

void EventDesk::write_waiting() {
  while (!waiting_.empty()) {
    const auto written = log_.append(waiting_.front());
    trouble(log_trouble_, written, "events are written again");
    if (!written) break;
    waiting_.pop_front();
    if (waiting_.empty()) trouble(sync_trouble_, log_.sync(), "events are on the disk again");
  }
  const std::lock_guard lock(mutex_);
  for (; waiting_.size() > kMostUnwritten; ++counts_.lost) waiting_.pop_front();
}

void EventDesk::prune(double now) {
  if (last_look_ == 0) age_clock_ = now;
  age_clock_ = std::min(age_clock_ + std::clamp(now - last_look_, 0.0, kMostAgedAtOnce), now);
  last_look_ = now;
  if (options_.keep_seconds <= 0 || std::abs(now - pruned_at_) < kPruneSeconds) return;
  pruned_at_ = now;
  trouble(prune_trouble_, log_.prune(age_clock_ - options_.keep_seconds), "old events are removed again");
}

void EventDesk::keep_state(double now, bool at_once) {
  if (!at_once && std::abs(now - kept_at_) < kKeepSeconds) return;
  kept_at_ = now;
  DeskState state;
  state.watch = watch_.state();
  for (const auto& [name, watch] : node_watches_) state.nodes.push_back(watch.state());
  if (webhook_ != nullptr) state.unsent = webhook_->waiting();
  trouble(state_trouble_, log_.write_state(json::dump(json::encode(state)) + '\n'),
          "what the watch remembers is written again");
}

void EventDesk::trouble(std::optional<std::string>& told, const Result<void>& outcome,
                        std::string_view over) {
  if (outcome) {
    if (told) note(std::string(over));
    told.reset();
  } else if (!told) {
    told = outcome.error().text;
    note(*told + "; the monitor goes on");
  }
}

std::vector<NodeEvent> EventDesk::recent(std::size_t most) const {
  const std::lock_guard lock(mutex_);
  const auto count = static_cast<std::ptrdiff_t>(std::min(most, recent_.size()));
  return {recent_.end() - count, recent_.end()};
}

std::map<FindingKey, double> EventDesk::since() const {
  const std::lock_guard lock(mutex_);
  return since_;
}

std::vector<NodeEvent> EventDesk::present() const {
  const std::lock_guard lock(mutex_);
  return present_;
}

EventCounts EventDesk::counts() const {
  EventCounts counts;
  {
    const std::lock_guard lock(mutex_);
    counts = counts_;
  }
  if (webhook_ != nullptr) counts.webhook = webhook_->counts();
  return counts;
}

}  // namespace railbed
