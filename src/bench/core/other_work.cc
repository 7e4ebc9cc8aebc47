#include "bench/core/other_work.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "base/fields.h"
#include "bench/core/clock.h"
#include "bench/core/sessions.h"
#include "bench/core/typed.h"

namespace railbed {
namespace {

constexpr std::chrono::milliseconds kWorkDeadline{3000};
constexpr double kShortestLook = 0.05;  // seconds: a few ticks of the clock
constexpr std::size_t kLongestName = 64;

struct WorkName {
  std::string session;
  FIELDS(WorkName, session);
};

struct WorkLook {
  Programs programs;
  std::uint64_t at_ns = 0;
};
using WorkLooks = Sessions<WorkLook, 4>;  // two if both ends are one node; failed runs leave theirs behind

Result<WorkName> begin_look(Host& host, WorkLooks& looks) {
  auto programs = read_programs(host);
  if (!programs) return fail(ErrorKind::kUnavailable, describe(programs.miss(), programs.from()));
  return WorkName{looks.add(std::make_shared<WorkLook>(WorkLook{*programs, now_ns()}))};
}

Result<OtherWork> end_look(Host& host, WorkLooks& looks, const WorkName& request) {
  ASSIGN_OR_RETURN(const auto before, looks.find(request.session));
  looks.remove(request.session);
  const double seconds = static_cast<double>(now_ns() - before->at_ns) / 1e9;
  const auto after = read_programs(host);
  if (!after) return fail(ErrorKind::kUnavailable, describe(after.miss(), after.from()));
  if (seconds < kShortestLook) return fail(ErrorKind::kUnavailable, "too short to tell");
  return other_work(before->programs, *after, seconds, static_cast<double>(sysconf(_SC_CLK_TCK)));
}

// Returns the ticks that a program spent since the look before: all its ticks if it began since then. A
// process is the same one only if its PID and its start time are both equal, because PIDs are reused.
std::uint64_t ticks_since(const std::vector<ProgramTimes>& before, const ProgramTimes& now) {
  const auto was = std::ranges::lower_bound(before, now.pid, {}, &ProgramTimes::pid);
  if (was == before.end() || was->pid != now.pid || was->started != now.started) return now.ticks;
  return now.ticks > was->ticks ? now.ticks - was->ticks : 0;
}

// Returns whether a machine can have these numbers. Those that a node reports are not trusted.
bool is_possible(const OtherWork& work) {
  return work.processors > 0 && work.processors <= 65536 && std::isfinite(work.busy) && work.busy >= 0 &&
         work.busy <= 2.0 * work.processors;
}

}  // namespace

OtherWork other_work(const Programs& before, const Programs& after, double seconds, double ticks) {
  OtherWork work{after.processors, 0, ""};
  std::vector<ProgramTimes> sorted = before.all;
  std::ranges::sort(sorted, {}, &ProgramTimes::pid);
  double most = 0;
  for (const ProgramTimes& program : after.all) {
    if (program.name == after.own_name) continue;
    const double busy = static_cast<double>(ticks_since(sorted, program)) / ticks / seconds;
    work.busy += busy;
    if (busy <= most) continue;
    most = busy;
    work.busiest = fmt::format("{} (pid {})", program.name, program.pid);
  }
  return work;
}

Handlers work_handlers(std::shared_ptr<Host> host) {
  auto looks = std::make_shared<WorkLooks>();
  Handlers all;
  all.emplace(kWorkBegin, typed_handler<WorkName>([host, looks](const WorkName&, std::stop_token) {
                return begin_look(*host, *looks);
              }));
  all.emplace(kWorkEnd, typed_handler<WorkName>([host, looks](const WorkName& request, std::stop_token) {
                return end_look(*host, *looks, request);
              }));
  return all;
}

WorkWatch::WorkWatch(const PairEnd& from, const PairEnd& to, const std::stop_token& stop)
    : from_{from.peer}, to_{to.peer}, stop_(stop) {
  for (Side* side : {&from_, &to_}) {
    auto begun = ask<WorkName>(*side->peer, kWorkBegin, WorkName{}, kWorkDeadline, stop_);
    if (begun) side->session = std::move(begun->session);
  }
}

std::optional<OtherWork> WorkWatch::ask_end(const Side& side) const {
  if (side.session.empty()) return std::nullopt;
  auto work = ask<OtherWork>(*side.peer, kWorkEnd, WorkName{side.session}, kWorkDeadline, stop_);
  if (!work || !is_possible(*work)) return std::nullopt;
  if (work->busiest.size() > kLongestName) work->busiest = "a program";
  return std::move(*work);
}

void WorkWatch::end(Measurement& measurement) {
  measurement.from.other_work = ask_end(from_);
  measurement.to.other_work = ask_end(to_);
}

}  // namespace railbed
