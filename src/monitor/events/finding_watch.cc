#include "monitor/events/finding_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "base/text.h"
#include "facts/facts.h"
#include "monitor/events/event_text.h"
#include "monitor/injection.h"
#include "report/findings.h"

namespace railbed {
namespace {

constexpr std::size_t kLongestMessage = 2048;
constexpr std::size_t kLongestSubject = 256;
constexpr double kLatest = 253402300800.0;  // the year 10000

std::string kept(std::string_view text, std::size_t most) { return shortened_bytes(printable(text), most); }

// Returns a message with each number replaced by "#", to compare two messages by meaning.
std::string meaning(std::string_view message) {
  std::string text;
  bool in_number = false;
  for (const char c : message) {
    const bool number = is_digit(c) || (in_number && (c == '.' || c == ','));
    if (number && !in_number) text += '#';
    if (!number) text += c;
    in_number = number;
  }
  return text;
}

// Removes the prefix: "pci:0000:1b:00.0" → "0000:1b:00.0", "rdma:mlx5_0/1" → "mlx5_0/1".
std::string_view name_of_thing(std::string_view thing) {
  for (const std::string_view prefix : {"netdev:", "rdma:", "pci:"})
    if (thing.starts_with(prefix)) return thing.substr(prefix.size());
  return thing;
}

// Returns whether two names have the same device. A port is on its device: "mlx5_0/1" and "mlx5_0".
bool same_thing(std::string_view mine, std::string_view theirs) {
  const auto device = [](std::string_view name) { return name.substr(0, name.find('/', 1)); };
  return !mine.empty() && !theirs.empty() && device(mine) == device(theirs);
}

bool is_time(double unix_seconds) { return unix_seconds >= 0 && unix_seconds < kLatest; }

// Returns whether `moment` is a possible time on a watch's clock that shows `age`.
bool is_past(double moment, double age) { return moment >= 0 && moment <= age; }

// Returns whether a watch could have written this finding.
bool is_sound(const TrackedFinding& finding, double age) {
  return !finding.rule.empty() && is_time(finding.since) && finding.turns.size() <= kFlapChanges &&
         std::ranges::all_of(finding.turns, [&](double turn) { return is_past(turn, age); }) &&
         is_past(finding.seen, age) && is_time(finding.flapping_since) && finding.unknown_looks >= 0 &&
         finding.unknown_looks <= kPatientLooks && finding.message.size() <= kLongestMessage &&
         finding.remedy.size() <= kLongestMessage && finding.subject.size() <= kLongestSubject &&
         finding.changes_before.size() <= kChangesNamed &&
         std::ranges::all_of(finding.changes_before,
                             [](const std::string& text) { return text.size() <= kLongestMessage; });
}

}  // namespace

// One finding as a look shows it.
struct FindingWatch::Sight {
  Status status = Status::kUnknown;
  bool held = false;  // another finding explains it: it is present, but not reported
  std::string message;
  std::string remedy;
  std::vector<std::string> things;  // the devices and other things that it concerns
};

Result<FindingWatch> FindingWatch::go_on(std::string node, WatchState state) {
  const auto refuse = [](std::string why) { return fail(ErrorKind::kBadInput, std::move(why)); };
  if (state.node != node) return refuse(fmt::format("it is of the node {}", state.node));
  if (!is_time(state.last_look) || !is_time(state.age)) return refuse("a time in it is not a time");
  if (state.findings.size() > kMostTracked || state.changes.size() > kMostChanges)
    return refuse("it holds more than a watch keeps");
  FindingWatch watch(std::move(node));
  watch.boot_id_ = std::move(state.boot_id);
  watch.last_look_ = state.last_look;
  watch.age_ = state.age;
  watch.facts_ = std::move(state.facts);
  watch.changes_ = std::move(state.changes);
  if (!std::ranges::all_of(watch.changes_,
                           [&](const FactChange& change) { return is_past(change.age, state.age); }))
    return refuse("a time in it is not a time");
  for (TrackedFinding& finding : state.findings) {
    if (!is_sound(finding, state.age)) return refuse("a finding in it is not a finding");
    const FindingKey key{finding.rule, finding.node, finding.subject};
    watch.tracked_.insert_or_assign(key, std::move(finding));
  }
  return watch;
}

WatchState FindingWatch::state() const {
  WatchState state{node_, boot_id_, last_look_, age_, {}, changes_, facts_};
  for (const auto& [key, one] : tracked_) state.findings.push_back(one);
  return state;
}

// Advances the clock. At the first look of this process, adds the event of the start, with the gap since the
// last look.
void FindingWatch::begin(const Facts* facts, double now) {
  now = std::clamp(now, 0.0, kLatest - 1);
  now_ = now;
  events_.clear();
  const double gap = last_look_ > 0 ? std::max(now - last_look_, 0.0) : 0;
  const bool known = last_look_ > 0;
  if (now >= kClockIsSet) {
    age_ += gap;
    last_look_ = now;
  }
  std::string boot;
  if (facts != nullptr) boot = kept(facts->system.kernel.boot_id.value_or(""), kLongestSubject);
  const bool rebooted = !boot.empty() && !boot_id_.empty() && boot != boot_id_;
  if (!boot.empty()) boot_id_ = boot;
  if (!started_) {
    NodeEvent event;
    event.time = {now};
    event.node = node_;
    event.message = known ? fmt::format("looks again after {}{}", span_text(gap),
                                        rebooted ? ", during which the node was rebooted" : "")
                          : "looks for the first time";
    if (known) event.gap_seconds = gap;
    events_.push_back(std::move(event));
    started_ = true;
  }
  if (rebooted) changes_.push_back({{now}, age_, "the node was booted", "", "", {}});
}

void FindingWatch::take_facts(const Facts& facts) {
  for (FactChange& change : take_changes(facts_, compared_facts(facts))) {
    change.time = {now_};
    change.age = age_;
    const auto lately = std::ranges::count_if(changes_, [&](const FactChange& fact_change) {
      return fact_change.what == change.what && age_ - fact_change.age < kShortlyBefore;
    });
    if (static_cast<std::size_t>(lately) >= kOftenChanged) continue;
    NodeEvent event;
    event.time = change.time;
    event.kind = EventKind::kFactChanged;
    event.node = node_;
    event.subject = change.things.empty() ? "" : change.things.front();
    event.message = change.text();
    if (static_cast<std::size_t>(lately) + 1 == kOftenChanged)
      event.message += " (it changes often, so it is not reported for the next day)";
    events_.push_back(std::move(event));
    changes_.push_back(std::move(change));
  }
  std::erase_if(changes_, [&](const FactChange& change) { return age_ - change.age > kChangeSeconds; });
  if (changes_.size() > kMostChanges)
    changes_.erase(changes_.begin(), changes_.end() - static_cast<std::ptrdiff_t>(kMostChanges));
}

// Returns the findings to follow. For each key the worst counts; a finding that another one explains counts
// least.
std::map<FindingKey, FindingWatch::Sight> FindingWatch::sights_of(const Findings& findings) const {
  std::map<FindingKey, Sight> sights;
  for (const Finding& finding : findings) {
    if (severity(finding.status) > severity(Status::kUnknown)) continue;
    Sight sight{finding.status,
                finding.caused_by.has_value(),
                kept(finding.message, kLongestMessage),
                kept(finding.remedy.text, kLongestMessage),
                {}};
    sight.things.emplace_back(finding.subject);
    for (const std::string& thing : finding.touches) sight.things.emplace_back(name_of_thing(thing));
    const FindingKey key{std::string(finding.rule),
                         finding.node.empty() ? node_ : kept(finding.node, kLongestSubject),
                         kept(finding.subject, kLongestSubject)};
    const auto [at, is_new] = sights.emplace(key, sight);
    const auto rank = [](const Sight& sight) { return std::pair(sight.held, severity(sight.status)); };
    if (!is_new && rank(sight) < rank(at->second)) at->second = std::move(sight);
  }
  return sights;
}

std::vector<NodeEvent> FindingWatch::look(const Findings& findings, const Facts& facts, double now) {
  begin(&facts, now);
  take_facts(facts);
  const std::map<FindingKey, Sight> sights = sights_of(findings);
  left_out_ = 0;
  for (auto& [key, one] : tracked_) {
    if (one.leaving && age_ - one.seen >= kHoldSeconds) go(one);
    if (sights.contains(key)) continue;
    one.unknown_looks = 0;
    if (one.present) leave(one);
  }
  for (const auto& [key, sight] : sights) see(key, sight);
  settle_and_forget();
  return std::move(events_);
}

std::vector<NodeEvent> FindingWatch::unseen(const Findings& findings, double now) {
  begin(nullptr, now);
  for (const auto& [key, sight] : sights_of(findings)) see(key, sight);
  settle_and_forget();
  return std::move(events_);
}

std::vector<NodeEvent> FindingWatch::failed_look(std::string_view why, double now) {
  begin(nullptr, now);
  Sight sight;
  sight.message = kept(why, kLongestMessage);
  sight.remedy = "Look at what the monitor says of itself: journalctl -t railbed.";
  see({std::string(kLookRule), node_, "facts"}, sight);
  settle_and_forget();
  return std::move(events_);
}

std::vector<NodeEvent> FindingWatch::withdraw_injected(double now) {
  now_ = now;
  events_.clear();
  for (auto at = tracked_.begin(); at != tracked_.end();) {
    TrackedFinding& finding = at->second;
    const bool injected = is_injected(finding.message);
    if (injected && finding.told && (finding.present || finding.leaving || finding.flapping)) {
      finding.present = false;
      finding.flaps = 0;
      events_.push_back(event_of(finding, EventKind::kGone));
      events_.back().until = UtcTime{now};
    }
    at = injected ? tracked_.erase(at) : std::next(at);
  }
  return std::move(events_);
}

void FindingWatch::see(const FindingKey& key, const Sight& sight) {
  auto found = tracked_.find(key);
  if (found == tracked_.end()) {
    if (sight.held) return;
    if (!make_room()) {
      ++left_out_;
      return;
    }
    found = tracked_.try_emplace(key).first;
    found->second.rule = key.rule;
    found->second.node = key.node;
    found->second.subject = key.subject;
  }
  TrackedFinding& finding = found->second;
  finding.seen = age_;
  if (sight.held) return;
  if (sight.status == Status::kUnknown)
    see_unknown(finding, sight);
  else
    see_red(finding, sight);
}

// Forgets the finding that has been gone the longest.
bool FindingWatch::make_room() {
  if (tracked_.size() < kMostTracked) return true;
  auto oldest = tracked_.end();
  for (auto at = tracked_.begin(); at != tracked_.end(); ++at)
    if (!at->second.present && !at->second.flapping &&
        (oldest == tracked_.end() || at->second.seen < oldest->second.seen))
      oldest = at;
  if (oldest == tracked_.end()) return false;
  if (oldest->second.leaving) go(oldest->second);
  tracked_.erase(oldest);
  return true;
}

void FindingWatch::see_unknown(TrackedFinding& finding, const Sight& sight) {
  if (finding.unknown_looks < kPatientLooks) ++finding.unknown_looks;
  if (finding.unknown_looks == kPatientLooks) see_red(finding, sight);
}

void FindingWatch::see_red(TrackedFinding& finding, const Sight& sight) {
  if (sight.status != Status::kUnknown) finding.unknown_looks = 0;
  const bool is_new = !finding.present;
  const bool returns = std::exchange(finding.leaving, false);
  const bool other = sight.status != finding.status || meaning(sight.message) != meaning(finding.message);
  finding.status = sight.status;
  finding.message = sight.message;
  finding.remedy = sight.remedy;
  finding.present = true;
  if (is_new) {
    ++finding.times;
    finding.changes_before = changes_before(sight);
    if (!finding.flapping && !returns) finding.since = now_;
  }
  if (is_new && !returns)
    turn(finding, EventKind::kAppeared, &sight);
  else if (is_new || other)
    turn(finding, other ? std::optional(EventKind::kChanged) : std::nullopt, &sight);
}

void FindingWatch::leave(TrackedFinding& finding) {
  finding.present = false;
  finding.seen = age_;
  finding.leaving = !finding.flapping;
  turn(finding, std::nullopt, nullptr);
}

void FindingWatch::go(TrackedFinding& finding) {
  finding.leaving = false;
  NodeEvent event = event_of(finding, EventKind::kGone);
  event.until = UtcTime{std::max(now_ - (age_ - finding.seen), 0.0)};
  finding.told = finding.status;
  events_.push_back(std::move(event));
}

void FindingWatch::turn(TrackedFinding& finding, std::optional<EventKind> kind, const Sight* sight) {
  std::erase_if(finding.turns, [&](double turn) { return age_ - turn >= kFlapSeconds; });
  if (finding.turns.size() == kFlapChanges) finding.turns.erase(finding.turns.begin());
  finding.turns.push_back(age_);
  if (finding.flapping) {
    ++finding.flaps;
    return;
  }
  if (finding.turns.size() == kFlapChanges) {
    finding.flapping = true;
    finding.leaving = false;
    finding.flaps = kFlapChanges;
    finding.flapping_since = std::max(now_ - (age_ - finding.turns.front()), 0.0);
    kind = EventKind::kFlapping;
  }
  if (!kind) return;
  NodeEvent event = event_of(finding, *kind);
  if (sight != nullptr) event.changes_before = changes_before(*sight);
  finding.told = finding.status;
  events_.push_back(std::move(event));
}

NodeEvent FindingWatch::event_of(const TrackedFinding& finding, EventKind kind) const {
  NodeEvent event;
  event.time = {now_};
  event.kind = kind;
  event.node = finding.node;
  event.rule = finding.rule;
  event.subject = finding.subject;
  event.status = finding.status;
  const bool was_there = kind != EventKind::kAppeared;
  if (was_there && finding.told && *finding.told != finding.status) event.was = finding.told;
  event.present = finding.present;
  event.message = finding.message;
  event.remedy = finding.remedy;
  event.since = UtcTime{finding.since};
  event.flaps = finding.flaps;
  if (finding.flaps > 0) event.flapping_since = UtcTime{finding.flapping_since};
  event.times_before = finding.times > 0 ? finding.times - 1 : 0;
  return event;
}

// Returns the changes shortly before, as text: first those of the same device, then those of the whole node,
// each the newest first.
std::vector<std::string> FindingWatch::changes_before(const Sight& sight) const {
  const auto concerns = [&](const FactChange& change) {
    return std::ranges::any_of(change.things, [&](const std::string& mine) {
      return std::ranges::any_of(sight.things,
                                 [&](const std::string& theirs) { return same_thing(mine, theirs); });
    });
  };
  std::vector<std::string> named;
  for (const bool of_node : {false, true})
    for (auto change = changes_.rbegin(); change != changes_.rend(); ++change) {
      const double before = age_ - change->age;
      if (before > kShortlyBefore || named.size() == kChangesNamed) break;
      if (of_node ? !change->things.empty() : !concerns(*change)) continue;
      named.push_back(change->text() + (before < 1 ? ", seen in the same look"
                                                   : fmt::format(", {} before", span_text(before))));
    }
  return named;
}

void FindingWatch::settle_and_forget() {
  for (auto& [key, one] : tracked_) {
    if (!one.flapping || (!one.turns.empty() && age_ - one.turns.back() < kFlapSeconds)) continue;
    one.flapping = false;
    one.turns.clear();
    events_.push_back(event_of(one, EventKind::kCalm));
    one.flaps = 0;
    one.flapping_since = 0;
    one.told = one.status;
  }
  std::erase_if(tracked_, [&](const auto& entry) {
    const TrackedFinding& finding = entry.second;
    const bool never_told = !finding.told && finding.unknown_looks == 0;
    return !finding.present && !finding.flapping && (never_told || age_ - finding.seen > kRemembered);
  });
}

std::map<FindingKey, double> FindingWatch::since() const {
  std::map<FindingKey, double> since;
  for (const auto& [key, one] : tracked_)
    if (one.present) since.emplace(key, one.since);
  return since;
}

std::vector<NodeEvent> FindingWatch::present(double now) const {
  std::vector<NodeEvent> events;
  for (const auto& [key, one] : tracked_) {
    if (!one.present && !one.flapping) continue;
    NodeEvent event = event_of(one, one.flapping ? EventKind::kFlapping : EventKind::kAppeared);
    event.time = {now};
    event.status = one.told.value_or(one.status);
    event.was.reset();
    event.changes_before = one.changes_before;
    events.push_back(std::move(event));
  }
  return events;
}

}  // namespace railbed
