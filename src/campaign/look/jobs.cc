#include "campaign/look/jobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <stop_token>
#include <string_view>
#include <utility>

#include "base/json.h"
#include "base/moment.h"
#include "base/version.h"
#include "base/wording.h"
#include "bench/core/typed.h"
#include "facts/job_look.h"
#include "fleet/fleet.h"
#include "verify/job_changes.h"

namespace railbed {
namespace {

// Records among which other jobs of the same time are searched: the latest, so that the search costs little.
constexpr std::size_t kMostBeside = 32;
constexpr std::string_view kJobRecordMethod = "job.record";
constexpr std::chrono::seconds kAnswersRecord{20};

struct JobQuestion {
  std::string id;
  std::string folder;
  FIELDS(JobQuestion, id, folder);
};

Result<NodeJob> record_here(const JobQuestion& question) {
  const std::string folder = question.folder.empty() ? default_job_folder() : question.folder;
  if (folder.empty())
    return fail(ErrorKind::kUnavailable, "no folder for records: HOME and XDG_STATE_HOME are not set");
  NodeJob answer;
  const auto records = JobRecords::open(folder, JobRecords::Missing::kIsAnError);
  if (!records) {
    answer.why = records.error().text;
    return answer;
  }
  ASSIGN_OR_RETURN(answer.record, records->find(question.id));
  if (!answer.record) answer.why = fmt::format("no record of it in {}", folder);
  return answer;
}

// A node may name itself as it likes: it could be one that was broken into.
NodeJob as_of(const std::string& node, const std::string& id, const Result<std::string>& text) {
  NodeJob one;
  if (!text) {
    one.why = without_node(text.error());
  } else if (auto read = json::read<NodeJob>(*text); !read) {
    one.why = read.error().text;
  } else if (read->record && read->record->id != id) {
    one.why = "it answered with the record of another job";
  } else {
    one = std::move(*read);
    if (!one.record && one.why.empty()) one.why = "no record";
  }
  one.node = node;
  return one;
}

bool is_whole(const JobLook& look) {
  return look.unread.empty() &&
         std::ranges::all_of(look.gpus, [](const auto& one) { return one.second.unread.empty(); });
}

// Returns the jobs that ran on this node in the time of the record. One without an end counts while the node has not
// restarted since.
std::vector<std::string> jobs_beside(const JobRecords& records, const JobRecord& record) {
  std::vector<std::string> beside;
  for (const JobRecord& other : records.newest(kMostBeside).records) {
    if (other.id == record.id || !other.begin || other.node != record.node) continue;
    const bool before_our_end = other.begin->time < record.end->time;
    const bool after_our_begin =
        other.end ? other.end->time > record.begin->time : other.begin->boot_id == record.end->boot_id;
    if (before_our_end && after_our_begin) beside.push_back(other.id);
  }
  std::ranges::sort(beside);
  return beside;
}

void keep(const JobRecords& records, JobOutcome& outcome) {
  if (auto written = records.write(outcome.record); !written)
    outcome.not_written = std::move(written.error());
}

}  // namespace

JobOutcome begin_job(const std::shared_ptr<Host>& host, const JobRecords& records, const JobOrder& request) {
  JobGlance seen = glance_at_node(host, request.patience, std::nullopt);
  JobOutcome outcome;
  outcome.whole = is_whole(seen.look);
  outcome.hangs = seen.hangs;
  JobRecord& record = outcome.record;
  record.id = request.id;
  record.node = request.node;
  record.railbed = railbed_version();
  record.gpus = request.gpus;
  const auto before = records.find(request.id);
  record.begun = before && *before ? std::clamp((*before)->begun, 0, 1'000'000) + 1 : 1;
  record.begin = std::move(seen.look);
  keep(records, outcome);
  records.prune(now_unix());
  return outcome;
}

Result<JobOutcome> end_job(const std::shared_ptr<Host>& host, const JobRecords& records,
                           const JobOrder& request) {
  ASSIGN_OR_RETURN(auto found, records.find(request.id));
  JobOutcome outcome;
  JobRecord& record = outcome.record;
  if (found) record = std::move(*found);
  JobGlance seen =
      glance_at_node(host, request.patience, record.begin ? std::optional(record.begin->time) : std::nullopt);
  outcome.whole = is_whole(seen.look);
  outcome.hangs = seen.hangs;
  record.id = request.id;
  record.railbed = railbed_version();
  if (record.node.empty()) record.node = request.node;
  record.end = std::move(seen.look);
  if (record.begin) {
    record.beside = jobs_beside(records, record);
    record.changes = judge_job(record, seen.log);
  }
  keep(records, outcome);
  return outcome;
}

std::vector<NodeJob> find_job_on_nodes(const std::string& id, const std::string& folder,
                                       const GpuPlaces& places, ReachOptions reach, const Caller& caller) {
  fleet::Fleet fleet = open_fleet(places, std::move(reach));
  const std::string question = json::dump(json::encode(JobQuestion{id, folder}));
  const auto answers = fleet::gather(
      fleet, kJobRecordMethod, [&](const std::string&) { return question; }, kAnswersRecord, caller.stop,
      [&](const fleet::Step& step) { caller.progress(fmt::format("asking the nodes: {}", step.to_text())); });
  caller.progress("");
  std::vector<NodeJob> nodes;
  for (const fleet::Answer& answer : answers) nodes.push_back(as_of(answer.node, id, answer.result));
  const auto rank = [](const NodeJob& node) {
    if (!node.record) return 4;
    switch (exit_code(*node.record)) {
      case kExitFailures:
        return 0;
      case kExitCouldNotLook:
        return 1;
      case kExitWarnings:
        return 2;
      default:
        return 3;
    }
  };
  std::ranges::stable_sort(nodes, {}, rank);
  return nodes;
}

Handlers job_record_handlers() {
  Handlers handlers;
  handlers.emplace(kJobRecordMethod,
                   typed_handler<JobQuestion>(
                       [](const JobQuestion& question, std::stop_token) { return record_here(question); }));
  return handlers;
}

}  // namespace railbed
