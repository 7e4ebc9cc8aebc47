#include "monitor/fleet_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <semaphore>
#include <thread>

#include "base/moment.h"
#include "base/wording.h"
#include "model/watched.h"
#include "monitor/live/live_meter.h"
#include "monitor/node_source.h"
#include "monitor/node_watch.h"
#include "os/wait.h"

namespace railbed {
namespace {

using Steady = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kLongestWait{300};
constexpr seconds kGpusEvery{15};  // each reading is a process on the node, 0.2 s of a processor
constexpr seconds kLinksEvery{600};
constexpr seconds kFirstRound{20};  // after this time, judges without the nodes that have not responded yet
constexpr milliseconds kBetweenJudgements{2000};
// Limit for all nodes: connecting and reading facts costs processor time.
constexpr std::ptrdiff_t kFactsAtOnce = 32;

double age_of(Steady::time_point moment) {
  return std::chrono::duration<double>(Steady::now() - moment).count();
}

}  // namespace

// One node, as its thread and the other threads share it.
struct FleetNode {
  std::string name;
  std::unique_ptr<NodeSource> source = {};
  // Used only by the node's own thread:
  std::optional<Facts> known = {};  // the devices of the last look, for which counters are read
  Watched watched = {};
  std::string signature = {};
  Steady::time_point looked = {};
  Steady::time_point gpus_asked = {};
  std::optional<Steady::time_point> links_asked = {};
  // Guarded by the mutex:
  LiveCount count = {};
  std::optional<Steady::time_point> looked_at = {};
  std::string trouble = {};
  Steady::time_point again_at = {};
};

// The result of one look at a node, for the thread that judges.
struct FleetNews {
  std::string node;
  Result<Facts> facts;
  std::shared_ptr<const Watched> watched = {};  // null if nothing was seen over time yet
};

struct FleetWatch::Parts {
  FleetWatchOptions options;
  EventDesk& desk;
  Hear note;
  std::vector<std::string> names = {};
  std::vector<std::unique_ptr<FleetNode>> nodes = {};
  std::counting_semaphore<> places{kFactsAtOnce};
  std::mutex mutex = {};
  std::condition_variable_any changed = {};
  std::vector<FleetNews> news = {};
  std::shared_ptr<const LiveShown> judged = {};
  LiveMeter meter = {};                    // used only by shown()
  std::vector<std::jthread> threads = {};  // last, because they use all of the above

  Parts(FleetWatchOptions given, EventDesk& told, Hear hears)
      : options(std::move(given)), desk(told), note(std::move(hears)) {}

