#include "bench/burn/burn_verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "base/median.h"
#include "base/result.h"
#include "base/student.h"
#include "base/wording.h"
#include "hardware/gpu_ceilings.h"
#include "hardware/gpu_model.h"
#include "hardware/gpu_slowdown.h"
#include "hardware/gpu_speed.h"
#include "hardware/xid.h"

namespace railbed {
namespace {

// Our own values.
// Sound GPUs of one kind differ by up to 8 % in products (Sinha et al., burn_verdict.h).
constexpr double kApart = 0.08;
constexpr std::uint64_t kSlowedSamples = 2;  // a single sample may be the start of the load
constexpr double kReasonExcess = 0.01;       // of the time, beyond the siblings, to be called a cause
constexpr double kClockExcess = 0.01;        // below the siblings' clock, likewise
constexpr double kOfDataSheet = 0.5;         // sound products reach 60 to 80 % of their data sheet
constexpr double kMad = 1.4826;   // from the median deviation to the standard deviation of a normal spread
constexpr double kFound = 1.645;  // standard deviations: 95 % of a normal spread are above the limit
constexpr double kLeastScale = 1e-6;

std::string percent(double share) { return fmt::format("{:.3g} %", share * 100); }

struct Member {
  const BurnNode* node;
  const BurnGpu* gpu;
  const BurnTally* tally;
};
using Members = std::vector<Member>;

// Returns the bytes in a second that a GPU can send to others through NVSwitch; 0 if they are connected otherwise.
double nvswitch_rate(const std::string& name) {
  const GpuModel* model = find_gpu_model(name);
  return model != nullptr && model->nvswitch ? model->nvlinks * nvlink_sheet_mbps(model->nvlink_mbps) * 1e6
                                             : 0;
}

std::optional<double> data_sheet_of(const std::string& name, BurnPhase phase) {
  const GpuSpeed* speed = find_gpu_speed(name);
  if (speed == nullptr) return std::nullopt;
  double rate = 0;
  switch (phase) {
    case BurnPhase::kBf16:
      rate = speed->teraflops(MatrixType::kBf16) * 1e12;
      break;
    case BurnPhase::kFp16:
      rate = speed->teraflops(MatrixType::kFp16) * 1e12;
      break;
    case BurnPhase::kFp8:
      rate = speed->teraflops(MatrixType::kFp8) * 1e12;
      break;
    case BurnPhase::kFp64:
      rate = speed->fp64 * 1e12;
      break;
    case BurnPhase::kMemory:
      rate = speed->bandwidth * 1e9;
      break;
    case BurnPhase::kPeers:
      rate = nvswitch_rate(name);
      break;
    case BurnPhase::kPcie:
    case BurnPhase::kCollectives:
      break;
  }
  return rate > 0 ? std::optional(rate) : std::nullopt;
}

double share_of(const BurnGpu& gpu, std::string_view reason) {
  const auto found = std::ranges::find(gpu.slowdowns, reason, &BurnSlowdown::reason);
  if (found == gpu.slowdowns.end() || gpu.samples == 0) return 0;
  return static_cast<double>(found->samples) / static_cast<double>(gpu.samples);
}

class BurnJudge {
 public:
  explicit BurnJudge(BurnReport& report) : report_(report) {}

  void judge() {
    report_.families.clear();
    report_.findings.clear();
    gather();
    for (const BurnNode& node : report_.nodes) {
      judge_node(node);
      judge_peers(node);
      for (const BurnGpu& gpu : node.gpus) judge_gpu(node, gpu);
    }
    compare_digests();
    judge_rates();
    judge_burn_hosts(report_, tests_);
    judge_burn_drives(report_, tests_);
    judge_burn_rails(report_, tests_);
    judge_burn_collectives(report_);
    judge_slowdowns();
    name_skipped();
    if (report_.stopped)
      add({.status = BurnStatus::kNote,
           .what = "stopped",
           .message = fmt::format("stopped on request after {} of {}: what is above was measured until then",
                                  short_time_text(report_.seconds), short_time_text(report_.planned))});
    std::ranges::stable_sort(report_.findings, {}, &BurnFinding::status);
  }

