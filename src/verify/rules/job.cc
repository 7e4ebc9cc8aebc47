// Jobs as a monitor sees them over time.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/moment.h"
#include "base/shell.h"
#include "model/watched.h"
#include "verify/areas.h"
#include "verify/walk.h"

namespace railbed {
namespace {

// A job on the nodes that are watched. Pods and processes are of one node.
struct WatchedJob {
  std::string name = {};
  std::map<std::string, const JobSpell*> nodes = {};  // by node
};

std::vector<WatchedJob> jobs_of(const Survey& survey) {
  std::map<std::pair<std::string, std::string>, WatchedJob> jobs;  // by node, unless it is Slurm's, and name
  for (const auto& [node, watched] : survey.evidence.watched)
    for (const JobSpell& spell : watched->work.jobs) {
      WatchedJob& job = jobs[{spell.job.hpc_job.empty() ? node : "", job_name(spell.job)}];
      job.name = job_name(spell.job);
      job.nodes.emplace(node, &spell);
    }
  std::vector<WatchedJob> found;
  for (auto& [key, job] : jobs) found.push_back(std::move(job));
  return found;
}

// A job's GPUs in numbers, over all its nodes.
struct Spin {
  int spinning = 0;
  double watts = 0;
  double bar = 0;
  double traffic = 0;
  double since = 0;
  double until = 0;
  std::vector<std::string> resting = {};  // "GPU 0000:1b:00.0 of gpu01"
};

Spin spin_of(const WatchedJob& job) {
  Spin spin;
  for (const auto& [node, spell] : job.nodes) {
    for (const SpellGpu& gpu : spell->gpus) {
      if (!gpu.spins) {
        spin.resting.push_back(fmt::format("GPU {} of {}", gpu.address, node));
        continue;
      }
      ++spin.spinning;
      spin.watts = std::max(spin.watts, gpu.watts);
      spin.bar = std::max(spin.bar, gpu.bar);
    }
    spin.traffic = std::max(spin.traffic, spell->traffic);
    spin.since = std::max(spin.since, spell->since);  // from then on all of them have waited
    spin.until = std::max(spin.until, spell->until);
  }
  return spin;
}

std::string job_nodes(const WatchedJob& job) {
  constexpr std::size_t kMost = 4;
  std::vector<std::string> names;
  for (const auto& [node, spell] : job.nodes)
    if (names.size() < kMost) names.push_back(node);
  const std::size_t more = job.nodes.size() - names.size();
  return fmt::format("{}{}", fmt::join(names, ", "), more > 0 ? fmt::format(" and {} more", more) : "");
}

std::string resting_text(const Spin& spin) {
  if (spin.resting.empty()) return "";
  constexpr std::size_t kMost = 3;
  const auto shown = std::min(spin.resting.size(), kMost);
  return fmt::format(
      "; {}{} of the job {} no kernel: look at {} first",
      fmt::join(spin.resting.begin(), spin.resting.begin() + static_cast<std::ptrdiff_t>(shown), ", "),
      spin.resting.size() > shown ? fmt::format(" and {} more", spin.resting.size() - shown) : "",
      spin.resting.size() == 1 ? "runs" : "run",
      spin.resting.size() == 1 ? "its process" : "their processes");
}

Remedy stall_remedy(const WatchedJob& job) {
  Remedy remedy{
      .text =
          "Find the rank that the others wait for: as the job's user by NCCL's RAS service, else by `railbed explain` of the "
          "job's log or of PyTorch's flight records. Unless one rank saves a checkpoint, evaluates or compiles, end the job.",
      .commands = {"railbed nccl --ras", "railbed nccl --running"}};
  const std::string& slurm = job.nodes.begin()->second->job.hpc_job;
  if (!slurm.empty()) remedy.commands.push_back(command("scontrol show job {}", slurm));
  return remedy;
}

void judge_stall(Case& verdict, const WatchedJob& job) {
  const auto works =
      std::ranges::find_if(job.nodes, [](const auto& one) { return one.second->readings == 0; });
  if (works != job.nodes.end())
    return verdict.pass(fmt::format("{} of {}", works->second->works, works->first));
  const auto brief =
      std::ranges::find_if(job.nodes, [](const auto& one) { return !is_stalled(*one.second); });
  if (brief != job.nodes.end())
    return verdict.pass(fmt::format("has waited for {:.0f} s on {}", brief->second->seconds(), brief->first));
  const auto unread =
      std::ranges::find_if(job.nodes, [](const auto& one) { return !one.second->unread.empty(); });
  if (unread != job.nodes.end())
    return verdict.unknown(fmt::format("its GPUs spin, but the traffic of {} of {} could not be read",
                                       unread->second->unread, unread->first));
  const Spin spin = spin_of(job);
  const std::string& user = job.nodes.begin()->second->job.user;
  const double minutes = std::floor((spin.until - spin.since) / 60);
  verdict.warn({.message = fmt::format(
                    "{}{} on {} has done nothing since {}, for {:.0f} minutes: {} {} with at most {:.0f} W, "
                    "and nothing passes the network{}",
                    job.name, user.empty() || job.name.ends_with(user) ? "" : " of " + user, job_nodes(job),
                    utc_text(spin.since), minutes, spin.spinning,
                    spin.spinning == 1 ? "GPU spins" : "GPUs spin", spin.watts, resting_text(spin)),
                .expected = fmt::format("more than {:.0f} W, or traffic", spin.bar),
                .observed = fmt::format(
                    "{} of {} GPUs at {} % and at most {:.0f} W, {:.0f} kB/s on all adapters of a node",
                    spin.spinning, spin.spinning + static_cast<int>(spin.resting.size()), kSpinPercent,
                    spin.watts, spin.traffic / 1000),
                .remedy = stall_remedy(job)});
}

void stalled(const Survey& survey, Judge& judge) {
  const auto jobs = jobs_of(survey);
  for (const WatchedJob& job : jobs) {
    Things touches;
    for (const auto& [node, spell] : job.nodes) touches.add("job:" + job.name + "@" + node);
    if (job.nodes.size() == 1) {
      Case verdict = judge.on_node(job.nodes.begin()->first, job.name, std::move(touches));
      judge_stall(verdict, job);
    } else {
      Case verdict = judge.on_cluster(job.name, std::move(touches));
      judge_stall(verdict, job);
    }
  }
  // A node without such a job has a case as well, by which the rule's alert can be tried.
  for (const auto& [node, watched] : survey.evidence.watched)
    if (watched->work.jobs.empty())
      judge.on_node(node, "jobs", {}).not_applicable("no job of several GPUs is known there");
}

}  // namespace

std::span<const Rule> job_rules() {
  static const Rule kRules[] = {
      {.id = "job.stalled",
       .title = "jobs make progress",
       .why =
           "Ranks that wait for one that hangs keep their GPUs at 100 % and do nothing, for hours if nobody looks.",
       .source =
           "railbed monitor: NVML's utilisation, power and energy, and the bytes on all adapters, over minutes",
       .standard =
           "no job whose GPUs spin below a quarter of their power limit without traffic for 5 minutes (railbed's own)",
       .remedy = "Find the rank that the others wait for.",
       .fixture = "h100-job-stalled",
       .explained_by = {},
       .check = stalled},
  };
  return kRules;
}

}  // namespace railbed
