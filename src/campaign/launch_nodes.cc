// Each node has a thread that starts its command and reads its output until it has ended. A node that prints
// much, or a slow terminal, holds up only the programs that print. The caller's thread waits for the end of
// all commands, the first failure or the caller's stop; it never reads. A stop is a request to the agents;
// the threads go on to read, so the last output of the programs still arrives.
//
// A node that is cut off cannot get that request. It ends its program by itself after a minute without
// "launch.alive".
#include "campaign/launch_nodes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <map>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "bench/core/typed.h"
#include "campaign/job_handlers.h"
#include "fleet/fleet.h"

namespace railbed {
namespace {

constexpr std::chrono::seconds kFindDeadline{20};
constexpr std::chrono::seconds kStartProgramDeadline{30};
constexpr std::chrono::seconds kReadDeadline{60};
constexpr std::chrono::seconds kStopDeadline{10};
constexpr std::chrono::seconds kAliveEvery{5};
// After a failure, other ranks often report its cause a moment later.
constexpr std::chrono::seconds kLastWords{2};
// In addition to the grace period: time for SIGKILL and for the last reply.
constexpr std::chrono::seconds kAfterGrace{20};

using Requests = std::map<std::string, std::string, std::less<>>;  // JSON by node

std::string request_of(const NodeCommand& command, const LaunchChoice& choice) {
  JobRequest request;
  for (const std::string& word : command.words) request.words.push_back({word});
  for (const EnvironmentVariable& variable : command.environment)
    request.environment.push_back({fmt::format("{}={}", variable.name, variable.value)});
  request.folder = {choice.folder};
  request.grace_seconds = static_cast<int>(choice.grace.count());
  return json::dump(json::encode(request));
}

fleet::Target target_of_command(const Cluster& cluster, const NodeCommand& command) {
  const Node* const node = find_node(cluster, command.node);
  return node != nullptr ? fleet::target_of(*node) : fleet::Target{name_of(command), "", true};
}

// Ensures all or none: before anything starts, every node must respond and have the program.
Result<void> find_everywhere(fleet::Fleet& fleet, const Requests& requests, const Caller& caller) {
  const auto answers = fleet::gather(
      fleet, kLaunchFind, [&](const std::string& node) { return requests.at(node); }, kFindDeadline,
      caller.stop, [&](const fleet::Step& step) { caller.progress("reaching: " + step.to_text()); });
  caller.progress("");
  if (caller.stop.stop_requested()) return fail(ErrorKind::kCancelled, "stopped; nothing was started");
  std::vector<std::string> reasons;
  for (const fleet::Answer& answer : answers)
    if (!answer.result) reasons.push_back(at_node(answer.node, answer.result.error()).text);
  if (reasons.empty()) return {};
  return fail(ErrorKind::kUnavailable,
              fmt::format("nothing was started on any node:\n{}", fmt::join(reasons, "\n")));
}

class Launching {
 public:
  Launching(fleet::Fleet& fleet, const Requests& requests, const LaunchChoice& choice, const HearLine& hear)
      : fleet_(fleet), requests_(requests), choice_(choice), hear_(hear) {
    for (std::size_t i = 0; i < fleet.size(); ++i) end_.ends.push_back({fleet.peer(i).node()});
  }

  LaunchEnd run(const std::stop_token& stop) {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < fleet_.size(); ++i) threads.emplace_back([this, i] { follow(i); });
    std::jthread alive([this](const std::stop_token& ended) { say_alive(ended); });
    wait_until_wanted(stop);
    if (!all_ended()) stop_all(stop.stop_requested());
    threads.clear();  // joins
    return std::move(end_);
  }

 private:
  // ---- one node

  void follow(std::size_t i) {
    Peer& peer = fleet_.peer(i);
    const auto started = peer.call(kLaunchStart, requests_.at(peer.node()), kStartProgramDeadline);
    if (!started) return note_end(i, 0, started.error());
    for (;;) {
      const auto news = ask<JobNews>(peer, kLaunchRead, JobNote{}, kReadDeadline, given_up_.get_token());
      if (!news) return note_end(i, 0, lost_error(peer.node(), news.error()));
      say(peer.node(), *news);
      if (news->status) return note_end(i, *news->status, std::nullopt);
    }
  }