 private:
  void add(BurnFinding finding) { report_.findings.push_back(std::move(finding)); }
  BurnFinding about(const BurnNode& node, const BurnGpu& gpu, BurnStatus status, std::string what) const {
    BurnFinding finding;
    finding.status = status;
    finding.node = node.node;
    finding.gpu = gpu.ordinal;
    finding.what = std::move(what);
    return finding;
  }
  static std::string where(const BurnNode& node, const BurnGpu& gpu) {
    return fmt::format("GPU {} of {}", gpu.ordinal, node.node);
  }
  // Drills are on the first node only.
  bool is_slowed_by_drill(const BurnNode& node, const BurnGpu& gpu) const {
    return &node == report_.nodes.data() &&
           std::ranges::any_of(report_.injected, [&](const BurnDrill& drill) {
             return drill.kind == BurnInjection::kSlow && drill.gpu == gpu.ordinal;
           });
  }

  void gather() {
    for (const BurnNode& node : report_.nodes)
      for (const BurnGpu& gpu : node.gpus)
        for (const BurnTally& tally : gpu.tallies)
          if (tally.skipped.empty() && tally.rate > 0) {
            families_[{gpu.name, tally.phase}].push_back({&node, &gpu, &tally});
            ++tests_;
          }
    tests_ += rail_tests(report_);
    for (const BurnNode& node : report_.nodes)
      tests_ += static_cast<int>(std::ranges::count_if(node.drives, is_compared_with_siblings));
    for (const BurnNode& node : report_.nodes)
      if (node.host) tests_ += (node.host->products > 0 ? 1 : 0) + (node.host->memory_rate > 0 ? 1 : 0);
  }

  void judge_node(const BurnNode& node) {
    NodeFindings findings(node, report_.findings);
    if (node.lost)
      findings.add(
          BurnStatus::kFailure, "lost",
          fmt::format("{} was lost after {}: {}", node.node, short_time_text(node.lost_after), node.trouble),
          "Look at its console, its BMC's event log and its power supplies; what it did until then counts.");
    else if (!node.trouble.empty())
      findings.add(BurnStatus::kUnknown, "not-begun",
                   fmt::format("{} could not be burned in: {}", node.node, node.trouble));
    if (node.unseen)
      findings.add(
          BurnStatus::kUnknown, "unseen",
          fmt::format("{} ended its load after {}, because no controller looked for too long", node.node,
                      short_time_text(node.lost_after)),
          "Begin again with a longer --unseen, or take the burn-in up earlier: railbed burn --resume");
    if (node.away > 0 && !node.lost)
      findings.add(BurnStatus::kNote, "away",
                   fmt::format("{} could not be reached for {} in all, and worked on", node.node,
                               short_time_text(node.away)));
  }

  // Copies that never began are among the phases without a result.
  void judge_peers(const BurnNode& node) {
    const auto copied = [](const BurnGpu& gpu) {
      const auto tally = std::ranges::find(gpu.tallies, BurnPhase::kPeers, &BurnTally::phase);
      return tally != gpu.tallies.end() && tally->work > 0;
    };
    if (node.peers_trouble.empty() || !std::ranges::any_of(node.gpus, copied)) return;
    NodeFindings(node, report_.findings)
        .add(BurnStatus::kFailure, "ended",
             fmt::format("copies between the GPUs of {} ended early: {}", node.node, node.peers_trouble),
             "Read the kernel log for Xid and NVLink messages: dmesg | grep -iE 'xid|nvlink|nvswitch'");
  }

