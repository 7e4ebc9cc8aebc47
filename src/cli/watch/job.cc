// railbed job: what a job changed on this node.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>

#include "base/text.h"
#include "base/wording.h"
#include "campaign/look/jobs.h"
#include "campaign/measure/gpu_places.h"
#include "cli/command.h"
#include "cli/document.h"
#include "cli/fleet_options.h"
#include "cli/look/health.h"
#include "cli/option_checks.h"
#include "cli/terminal.h"
#include "host/open.h"
#include "os/host_name.h"
#include "report/text/job_text.h"
#include "store/job_records.h"

namespace railbed {
namespace {

constexpr Document<JobRecord> kJobDocument{"railbed-job", kJobRecordVersion};
constexpr Document<std::vector<JobRecord>> kJobsDocument{"railbed-jobs", 1, "jobs"};
constexpr Document<std::vector<NodeJob>> kNodeJobsDocument{"railbed-job-nodes", 1, "nodes"};

struct JobOptions {
  std::string id;
  std::string folder;
  std::string root;
  double patience = 1;
  std::size_t most = 50;
  std::vector<std::string> nodes;
  ReachOptions reach;
  bool all = false;
  bool strict = false;
  bool json = false;
  std::function<int(const JobOptions&)> what;
};

// Returns the job's ID if none was given: Slurm's job, or this pod of a Job in Kubernetes, which is named after it.
std::string id_of_environment() {
  const auto value = [](const char* name) {
    const char* found = std::getenv(name);
    return std::string(found == nullptr ? "" : found);
  };
  if (auto id = value("SLURM_JOB_ID"); !id.empty()) return id;
  if (!value("KUBERNETES_SERVICE_HOST").empty()) return host_name();
  return {};
}

// Returns Slurm's name of this node, else NODE_NAME, as which a pod gets its node's, else the host's.
std::string node_of_environment() {
  const char* node = std::getenv("NODE_NAME");
  if (std::getenv("SLURMD_NODENAME") != nullptr || node == nullptr || *node == '\0')
    return printable(slurm_node_name());
  return printable(node);
}

Result<std::string> job_id(const JobOptions& options) {
  std::string id = options.id.empty() ? id_of_environment() : options.id;
  if (id.empty())
    return fail(ErrorKind::kBadInput, "which job is meant? SLURM_JOB_ID is not set here: write --id ID");
  if (const std::string why = complaint_about_job_id(id); !why.empty())
    return fail(ErrorKind::kBadInput,
                fmt::format("\"{}\" cannot be a job's ID: {}", printable(id.substr(0, 80)), why));
  return id;
}

Result<JobRecords> open_records(const JobOptions& options, JobRecords::Missing missing) {
  const std::string folder = options.folder.empty() ? default_job_folder() : options.folder;
  if (folder.empty())
    return fail(ErrorKind::kUnavailable,
                "no folder for the record: HOME and XDG_STATE_HOME are not set, so write --dir FOLDER");
  return JobRecords::open(folder, missing);
}

Result<std::shared_ptr<Host>> machine_of(const JobOptions& options) {
  if (options.root.empty()) return std::shared_ptr<Host>(open_this_machine());
  ASSIGN_OR_RETURN(auto opened, open_root(options.root));
  return std::shared_ptr<Host>(std::move(opened));
}

// Prints an error and returns the exit code: 0 without --strict, because a fault of railbed must not hold a job or drain a node.
int told(const JobOptions& options, const Error& error) {
  const int code = report(error);
  return options.strict ? code : kExitClean;
}

// Ends the process at once if some read hangs, because its thread uses objects that an orderly end destroys.
int ended(const JobOptions& options, int code, bool hangs) {
  if (!options.strict) code = kExitClean;
  if (!hangs) return code;
  std::fflush(stdout);
  _exit(code);
}

void print_begun(const JobRecord& record) {
  const JobLook& look = *record.begin;
  fmt::print("job {} on {}: {} before it, read in {:.2f} s\n", printable(record.id), printable(record.node),
             looked_at_text(look), look.took);
  for (const std::string& what : look.unread) print_to_stderr("railbed: not read: {}\n", printable(what));
  for (const auto& [address, gpu] : look.gpus)
    if (!gpu.unread.empty())
      print_to_stderr("railbed: not read: GPU {}: {}\n", printable(address), printable(gpu.unread));
}

int record_job(const JobOptions& options, bool begins) {
  const auto id = job_id(options);
  if (!id) return told(options, id.error());
  const auto records = open_records(options, JobRecords::Missing::kIsMade);
  if (!records) return told(options, records.error());
  const auto host = machine_of(options);
  if (!host) return told(options, host.error());
  JobOrder request{*id, node_of_environment()};
  request.patience = std::chrono::milliseconds(static_cast<int>(options.patience * 1000));
  if (const char* gpus = std::getenv("SLURM_JOB_GPUS"); gpus != nullptr)
    request.gpus = printable(gpus).substr(0, kLongestJobId);
  const auto outcome =
      begins ? Result<JobOutcome>(begin_job(*host, *records, request)) : end_job(*host, *records, request);
  if (!outcome) return told(options, outcome.error());
  const JobRecord& record = outcome->record;
  if (options.json)
    print_document(kJobDocument, record);
  else if (begins)
    print_begun(record);
  else
    fmt::print("{}", job_text(record));
  int code = begins ? (outcome->whole ? kExitClean : kExitCouldNotLook) : exit_code(record);
  if (outcome->not_written) code = report(*outcome->not_written);
  return ended(options, code, outcome->hangs);
}

int begin_job_here(const JobOptions& options) { return record_job(options, true); }
int end_job_here(const JobOptions& options) { return record_job(options, false); }

int show_job_on_nodes(const JobOptions& options) {
  const auto id = job_id(options);
  if (!id) return report(id.error());
  if (!options.folder.empty() && !options.folder.starts_with('/'))
    return report({ErrorKind::kBadInput, "--dir with --nodes: write a folder of the nodes, from / on"});
  const auto places = find_gpu_places(options.nodes, {});
  if (!places) return report(places.error());
  for (const GpuPlace& place : places->nodes)
    if (!place.gpus.empty())
      return report(
          {ErrorKind::kBadInput, fmt::format("--nodes {}: leave out the GPUs", printable(place.name))});
  const auto nodes = find_job_on_nodes(*id, options.folder, *places, options.reach, terminal_caller());
  if (options.json)
    print_document(kNodeJobsDocument, nodes);
  else
    fmt::print("{}", node_jobs_text(*id, nodes, options.all));
  return exit_code(nodes);
}

int show_job(const JobOptions& options) {
  if (!options.nodes.empty()) return show_job_on_nodes(options);
  const auto records = open_records(options, JobRecords::Missing::kIsAnError);
  if (!records) return report(records.error());
  if (options.id.empty()) {
    const auto found = records->newest(options.most);
    if (found.unreadable > 0)
      print_to_stderr("railbed: {} cannot be read as records, and are left out\n",
                      counted(found.unreadable, "file"));
    if (options.json)
      print_document(kJobsDocument, found.records);
    else if (found.records.empty())
      fmt::print("No job has been recorded yet.\n");
    else
      fmt::print("{}", jobs_text(found.records));
    return kExitClean;
  }
  const auto id = job_id(options);
  if (!id) return report(id.error());
  const auto record = records->find(*id);
  if (!record) return report(record.error());
  if (!*record)
    return report({ErrorKind::kUnavailable,
                   fmt::format("job {} is not recorded on this node: `railbed job show` lists those that are",
                               printable(*id))});
  if (options.json)
    print_document(kJobDocument, **record);
  else
    fmt::print("{}", job_text(**record));
  return exit_code(**record);
}

}  // namespace

Action declare_job(CLI::App& app) {
  auto options = std::make_shared<JobOptions>();
  app.require_subcommand(1);
  const auto add = [&](const char* name, const char* help, int (*what)(const JobOptions&)) {
    CLI::App* command = app.add_subcommand(name, help);
    command->callback([options, what] { options->what = what; });
    command->add_option("--dir", options->folder,
                        "the folder of the records (default: /var/lib/railbed/jobs for root, else "
                        "$XDG_STATE_HOME/railbed/jobs)");
    add_json_flag(*command, options->json, "print one JSON document", kJobDocument, kJobsDocument,
                  kNodeJobsDocument);
    return command;
  };
  for (CLI::App* command :
       {add("begin", "record this node before a job: for a prolog", begin_job_here),
        add("end", "record it after the job, and judge what changed: for an epilog", end_job_here)}) {
    command->add_option("--id", options->id,
                        "the job's ID (default: SLURM_JOB_ID; in Kubernetes the pod's name)");
    command
        ->add_option("--patience", options->patience,
                     "seconds after which a device that does not answer is left out (default: 1)")
        ->check(between(0.05, 60.0));
    command->add_flag("--strict", options->strict,
                      "exit with 1, 2 or 3 for warnings, failures, and what could not be read or written");
    command->add_option("--root", options->root, "a captured machine instead of this one");
  }
  CLI::App* shown = add("show", "show the record of a job, or list the latest", show_job);
  shown->add_option("ID", options->id, "the job; without it the latest are listed");
  shown->add_option("-n,--lines", options->most, "list so many (default: 50)")->check(between(1, 1000));
  shown
      ->add_option(
          "--nodes", options->nodes,
          "the job's records of these nodes: cluster.yaml, and nodes of it if not all; or gpu[01-04]")
      ->expected(1, -1)
      ->delimiter(' ');
  shown->add_flag("--all", options->all, "with --nodes: the records without a finding, too");
  add_fleet_options(*shown, options->reach);
  add_launcher_options(*shown, options->reach);
  app.footer(
      "\nCounters of rails and ports, errors of memory, PCI Express and NVLink, Xids, clocks, temperatures and slowdowns are\n"
      "read before and after a job. What changed is named with whose fault it may be: a cable's, the hardware's, the\n"
      "program's. It needs no cluster.yaml.\n\n"
      "begin and end exit with 0 whatever they find, so that no job waits or fails and no node is drained by railbed:\n"
      "Slurm drains a node whose Prolog or Epilog fails. --strict changes that.\n\n"
      "railbed job begin                 # in Slurm's Prolog\n"
      "railbed job end                   # in Slurm's Epilog\n"
      "railbed job show                  # the latest jobs on this node\n"
      "railbed job show 4711\n"
      "railbed job show 4711 --nodes cluster.yaml gpu[03-06]   what these nodes recorded of it");
  return [options] { return options->what(*options); };
}

}  // namespace railbed