  // Waits for `time`. Returns false if the thread has to stop.
  // Records the failure and passes it to the judging thread. Only the first of a row is noted.
  void tell_trouble(FleetNode& node, const Error& error, milliseconds again);
  Result<void> look(FleetNode& node, std::stop_token stop);
  // Reads the counters, and the facts as well if a link or a device has changed since the last reading.
  Result<void> count(FleetNode& node, std::stop_token stop);
  Result<void> ask(FleetNode& node, std::stop_token stop);
  void watch(FleetNode& node, std::stop_token stop);
  void take(std::vector<FleetNews> fresh, Evidence& evidence);
  void judge(Evidence& evidence);
  void judge_all(std::stop_token stop);
};

Result<void> FleetWatch::Parts::look(FleetNode& node, std::stop_token stop) {
  places.acquire();
  auto facts = node.source->facts(stop);
  places.release();
  if (!facts) return fail(facts.error());
  node.known.emplace();
  node.known->rdma = facts->rdma;
  node.known->gpus = facts->gpus;
  node.known->net.interfaces = facts->net.interfaces;
  node.looked = Steady::now();
  node.signature.clear();
  const std::lock_guard lock(mutex);
  node.looked_at = node.looked;
  news.push_back({node.name, std::move(*facts), judged_at(node.watched, now_unix())});
  changed.notify_all();
  return {};
}

Result<void> FleetWatch::Parts::count(FleetNode& node, std::stop_token stop) {
  const auto now = Steady::now();
  const AlsoRead also{now - node.gpus_asked >= kGpusEvery,
                      !node.links_asked || now - *node.links_asked >= kLinksEvery};
  ASSIGN_OR_RETURN(auto counts, node.source->counts(*node.known, also, stop));
  if (also.gpus) node.gpus_asked = Steady::now();
  if (also.links) node.links_asked = Steady::now();
  if (counts.gpus)
    node.watched.work = next_spells(
        node.watched.work, work_sample(now_unix(), *counts.gpus, counts.jobs, *node.known, counts.counts));
  if (counts.links)
    node.watched.links = next_links(std::move(node.watched.links), *counts.links, counts.counts, now_unix());
  std::string signature = signature_of(counts.counts);
  const bool is_new = !node.signature.empty() && node.signature != signature;
  node.signature = std::move(signature);
  {
    const std::lock_guard lock(mutex);
    node.count.at = Steady::now();
    node.count.counts = std::make_shared<const Counts>(std::move(counts.counts));
    if (counts.gpus) node.count.gpus = std::make_shared<const GpuReadings>(std::move(*counts.gpus));
    node.trouble.clear();
  }
  return is_new ? look(node, stop) : Result<void>{};
}

Result<void> FleetWatch::Parts::ask(FleetNode& node, std::stop_token stop) {
  const auto age = std::chrono::duration_cast<seconds>(Steady::now() - node.looked);
  if (!node.known || node.source->is_due(age))
    if (auto looked = look(node, stop); !looked) return looked;
  return count(node, stop);
}

void FleetWatch::Parts::tell_trouble(FleetNode& node, const Error& error, milliseconds again) {
  const std::lock_guard lock(mutex);
  if (node.trouble.empty()) note(fmt::format("{}: {}", node.name, without_node(error)));
  node.trouble = error.text;
  node.again_at = Steady::now() + again;
  news.push_back({node.name, fail(error), nullptr});
  changed.notify_all();
}

void FleetWatch::Parts::watch(FleetNode& node, std::stop_token stop) {
  milliseconds pause_now = options.every;
  while (!stop.stop_requested()) {
    const auto asked = ask(node, stop);
    if (stop.stop_requested()) return;
    if (asked) {
      pause_now = options.every;
    } else {
      tell_trouble(node, asked.error(), pause_now);
      node.source->renew();
      node.known.reset();
    }
    if (!wait_unless_stopped(pause_now, stop)) return;
    if (!asked) pause_now = std::min<milliseconds>(pause_now * 2, kLongestWait);
  }
}

void FleetWatch::Parts::take(std::vector<FleetNews> fresh, Evidence& evidence) {
  for (FleetNews& news : fresh) {
    std::erase_if(evidence.unreachable, [&](const Unreachable& gone) { return gone.node == news.node; });
    evidence.watched.erase(news.node);
    if (news.watched) evidence.watched.emplace(news.node, std::move(news.watched));
    if (news.facts) {
      evidence.nodes.insert_or_assign(news.node, std::move(*news.facts));
    } else {
      evidence.nodes.erase(news.node);
      evidence.unreachable.push_back({news.node, news.facts.error()});
    }
  }
}

void FleetWatch::Parts::judge(Evidence& evidence) {
  // A node that has not responded yet is neither reachable nor missing. The rules see only the others.
  Findings findings = verify(evidence).findings;
  desk.look_at_fleet(findings, evidence, now_unix());
  auto shown = std::make_shared<LiveShown>();
  shown->view = live_view(evidence, findings, names);
  shown->picture = draw_live_picture(evidence, findings, names);
  const std::lock_guard lock(mutex);
  judged = std::move(shown);
}

void FleetWatch::Parts::judge_all(std::stop_token stop) {
  Evidence evidence;
  evidence.cluster = options.cluster;
  const auto until = Steady::now() + kFirstRound;
  bool is_new = false;
  while (!stop.stop_requested()) {
    std::vector<FleetNews> fresh;
    {
      std::unique_lock lock(mutex);
      changed.wait_for(lock, stop, seconds(1), [&] { return !news.empty(); });
      fresh.swap(news);
    }
    is_new = is_new || !fresh.empty();
    take(std::move(fresh), evidence);
    const bool all_asked = evidence.nodes.size() + evidence.unreachable.size() == names.size();
    if (!is_new || (!all_asked && Steady::now() < until)) continue;
    judge(evidence);
    is_new = false;
    (void)wait_unless_stopped(kBetweenJudgements, stop);
  }
}

FleetWatch::FleetWatch(FleetWatchOptions options, EventDesk& desk, Hear note)
    : parts_(std::make_unique<Parts>(std::move(options), desk, std::move(note))) {
  Parts& all = *parts_;
  auto kept = desk.watched();
  auto sources = open_sources(all.options.cluster, all.options.root, all.options.reach);
  for (std::size_t i = 0; i < sources.size(); ++i) {
    all.names.push_back(all.options.cluster.nodes[i].name);
    all.nodes.push_back(std::make_unique<FleetNode>());
    all.nodes.back()->name = all.names.back();
    all.nodes.back()->watched = std::move(kept[all.names.back()]);
    all.nodes.back()->source = std::move(sources[i]);
  }
  for (const auto& node : all.nodes)
    all.threads.emplace_back([&all, one = node.get()](std::stop_token stop) { all.watch(*one, stop); });
  all.threads.emplace_back([&all](std::stop_token stop) { all.judge_all(stop); });
}

FleetWatch::~FleetWatch() {
  for (std::jthread& thread : parts_->threads) thread.request_stop();
}

LiveShown FleetWatch::shown() {
  Parts& all = *parts_;
  LiveShown shown;
  std::map<std::string, LiveCount> counts;
  {
    const std::lock_guard lock(all.mutex);
    if (all.judged) shown = *all.judged;
    for (LiveNode& view : shown.view.nodes) {
      const auto at = std::ranges::find(all.names, view.name) - all.names.begin();
      const FleetNode& node = *all.nodes[static_cast<std::size_t>(at)];
      if (node.looked_at) view.look_age = std::round(age_of(*node.looked_at));
      if (node.count.counts) view.count_age = std::round(age_of(node.count.at));
      if (!node.trouble.empty()) {
        view.reachable = false;
        view.why = node.trouble;
        view.health = Health::kUnreachable;
        const double again = -age_of(node.again_at);
        view.asked_again = again > 1 ? fmt::format("in {:.0f} s", again) : "now";
      } else {
        counts.emplace(view.name, node.count);
      }
    }
  }
  if (shown.view.nodes.empty()) {
    shown.view.title = all.options.cluster.name;
    shown.view.sentence = "Nothing was looked at yet";
    shown.view.health = Health::kUnknown;
  }
  shown.view.made_at = now_unix();
  add_story(shown.view, all.desk.present(), all.desk.recent(kLiveEvents));
  for (const auto& [name, count] : counts) all.meter.measure(shown.view, name, count);
  all.meter.forget_unused();
  return shown;
}

}  // namespace railbed