  void judge_gpu(const BurnNode& node, const BurnGpu& gpu) {
    judge_results(node, gpu);
    if (!gpu.trouble.empty()) {
      BurnFinding finding = about(node, gpu, gpu.began ? BurnStatus::kFailure : BurnStatus::kUnknown,
                                  gpu.began ? "ended" : "not-begun");
      finding.message = gpu.began
                            ? fmt::format("{} ended after {}: {}", where(node, gpu),
                                          short_time_text(gpu.seconds), gpu.trouble)
                            : fmt::format("{} could not be burned in: {}", where(node, gpu), gpu.trouble);
      if (gpu.began)
        finding.remedy = "Read the kernel log for Xid messages of that moment: dmesg | grep -i xid";
      add(std::move(finding));
    }
    judge_errors(node, gpu);
    if (report_.watts_cap > 0 && gpu.samples > 0 && gpu.watts > report_.watts_cap) {
      BurnFinding finding = about(node, gpu, BurnStatus::kWarning, "above-watts");
      finding.message = fmt::format(
          "{} took {:.0f} W on average, more than the {:.0f} W of --watts: idle, it takes "
          "more than pauses can save",
          where(node, gpu), gpu.watts, report_.watts_cap);
      add(std::move(finding));
    }
    if (!gpu.began) return;
    if (!gpu.no_samples.empty()) {
      BurnFinding finding = about(node, gpu, BurnStatus::kWarning, "no-samples");
      finding.message = fmt::format("{}: power, clocks, temperature and errors are not known{}: {}",
                                    where(node, gpu), gpu.samples > 0 ? " to the end" : "", gpu.no_samples);
      add(std::move(finding));
    }
  }

  void judge_results(const BurnNode& node, const BurnGpu& gpu) {
    if (gpu.fault_count == 0) return;
    BurnFinding finding = about(node, gpu, BurnStatus::kFailure, "wrong-result");
    finding.injected =
        gpu.faults.size() == gpu.fault_count && std::ranges::all_of(gpu.faults, &BurnFault::injected);
    std::uint64_t wrong = 0;
    for (const BurnTally& tally : gpu.tallies) wrong += tally.wrong;
    finding.message = fmt::format("{} gave wrong results: {} in {} of its comparisons", where(node, gpu),
                                  wrong, gpu.fault_count);
    if (!gpu.faults.empty()) {
      const BurnFault& first = gpu.faults.front();
      finding.message +=
          fmt::format("; first in {} after {}: {} (index {}, bits {}){}", burn_phase_word(first.phase),
                      short_time_text(first.at), elements_text(first), first.first, first.bits,
                      first.temperature ? fmt::format(", at {} °C", *first.temperature) : "");
    }
    finding.remedy = remedy_of_wrong(node, gpu);
    add(std::move(finding));
  }

  // A GPU is to blame for what it computed and for its memory. Of a copy there are two ends and a way between them.
  static std::string remedy_of_wrong(const BurnNode& node, const BurnGpu& gpu) {
    const auto all = [&](BurnPhase phase) {
      return !gpu.faults.empty() &&
             std::ranges::all_of(gpu.faults, [&](const BurnFault& fault) { return fault.phase == phase; });
    };
    if (all(BurnPhase::kPeers)) return remedy_of_wrong_copies(node);
    if (all(BurnPhase::kPcie))
      return "The GPU, its link, or the host's memory: railbed burn --only-host tests that memory; another slot "
             "distinguishes the GPU from its link.";
    return "Take this GPU out of service: it computes wrong without an error message.";
  }

  static std::string remedy_of_wrong_copies(const BurnNode& node) {
    std::set<std::pair<int, int>> pairs;
    for (const BurnGpu& gpu : node.gpus)
      for (const BurnFault& fault : gpu.faults)
        if (fault.peer) pairs.insert(std::minmax(gpu.ordinal, *fault.peer));
    if (pairs.size() == 1)
      return fmt::format("GPU {}, GPU {}, or the link between them: nvidia-smi nvlink -e shows its errors.",
                         pairs.begin()->first, pairs.begin()->second);
    std::set<int> common{pairs.begin()->first, pairs.begin()->second};
    for (const auto& pair : pairs)
      std::erase_if(common, [&](int gpu) { return gpu != pair.first && gpu != pair.second; });
    return common.empty()
               ? "Several pairs of GPUs have no GPU in common: look at what connects them (NVSwitch, PCI Express "
                 "switches) first."
               : fmt::format(
                     "GPU {} is an end of every wrong copy of this node: take it out of service first.",
                     *common.begin());
  }

