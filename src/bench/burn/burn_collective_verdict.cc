// The verdict on the collectives of a burn-in (`burn --collectives`).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/units.h"
#include "base/wording.h"
#include "bench/burn/burn_verdict.h"

namespace railbed {
namespace {

constexpr double kOfLinks = 0.5;       // of the links' ceiling, which is worth a word below it
constexpr double kOfOtherTurns = 0.5;  // of the median of all turns, likewise
constexpr int kFewestTurns = 3;        // that are compared with each other

class CollectiveJudge {
 public:
  explicit CollectiveJudge(BurnReport& report) : report_(report), all_(*report.collectives) {}

  void judge() {
    judge_wrong(true);
    judge_wrong(false);
    judge_failed();
    if (all_.interrupted > 0)
      add(BurnStatus::kNote, "collective-interrupted",
          fmt::format("{} of the collectives ended because a node could not be reached: no fault of theirs",
                      counted(all_.interrupted, "turn")));
    judge_left_out();
    if (all_.turns == 0 && all_.fault_count == 0)
      add(BurnStatus::kUnknown, "not-run",
          "collectives were not run: " +
              (all_.skipped.empty() ? "no turn of theirs came to a result" : all_.skipped));
    judge_rate();
  }

 private:
  void add(BurnStatus status, std::string what, std::string message, std::string remedy = {},
           bool injected = false) {
    report_.findings.push_back({.status = status,
                                .what = std::move(what),
                                .message = std::move(message),
                                .remedy = std::move(remedy),
                                .injected = injected});
  }

  std::string more_text(std::size_t described) const {
    return all_.fault_count > described && all_.faults.size() >= kMostCollectiveFaults
               ? fmt::format("; {} faults in all", all_.fault_count)
               : "";
  }

  // A wrong result at one GPU alone was changed on the last part of its way or in that GPU. Of one that several have
  // nobody knows where it came into the sum.
  void judge_wrong(bool injected) {
    std::vector<const BurnCollectiveFault*> wrong;
    std::map<std::string, std::size_t> times;
    bool has_more = false;
    bool is_all = true;
    for (const BurnCollectiveFault& fault : all_.faults) {
      if (fault.elements == 0 || fault.injected != injected) continue;
      wrong.push_back(&fault);
      for (const std::string& gpu : fault.gpus) ++times[gpu];
      has_more |= fault.gpu_count > static_cast<int>(fault.gpus.size());
      is_all &= fault.gpu_count > 1 && fault.gpu_count == all_.gpus;
    }
    if (wrong.empty()) return;
    const BurnCollectiveFault& first = *wrong.front();
    const bool one = times.size() == 1 && !has_more;
    std::vector<std::string> places;
    for (const auto& [gpu, count] : times)
      if (places.size() < kMostWrongGpus)
        places.push_back(wrong.size() > 1 ? fmt::format("{} ({})", gpu, counted(count, "time")) : gpu);
    const std::string where = one ? "at " + times.begin()->first + " alone"
                              : is_all
                                  ? "at all of them"
                                  : fmt::format("at {}{}", fmt::join(places, ", "),
                                                has_more || places.size() < times.size() ? " and more" : "");
    add(BurnStatus::kFailure, "wrong-collective",
        fmt::format("all_reduce of {} gave wrong results {}, first after {} in {}, {}{}",
                    counted(static_cast<std::size_t>(all_.gpus), "GPU"), counted(wrong.size(), "time"),
                    short_time_text(first.at), counted(first.elements, "element"), where,
                    more_text(wrong.size())),
        one ? "Test that GPU alone, and the links it receives by: railbed burn with its number, railbed bench pairs"
            : "The sum does not show which contribution or way was wrong. Run halves of the GPUs by themselves until one "
              "is left that is always in the wrong half: railbed bench collectives; findings wrong-result, nvlink and "
              "wrong-rail-data above name a part by themselves.",
        injected);
  }

  void judge_failed() {
    std::size_t count = 0;
    const BurnCollectiveFault* first = nullptr;
    for (const BurnCollectiveFault& fault : all_.faults) {
      if (fault.elements > 0) continue;
      if (first == nullptr) first = &fault;
      ++count;
    }
    if (first == nullptr) return;
    add(BurnStatus::kFailure, "collective-failed",
        fmt::format("all_reduce failed in {}, first after {}: {}{}", counted(count, "turn"),
                    short_time_text(first->at), first->cause, more_text(count)),
        first->remedy.empty() ? "railbed bench collectives with the same nodes shows each step."
                              : first->remedy);
  }

  void judge_left_out() {
    if (all_.turns > 0 && all_.left_out + all_.smaller > 0) {
      std::string text;
      if (all_.left_out > 0)
        text = fmt::format("of the collectives {} left out, the last because {}",
                           counted(static_cast<std::size_t>(all_.left_out), "turn was", "turns were"),
                           all_.skipped);
      if (all_.smaller > 0)
        text +=
            fmt::format("{}{} fewer than {} GPUs", text.empty() ? "" : "; ",
                        counted(static_cast<std::size_t>(all_.smaller), "turn had", "turns had"), all_.gpus);
      add(BurnStatus::kNote, "collective-left-out", text);
    }
    const auto wanted =
        std::ranges::count(report_.injected, BurnInjection::kWrongCollective, &BurnDrill::kind);
    if (!report_.stopped && all_.drills < wanted)
      add(BurnStatus::kUnknown, "drill-not-made",
          fmt::format("{} of {} of collectives were not made: no turn with that GPU came after their moment",
                      wanted - all_.drills, counted(static_cast<std::size_t>(wanted), "drill")));
  }

  void judge_rate() {
    if (all_.rate <= 0) return;
    const std::string size = to_text(ByteCount{all_.bytes});
    if (all_.by_links && all_.ceiling > 0 && all_.rate < kOfLinks * all_.ceiling)
      add(BurnStatus::kWarning, "collective-below-ceiling",
          fmt::format("all_reduce of {} over {} reached {:.3g} % of its ceiling, {}{}", size,
                      counted(static_cast<std::size_t>(all_.gpus), "GPU"), all_.rate / all_.ceiling * 100,
                      all_.ceiling_name, all_.note.empty() ? "" : "; " + all_.note),
          "railbed bench collectives and railbed nccl name the way that NCCL took.");
    if (all_.turns >= kFewestTurns && all_.low < kOfOtherTurns * all_.rate)
      add(BurnStatus::kWarning, "collective-varies",
          fmt::format("the slowest turn of all_reduce had {:.3g} % of the rate of the others",
                      all_.low / all_.rate * 100),
          "Other traffic, or a link that came and went: look at the times of the findings above, and at railbed verify.");
  }

  BurnReport& report_;
  const BurnCollectives& all_;
};

}  // namespace

void judge_burn_collectives(BurnReport& report) {
  if (report.collectives) CollectiveJudge(report).judge();
}

}  // namespace railbed
