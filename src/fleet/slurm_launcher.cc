// Slurm transports agents like ssh: a program on this machine, srun, has the standard input and output of the
// agent. There is one step for each node instead of one for all: srun sends the same input to all tasks of a
// step and separates their output by lines, while frames are binary and belong to one agent. A node that dies
// ends only its own step.
//
// The job is the one that the user names; or the present one, if it has all nodes; or a new one. A new job is
// an `salloc` whose command waits for the end of its input, as agents do. When this process ends, however it
// ends, the input ends and the command with it, and salloc releases the nodes. An salloc that still waits for
// its allocation is ended by a signal.
//
// Slurm is queried about the nodes first. A node that is down, drained or does not respond is reported with
// Slurm's reason and not waited for. A new allocation holds only the other nodes. It is exclusive, so no
// other job runs there. An existing job may share its nodes, so Slurm is queried for other jobs on them.
#include "fleet/slurm_launcher.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "base/text.h"
#include "fleet/bootstrap.h"
#include "fleet/frame.h"
#include "fleet/prepared_launcher.h"
#include "fleet/slurm_text.h"
#include "os/process.h"

namespace railbed::fleet {
namespace {

constexpr std::chrono::seconds kGiveBack{5};  // for salloc to release the nodes
constexpr std::string_view kMissing =
    "Slurm's programs are not here: run this where jobs are submitted (Debian and Ubuntu: slurm-client)";

using Words = std::vector<std::string>;

Result<std::string> ask(const Environment& environment, const Words& question, const std::stop_token& stop) {
  return ask_scheduler(question[0], without_job_variables(environment, question), kMissing, stop);
}

// `which` holds the options that select the nodes.
Result<SlurmNodes> ask_nodes(const Environment& environment, const Words& which,
                             const std::stop_token& stop) {
  const std::string nonce = make_nonce();
  Words question = {"sinfo", "--Node", "--noheader", "-o", slurm_node_format(nonce)};
  question.insert(question.end(), which.begin(), which.end());
  ASSIGN_OR_RETURN(const auto text, ask(environment, question, stop));
  return parse_slurm_nodes(text, nonce);
}

Result<std::vector<SlurmJob>> ask_jobs(const Environment& environment, const std::string& option,
                                       const std::stop_token& stop) {
  const std::string nonce = make_nonce();
  ASSIGN_OR_RETURN(const auto text,
                   ask(environment,
                       {"squeue", "--all", "--noheader", "--states=running,suspended,completing", option,
                        "-o", slurm_job_format(nonce)},
                       stop));
  return parse_slurm_jobs(text, nonce);
}

Result<SlurmJob> ask_job(const Environment& environment, const std::string& job,
                         const std::stop_token& stop) {
  ASSIGN_OR_RETURN(auto jobs, ask_jobs(environment, "--jobs=" + job, stop));
  if (jobs.empty()) return fail(ErrorKind::kUnavailable, fmt::format("Slurm runs no job {}", job));
  return std::move(jobs.front());
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

// Returns the present job if it has all these nodes; empty otherwise.
std::string present_job(const Environment& environment, const std::vector<std::string>& nodes) {
  const auto own = slurm_names(text_of(environment, "SLURM_JOB_NODELIST"));
  if (!own) return "";
  const std::set<std::string> known(own->begin(), own->end());
  const bool all = std::ranges::all_of(nodes, [&](const std::string& node) { return known.contains(node); });
  return all ? text_of(environment, "SLURM_JOB_ID") : "";
}

class SlurmLauncher final : public PreparedLauncher {
 public:
  SlurmLauncher(SlurmChoice choice, std::vector<std::string> nodes, Environment environment)
      : choice_(std::move(choice)), nodes_(std::move(nodes)), environment_(std::move(environment)) {}
  ~SlurmLauncher() override { give_back(); }

  std::string_view when_missing() const override { return kMissing; }
  std::string path_on_node(const std::string& own) const override { return own; }

 private:
  Words node_words(const std::string& node, const std::string& script) override {
    return without_job_variables(environment_, step_words(job_, node, script));
  }

  Result<void> prepare(const Waker& waker, const std::stop_token& stop) override {
    job_ = choice_.job.empty() ? present_job(environment_, nodes_) : choice_.job;
    ASSIGN_OR_RETURN(auto usable, usable_nodes(stop));
    if (usable.empty()) return {};
    if (job_.empty()) return allocate(usable, waker, stop);
    return choice_.overlap ? Result<void>() : refuse_shared(usable, stop);
  }

  // Returns the nodes on which Slurm would start a step; the others become refused.
  Result<std::vector<SlurmNodeState>> usable_nodes(const std::stop_token& stop) {
    std::vector<std::string> asked;
    std::ranges::copy_if(nodes_, std::back_inserter(asked), is_slurm_name);
    ASSIGN_OR_RETURN(auto known,
                     ask_nodes(environment_, {"--all", "--nodes=" + slurm_hostlist(asked)}, stop));
    standard_partition_ = known.standard_partition;
    for (const std::string& node : nodes_)
      refused_.emplace(node, "Slurm knows no node of that name (sinfo -N)");
    std::vector<SlurmNodeState> usable;
    for (SlurmNodeState& node : known.nodes) {
      const auto why = why_not(node, use(), environment_.contains("SALLOC_RESERVATION"));
      if (why)
        refused_.insert_or_assign(node.name, *why);
      else if (refused_.erase(node.name) > 0)
        usable.push_back(std::move(node));
    }
    if (!choice_.job.empty()) RETURN_IF_ERROR(keep_those_of_job(usable, stop));
    return usable;
  }

  SlurmUse use() const {
    if (!job_.empty()) return SlurmUse::kJob;
    return choice_.overlap ? SlurmUse::kOverlap : SlurmUse::kAlone;
  }

  Result<void> keep_those_of_job(std::vector<SlurmNodeState>& usable, const std::stop_token& stop) {
    ASSIGN_OR_RETURN(const auto job, ask_job(environment_, job_, stop));
    std::erase_if(usable, [&](const SlurmNodeState& node) {
      if (contains(job.nodes, node.name)) return false;
      return refused_.emplace(node.name, fmt::format("job {} does not have it", job_)).second;
    });
    return {};
  }

  Result<void> refuse_shared(const std::vector<SlurmNodeState>& usable, const std::stop_token& stop) {
    ASSIGN_OR_RETURN(const auto jobs,
                     ask_jobs(environment_, "--nodelist=" + slurm_hostlist(names_of_states(usable)), stop));
    for (const SlurmJob& job : jobs) {
      if (fmt::to_string(job.number) == job_) continue;
      for (const std::string& node : job.nodes)
        refused_.emplace(node,
                         fmt::format("job {} of {} runs there as well; wait for its end, or allow that with "
                                     "--overlap",
                                     job.number, job.user));
    }
    return {};
  }

  static std::vector<std::string> names_of_states(const std::vector<SlurmNodeState>& nodes) {
    std::vector<std::string> names;
    for (const SlurmNodeState& node : nodes) names.push_back(node.name);
    return names;
  }

  Words allocation_words(const std::vector<SlurmNodeState>& nodes, std::string_view nonce) const {
    Words words = {"salloc",
                   "--quiet",
                   "--no-kill",
                   "--job-name=railbed",
                   "--ntasks-per-node=1",
                   fmt::format("--immediate={}", choice_.patience.count()),
                   fmt::format("--nodes={}", nodes.size()),
                   "--nodelist=" + slurm_hostlist(names_of_states(nodes))};
    const std::string partition =
        choice_.partition.empty() ? partition_of_all(nodes, standard_partition_) : choice_.partition;
    // The user's setting for the partition (salloc(1), INPUT ENVIRONMENT VARIABLES) takes precedence.
    if (!partition.empty() && (!choice_.partition.empty() || !environment_.contains("SALLOC_PARTITION")))
      words.push_back("--partition=" + partition);
    if (choice_.overlap)
      words.push_back("--oversubscribe");
    else
      words.insert(words.end(), {"--exclusive", "--mem=0"});
    words.insert(
        words.end(),
        {"/bin/sh", "-c", fmt::format("echo \"railbed:{}: job $SLURM_JOB_ID\"; exec cat >/dev/null", nonce)});
    return without_job_variables(environment_, std::move(words));
  }

  Result<void> allocate(const std::vector<SlurmNodeState>& nodes, const Waker& waker,
                        const std::stop_token& stop) {
    const std::string nonce = make_nonce();
    ASSIGN_OR_RETURN(auto started, Link::start(allocation_words(nodes, nonce)));
    allocation_.emplace(std::move(started));
    const auto deadline = Clock::now() + choice_.patience + kSchedulerDeadline;
    auto event = Link::Event::kProgress;
    while (event == Link::Event::kProgress && !stop.stop_requested()) {
      event = allocation_->pump(deadline, waker);
      if (!allocation_->next()) break;
      const auto line = bootstrap_line(allocation_->noise(), nonce);
      if (line && line->word == "job" && is_digits(line->rest)) return job_ = line->rest, Result<void>();
    }
    if (stop.stop_requested()) return fail(ErrorKind::kCancelled, "cancelled");
    return no_allocation(nodes.size());
  }

  Result<void> no_allocation(std::size_t nodes) {
    allocation_->close(std::chrono::milliseconds(0));
    if (allocation_->exit_code() == 127) return fail(ErrorKind::kUnavailable, std::string(kMissing));
    return fail(
        ErrorKind::kTimeout,
        fmt::format("Slurm gave no allocation of {} node{} within {} s: {}; wait longer with --slurm-wait, "
                    "or name a job that has them with --slurm-job",
                    nodes, nodes == 1 ? "" : "s", choice_.patience.count(), quotable(allocation_->errors())));
  }

  // Releases the allocation of a new job. If salloc does not end by itself, it has not informed Slurm, so
  // scancel does.
  void give_back() {
    if (!allocation_) return;
    const auto began = Clock::now();
    allocation_->close(job_.empty() ? std::chrono::milliseconds(0) : kGiveBack);
    if (!job_.empty() && Clock::now() - began >= kGiveBack)
      std::ignore = run_program(without_job_variables(environment_, {"scancel", job_}), kGiveBack);
  }

  const SlurmChoice choice_;
  const std::vector<std::string> nodes_;
  const Environment environment_;
  std::string standard_partition_;
  std::string job_;                 // the job whose steps the agents are
  std::optional<Link> allocation_;  // salloc, if the job is a new one
};

}  // namespace

std::unique_ptr<AgentLauncher> slurm_launcher(SlurmChoice choice, std::vector<std::string> nodes,
                                              Environment environment) {
  return std::make_unique<SlurmLauncher>(std::move(choice), std::move(nodes), std::move(environment));
}

Result<std::optional<std::vector<std::string>>> slurm_nodes(const SlurmChoice& choice,
                                                            const Environment& environment,
                                                            const std::stop_token& stop) {
  using Names = std::optional<std::vector<std::string>>;
  if (!choice.job.empty()) {
    ASSIGN_OR_RETURN(auto job, ask_job(environment, choice.job, stop));
    return Names(std::move(job.nodes));
  }
  if (!choice.partition.empty()) {
    ASSIGN_OR_RETURN(const auto known, ask_nodes(environment, {"--partition=" + choice.partition}, stop));
    if (known.nodes.empty())
      return fail(ErrorKind::kBadInput,
                  fmt::format("Slurm has no nodes in a partition {}", choice.partition));
    Names names(std::in_place);
    for (const SlurmNodeState& node : known.nodes) names->push_back(node.name);
    return names;
  }
  auto present = slurm_names(text_of(environment, "SLURM_JOB_NODELIST"));
  return present ? Names(std::move(*present)) : Names();
}

Words without_job_variables(const Environment& environment, Words words) {
  static const std::set<std::string, std::less<>> kKept = {"SLURM_CONF", "SLURM_CONF_SERVER",
                                                           "SLURM_CLUSTERS", "SLURM_JWT"};
  Words clean = {"env"};
  for (const auto& [name, value] : environment)
    for (const std::string_view prefix : {"SLURM_", "SINFO_", "SQUEUE_"})
      if (name.starts_with(prefix) && !kKept.contains(name)) clean.insert(clean.end(), {"-u", name});
  clean.insert(clean.end(), std::make_move_iterator(words.begin()), std::make_move_iterator(words.end()));
  return clean;
}

// --unbuffered: otherwise slurmstepd forwards output only by whole lines. It gives the step's output a
// terminal, which changes no byte (slurmstepd clears OPOST); input stays a pipe, and srun has no --pty.
// --overlap: run beside other steps of the job, such as the shell that runs this program.
Words step_words(const std::string& job, const std::string& node, const std::string& script) {
  return {
      "srun",         "--jobid=" + job, "--overlap",       "--nodes=1", "--ntasks=1", "--nodelist=" + node,
      "--unbuffered", "--mpi=none",     "--cpu-bind=none", "--quiet",   "/bin/sh",    "-c",
      script};
}

}  // namespace railbed::fleet