  // Returns how many elements of what were wrong.
  static std::string elements_text(const BurnFault& fault) {
    if (fault.peer)
      return counted(fault.elements, "word", "words") + fmt::format(" of a copy to GPU {}", *fault.peer);
    if (fault.of == "copy")
      return counted(fault.elements, "word of a copy over PCI Express", "words of a copy over PCI Express");
    if (fault.of == "memory")
      return counted(fault.elements, "word just written to memory", "words just written to memory");
    if (fault.of == "memory kept")
      return counted(fault.elements, "word that memory had kept since the phase before",
                     "words that memory had kept since the phase before");
    return counted(fault.elements, "element of a product", "elements of a product") +
           (fault.of == "factors"     ? ", because factors changed in memory"
            : fault.of == "reference" ? ", because the reference changed in memory or was made wrong"
                                      : "");
  }

  void judge_errors(const BurnNode& node, const BurnGpu& gpu) {
    for (const BurnXid& xid : gpu.xids) {
      const Xid* known = find_xid(xid.code);
      const bool mild = known == nullptr || known->action == XidAction::kApplication ||
                        known->action == XidAction::kInformation;
      BurnFinding finding = about(node, gpu, mild ? BurnStatus::kWarning : BurnStatus::kFailure, "xid");
      finding.message =
          fmt::format("{} reported Xid {} after {}{}", where(node, gpu), xid.code, short_time_text(xid.at),
                      known == nullptr ? "" : fmt::format(": {}", known->meaning));
      finding.remedy = known == nullptr ? "" : std::string(advice(known->action));
      add(std::move(finding));
    }
    const auto count = [&](const std::optional<std::uint64_t>& more, BurnStatus status, const char* what,
                           const char* words) {
      if (more.value_or(0) == 0) return;
      BurnFinding finding = about(node, gpu, status, what);
      finding.message = fmt::format("{}: {} {} during the burn", where(node, gpu), *more, words);
      add(std::move(finding));
    };
    count(gpu.ecc_uncorrectable, BurnStatus::kFailure, "ecc-uncorrectable",
          "uncorrectable memory errors (ECC)");
    count(gpu.ecc_corrected, BurnStatus::kWarning, "ecc-corrected", "corrected memory errors (ECC)");
    count(gpu.pcie_replays, BurnStatus::kNote, "pcie-replays", "replays on PCI Express");
    for (const auto& [name, more] : gpu.nvlink_errors)
      count(more, BurnStatus::kNote, "nvlink-errors", fmt::format("NVLink errors ({})", name).c_str());
  }

  // The same product must be the same on all GPUs of a kind.
  void compare_digests() {
    using Kind = std::tuple<std::string, std::string, std::uint64_t, BurnPhase>;
    std::map<Kind, std::map<std::string, Members>> kinds;
    for (const BurnNode& node : report_.nodes)
      for (const BurnGpu& gpu : node.gpus)
        for (const BurnTally& tally : gpu.tallies)
          if (!tally.digest.empty())
            kinds[{gpu.name, gpu.library, gpu.side, tally.phase}][tally.digest].push_back(
                {&node, &gpu, &tally});
    for (const auto& [kind, digests] : kinds)
      if (digests.size() > 1) name_different(std::get<BurnPhase>(kind), digests);
  }