  Error lost_error(const std::string& node, const Error& error) const {
    if (given_up_.stop_requested())
      return at_node(node, {ErrorKind::kTimeout, "it did not say that its processes have ended"});
    return at_node(node, error);
  }

  void say(const std::string& node, const JobNews& news) {
    const std::lock_guard lock(hearing_);
    for (const JobOutput& output : news.output) {
      auto printed = split(output.lines.text, '\n');
      if (printed.back().empty()) printed.pop_back();
      for (const std::string_view line : printed) hear_({node, output.error, line});
    }
  }

  void note_end(std::size_t i, int status, std::optional<Error> lost) {
    const std::lock_guard lock(mutex_);
    CommandEnd& end = end_.ends[i];
    end.status = status;
    end.lost = std::move(lost);
    // A command that ends after the stop was stopped; it did not fail.
    if (!end.good() && !end_.first && !stopping_) end_.first = i;
    ++ended_;
    changed_.notify_all();
  }

  // ---- all of them

  bool all_ended() {
    const std::lock_guard lock(mutex_);
    return ended_ == end_.ends.size();
  }

  // Waits until all have ended, one has failed and kLastWords are over, or the caller stops.
  void wait_until_wanted(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    const auto all = [&] { return ended_ == end_.ends.size(); };
    changed_.wait(lock, stop, [&] { return all() || end_.first; });
    if (end_.first) changed_.wait_for(lock, stop, kLastWords, all);
    stopping_ = true;
  }

  void stop_all(bool cancelled) {
    {
      const std::lock_guard lock(mutex_);
      end_.cancelled = cancelled;
      end_.stopped = true;
    }
    fleet::gather(fleet_, kLaunchStop, "{}", kStopDeadline);  // errors show up in the node's thread
    std::unique_lock lock(mutex_);
    const auto all = [&] { return ended_ == end_.ends.size(); };
    if (!changed_.wait_for(lock, choice_.grace + kAfterGrace, all)) given_up_.request_stop();
  }

  void say_alive(const std::stop_token& ended) {
    while (!ended.stop_requested()) {
      fleet::gather(fleet_, kLaunchAlive, "{}", kAliveEvery, ended);
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, ended, kAliveEvery, [] { return false; });
    }
  }

  fleet::Fleet& fleet_;
  const Requests& requests_;
  const LaunchChoice& choice_;
  const HearLine& hear_;
  std::mutex hearing_;
  std::stop_source given_up_;

  std::mutex mutex_;  // guards all members below
  std::condition_variable_any changed_;
  LaunchEnd end_;
  std::size_t ended_ = 0;
  bool stopping_ = false;
};

}  // namespace

std::string CommandEnd::to_text() const {
  if (lost) return lost->text;
  const char* const signal = status > 128 ? sigabbrev_np(status - 128) : nullptr;
  return fmt::format("{}: exit status {}{}", node, status,
                     signal != nullptr ? fmt::format(" (SIG{})", signal) : "");
}

std::string name_of(const NodeCommand& command) {
  return command.node.empty() ? command.words.front() : command.node;
}

Result<LaunchEnd> launch_nodes(const Cluster& cluster, const Launch& launch, const LaunchChoice& choice,
                               ReachOptions reach, const Caller& caller, const HearLine& hear) {
  std::vector<fleet::Target> targets;
  Requests requests;
  for (const NodeCommand& command : launch.commands) {
    targets.push_back(target_of_command(cluster, command));
    requests[name_of(command)] = request_of(command, choice);
  }
  reach.ssh_config = cluster.ssh_config;
  fleet::Fleet fleet(std::move(targets), std::move(reach));
  RETURN_IF_ERROR(find_everywhere(fleet, requests, caller));
  return Launching(fleet, requests, choice, hear).run(caller.stop);
}

}  // namespace railbed