  void name_different(BurnPhase phase, const std::map<std::string, Members>& digests) {
    std::size_t all = 0;
    const Members* most = nullptr;
    for (const auto& [digest, members] : digests) {
      all += members.size();
      if (most == nullptr || members.size() > most->size()) most = &members;
    }
    // Faults are rare. If many GPUs differ, the cause is another one, and the right result is unknown.
    const bool clear = most->size() >= 2 && (all - most->size()) * 4 <= all;
    for (const auto& [digest, members] : digests) {
      if (clear && &members == most) continue;
      for (const Member& one : members) {
        BurnFinding finding = about(*one.node, *one.gpu, clear ? BurnStatus::kFailure : BurnStatus::kWarning,
                                    "different-result");
        finding.message =
            clear
                ? fmt::format(
                      "{} computes another product of {} than {} others of its kind do with the same factors, "
                      "and the same wrong one each time",
                      where(*one.node, *one.gpu), burn_phase_word(phase), most->size())
                : fmt::format(
                      "{} and others of its kind compute different products of {} from the same factors: {} "
                      "results on {} GPUs, so nobody can tell which is right",
                      where(*one.node, *one.gpu), burn_phase_word(phase), digests.size(), all);
        finding.remedy = clear ? "Take this GPU out of service." : "";
        add(std::move(finding));
        if (!clear) return;
      }
    }
  }

  void judge_rates() {
    std::map<const BurnGpu*, std::vector<std::pair<BurnPhase, double>>> slow;
    for (auto& [key, members] : families_) {
      const auto& [name, phase] = key;
      std::vector<double> rates;
      double watts = 0;
      for (const Member& one : members) {
        rates.push_back(one.tally->rate);
        watts += one.tally->watts;
      }
      BurnFamily family;
      family.name = name;
      family.phase = phase;
      family.gpus = static_cast<int>(members.size());
      family.watts = watts / static_cast<double>(members.size());
      family.data_sheet = data_sheet_of(name, phase);
      Siblings siblings = compare_siblings(rates, tests_);
      if (std::ranges::any_of(members, [](const Member& one) { return one.tally->by_place; })) {
        siblings.slow.clear();
        siblings.smallest.reset();
      }
      family.median = siblings.median;
      family.low = siblings.low;
      family.high = siblings.high;
      family.spread = siblings.spread;
      family.smallest = siblings.smallest;
      for (const auto& [i, share] : siblings.slow) slow[members[i].gpu].emplace_back(phase, share);
      if (family.data_sheet && family.median < *family.data_sheet * kOfDataSheet)
        add({.status = BurnStatus::kWarning,
             .what = "below-data-sheet",
             .message =
                 fmt::format("{} {} reached only {} of the data sheet's rate in {}: all are slow",
                             family.gpus == 1 ? "the one" : fmt::format("half of {}", family.gpus), name,
                             percent(family.median / *family.data_sheet), burn_phase_word(phase)),
             .remedy =
                 "Compare clocks, power limits and temperatures: nvidia-smi -q -d CLOCK,POWER,PERFORMANCE"});
      report_.families.push_back(std::move(family));
    }
    for (const BurnNode& node : report_.nodes)
      for (const BurnGpu& gpu : node.gpus)
        if (const auto found = slow.find(&gpu); found != slow.end())
          name_slow(node, gpu, std::move(found->second));
  }

  void name_slow(const BurnNode& node, const BurnGpu& gpu, std::vector<std::pair<BurnPhase, double>> phases) {
    std::ranges::stable_sort(phases, [](const auto& a, const auto& b) { return a.second > b.second; });
    const auto [worst, share] = phases.front();
    BurnFinding finding =
        about(node, gpu, share >= kSlowFailsFrom ? BurnStatus::kFailure : BurnStatus::kWarning, "slow");
    finding.injected = is_slowed_by_drill(node, gpu);
    std::string others;
    for (std::size_t i = 1; i < phases.size(); ++i)
      others += fmt::format("{}{} {}", i > 1 ? ", " : "", burn_phase_word(phases[i].first),
                            percent(phases[i].second));
    const Members& siblings = families_.at({gpu.name, worst});
    finding.message =
        fmt::format("{} is {} slower in {} than {}{}{}", where(node, gpu), percent(share),
                    burn_phase_word(worst), siblings_text(siblings.size()),
                    others.empty() ? "" : " (" + others + ")", cause_of_slow(gpu, siblings, worst));
    finding.remedy =
        "Look at its cooling, its power cables and its clocks; move it to another slot to tell GPU from place.";
    add(std::move(finding));
  }

  // Returns ", held back by power brake 4 % of the time", or what else sets it apart from its siblings. Whatever holds a
  // GPU back lowers its clock, so a clock as high as theirs refutes it.
  static std::string cause_of_slow(const BurnGpu& gpu, const Members& siblings, BurnPhase phase) {
    std::vector<double> clocks;
    double own = 0;
    for (const Member& sibling : siblings) {
      clocks.push_back(sibling.tally->clock);
      if (sibling.gpu == &gpu) own = sibling.tally->clock;
    }
    const double usual = median_of(clocks);
    const bool known = gpu.samples > 0 && own > 0;
    if (known && own >= usual * (1 - kClockExcess))
      return ", with no reason that NVML names: its clock is as high as theirs";
    if (const std::string_view reason = excess_reason(gpu, siblings); !reason.empty())
      return fmt::format(", held back by {} {} of the time", reason, percent(share_of(gpu, reason)));
    if (!known) return ", and its clock is not known";
    return is_copy(phase) ? ", with no reason that NVML names"
                          : fmt::format(", at {:.0f} MHz where they run at {:.0f}", own, usual);
  }

  // Returns the reason that held this GPU back for more of the time than its siblings; empty if none did.
  static std::string_view excess_reason(const BurnGpu& gpu, const Members& siblings) {
    std::string_view reason;
    double most = kReasonExcess;
    for (const GpuSlowdown& one : kGpuSlowdowns) {
      std::vector<double> shares;
      for (const Member& sibling : siblings) shares.push_back(share_of(*sibling.gpu, one.word));
      const double excess = share_of(gpu, one.word) - median_of(shares);
      if (excess > most) {
        most = excess;
        reason = one.word;
      }
    }
    return reason;
  }

  void judge_slowdowns() {
    for (const BurnNode& node : report_.nodes)
      for (const BurnGpu& gpu : node.gpus)
        for (const GpuSlowdown& one : kGpuSlowdowns) {
          const double share = share_of(gpu, one.word);
          const auto found = std::ranges::find(gpu.slowdowns, one.word, &BurnSlowdown::reason);
          if (one.sound || share < kSlowdownNamedFrom || found->samples < kSlowedSamples) continue;
          BurnFinding finding =
              about(node, gpu, share >= kSlowdownFailsFrom ? BurnStatus::kFailure : BurnStatus::kWarning,
                    "slowed-down");
          finding.message = fmt::format("{} was slowed down by {} {} of the time", where(node, gpu), one.word,
                                        percent(share));
          finding.remedy = remedy_of_slowdown(one.word);
          add(std::move(finding));
        }
  }

  // Reports phases that could not run, or ran without a result, but not those for which the GPU has no units.
  void name_skipped() {
    std::map<std::string, std::pair<std::set<BurnPhase>, std::set<const BurnGpu*>>> reasons;
    for (const BurnNode& node : report_.nodes)
      for (const BurnGpu& gpu : node.gpus)
        for (std::size_t i = 0; i < kGpuPhases; ++i) {
          const auto phase = static_cast<BurnPhase>(i);
          const std::string why = why_no_result(gpu, phase);
          if (why.empty()) continue;
          auto& [phases, gpus] = reasons[why];
          phases.insert(phase);
          gpus.insert(&gpu);
        }
    for (const auto& [why, which] : reasons) {
      std::string phases;
      for (const BurnPhase phase : which.first)
        phases += (phases.empty() ? "" : ", ") + std::string(burn_phase_word(phase));
      add({.status = BurnStatus::kUnknown,
           .what = "not-run",
           .message =
               fmt::format("no result in {} on {}: {}", phases, counted(which.second.size(), "GPU"), why),
           .remedy = ""});
    }
  }

  std::string why_no_result(const BurnGpu& gpu, BurnPhase phase) const {
    const auto tally = std::ranges::find(gpu.tallies, phase, &BurnTally::phase);
    if (tally != gpu.tallies.end()) {
      if (tally->no_units) return "";
      if (!tally->skipped.empty()) return tally->skipped;
      if (tally->rate > 0) return "";
    }
    const bool planned = std::ranges::find(report_.phases, phase, &BurnShare::phase) != report_.phases.end();
    return planned && gpu.ended && !report_.stopped ? "its turns were too short for one" : "";
  }

  BurnReport& report_;
  std::map<std::pair<std::string, BurnPhase>, Members> families_;
  int tests_ = 0;
};

}  // namespace

void NodeFindings::add(BurnStatus status, std::string what, std::string message, std::string remedy,
                       bool injected) {
  findings_.push_back({.status = status,
                       .node = node_.node,
                       .what = std::move(what),
                       .message = std::move(message),
                       .remedy = std::move(remedy),
                       .injected = injected});
}

void NodeFindings::count(const std::optional<std::uint64_t>& more, std::string_view name, BurnStatus status,
                         std::string what, std::string_view words, std::string remedy) {
  if (more.value_or(0) > 0)
    add(status, std::move(what), fmt::format("{}: {} {} during the burn", name, *more, words),
        std::move(remedy));
}

double burn_limit(int siblings, int tests) {
  const double freedom = (siblings - 1) / 2.0;
  return student_quantile(kFalseAlarms / std::max(tests, 1), freedom);
}

std::string siblings_text(std::size_t members) {
  return members >= kFewestSiblings ? fmt::format("the median of {} siblings", members - 1)
         : members > 2              ? std::string("the fastest of its siblings")
                                    : std::string("its sibling");
}

Siblings compare_siblings(const std::vector<double>& rates, int tests) {
  Siblings siblings;
  siblings.median = median_of(rates);
  siblings.low = *std::ranges::min_element(rates);
  siblings.high = *std::ranges::max_element(rates);
  std::vector<double> deviations;
  std::vector<double> sizes;
  std::vector<double> lower;
  for (const double rate : rates) {
    deviations.push_back(std::log(siblings.median / rate));
    sizes.push_back(std::abs(deviations.back()));
    if (deviations.back() > 0) lower.push_back(deviations.back());
  }
  siblings.spread = kMad * std::max(median_of(sizes), (lower.empty() ? 0 : median_of(lower)));
  if (rates.size() < kFewestSiblings) {
    for (std::size_t i = 0; i < rates.size(); ++i)
      if (const double share = 1 - rates[i] / siblings.high; share > kApart)
        siblings.slow.emplace_back(i, share);
    return siblings;
  }
  const double scale = std::max(siblings.spread, kLeastScale);
  const double limit =
      std::max(burn_limit(static_cast<int>(rates.size()), tests) * scale, -std::log(1 - kWorthNaming));
  siblings.smallest = 1 - std::exp(-limit - kFound * scale);
  for (std::size_t i = 0; i < rates.size(); ++i)
    if (deviations[i] > limit) siblings.slow.emplace_back(i, 1 - std::exp(-deviations[i]));
  return siblings;
}

void judge_burn(BurnReport& report) { BurnJudge(report).judge(); }

int burn_exit_code(const BurnReport& report) {
  const auto has = [&](BurnStatus status) {
    return std::ranges::find(report.findings, status, &BurnFinding::status) != report.findings.end();
  };
  if (has(BurnStatus::kFailure)) return kExitFailures;
  if (has(BurnStatus::kUnknown)) return kExitCouldNotLook;
  const bool any =
      (report.rails && report.rails->bytes > 0) || (report.collectives && report.collectives->compared > 0) ||
      std::ranges::any_of(report.nodes, [](const BurnNode& node) {
        return (node.host && node.host->compared > 0) ||
               std::ranges::any_of(node.drives, [](const BurnDrive& drive) { return drive.compared > 0; }) ||
               std::ranges::any_of(node.gpus, [](const BurnGpu& gpu) {
                 return std::ranges::any_of(gpu.tallies,
                                            [](const BurnTally& tally) { return tally.work > 0; });
               });
      });
  if (!any || report.stopped) return kExitCouldNotLook;
  return has(BurnStatus::kWarning) ? kExitWarnings : kExitClean;
}

}  // namespace railbed
