#include "store/job_records.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "base/files.h"
#include "base/folder_names.h"
#include "base/json.h"
#include "base/kept_format.h"
#include "base/readable.h"
#include "base/sha256.h"
#include "base/text.h"
#include "base/trusted_path.h"
#include "base/user_folders.h"

namespace railbed {
namespace {

constexpr std::size_t kLongestRecord = 8 << 20;
constexpr std::string_view kJobPrefix = "job-";
constexpr std::string_view kJobSuffix = ".json";
constexpr std::size_t kJobDigits = 32;
constexpr double kAbandonedAfter = 3600;  // a temporary file that is older belongs to a write that was killed
constexpr std::size_t kMostFilesSeen = 100'000;

std::string file_of(std::string_view id) {
  return fmt::format("{}{}{}", kJobPrefix, sha256_hex(id).substr(0, kJobDigits), kJobSuffix);
}

bool is_record_file(std::string_view name) {
  return name.size() == kJobPrefix.size() + kJobDigits + kJobSuffix.size() && name.starts_with(kJobPrefix) &&
         name.ends_with(kJobSuffix);
}

// write_file() appends a dot and random digits to the name until the file is whole.
bool is_unfinished(std::string_view name) {
  const std::size_t whole = kJobPrefix.size() + kJobDigits + kJobSuffix.size();
  return name.size() > whole && is_record_file(name.substr(0, whole)) && name[whole] == '.';
}

}  // namespace

std::string default_job_folder() {
  if (geteuid() == 0) return "/var/lib/railbed/jobs";
  const std::filesystem::path own = state_folder();
  return own.empty() ? "" : (own / "jobs").string();
}

std::string complaint_about_job_id(std::string_view id) {
  if (id.empty()) return "it is empty";
  if (id.size() > kLongestJobId) return fmt::format("it is longer than {} bytes", kLongestJobId);
  if (printable(id) != id) return "it has characters that cannot be printed";
  return {};
}

Result<JobRecords> JobRecords::open(const std::string& folder, Missing missing) {
  if (missing == Missing::kIsMade) {
    ASSIGN_OR_RETURN(auto opened, open_state_folder(folder));
    return JobRecords(std::move(opened), folder);
  }
  // Reading trusts no record, so any folder will do.
  auto opened = open_folder_at(folder, Strangers::kMayWrite);
  if (!opened && opened.error().code == ENOENT)
    return fail(
        ErrorKind::kUnavailable,
        fmt::format(
            "no job has been recorded in {}: `railbed job begin` does; --dir names another folder, and root's "
            "is for root alone",
            printable(folder)));
  if (!opened) return cannot("read", folder, opened.error());
  RETURN_IF_ERROR(check_reachable(folder));
  return JobRecords(std::move(*opened), folder);
}

Result<void> JobRecords::write(const JobRecord& record) const {
  const std::string name = file_of(record.id);
  return write_file(entry_in(folder_, name, path_), path_ + '/' + name, job_record_to_json(record), 0600);
}

Result<JobRecord> JobRecords::read(const std::string& name) const {
  const std::string path = path_ + '/' + name;
  ASSIGN_OR_RETURN(const auto text, read_file(entry_in(folder_, name, path_), path, kLongestRecord));
  auto record = job_record_from_json(text);
  if (!record) return fail(record.error(), path);
  if (file_of(record->id) != name)
    return fail(ErrorKind::kUnavailable, fmt::format("{} is the record of another job", printable(path)));
  return record;
}

Result<std::optional<JobRecord>> JobRecords::find(std::string_view id) const {
  const std::string name = file_of(id);
  struct stat status = {};
  if (!entry_in(folder_, name, path_).look(status) && errno == ENOENT) return std::optional<JobRecord>();
  ASSIGN_OR_RETURN(auto record, read(name));
  return std::optional(std::move(record));
}

std::vector<JobRecords::File> JobRecords::files() const {
  std::vector<File> found;
  for (const std::string& name : folder_names(reopened(folder_.get())).value_or(std::vector<std::string>())) {
    struct stat status = {};
    if ((!is_record_file(name) && !is_unfinished(name)) || found.size() >= kMostFilesSeen) continue;
    if (fstatat(folder_.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(status.st_mode))
      continue;
    found.push_back(
        {name, static_cast<double>(status.st_mtim.tv_sec) + static_cast<double>(status.st_mtim.tv_nsec) / 1e9,
         static_cast<std::uint64_t>(status.st_size)});
  }
  std::ranges::stable_sort(found, std::ranges::greater(), &File::written);
  return found;
}

JobRecords::Found JobRecords::newest(std::size_t most) const {
  Found found;
  for (const File& file : files()) {
    if (found.records.size() >= most) break;
    if (!is_record_file(file.name)) continue;
    if (auto record = read(file.name))
      found.records.push_back(std::move(*record));
    else
      ++found.unreadable;
  }
  // Files of one moment, such as copies, are in the order of their jobs.
  const auto time_of = [](const JobRecord& record) {
    return record.begin ? record.begin->time : record.end ? record.end->time : 0;
  };
  std::ranges::stable_sort(found.records, std::ranges::greater(), time_of);
  return found;
}

void JobRecords::prune(double now, std::size_t most, std::uint64_t most_bytes) const {
  std::size_t kept = 0;
  std::uint64_t bytes = 0;
  for (const File& file : files()) {
    const bool whole = is_record_file(file.name);
    if (!whole && now - file.written < kAbandonedAfter) continue;
    if (whole && kept < most && bytes + file.bytes <= most_bytes && now - file.written <= kOldestJobSeconds) {
      ++kept;
      bytes += file.bytes;
      continue;
    }
    unlinkat(folder_.get(), file.name.c_str(), 0);
  }
}

std::string job_record_to_json(const JobRecord& record) { return json::dump(json::encode(record)) + '\n'; }

Result<JobRecord> job_record_from_json(std::string_view text) {
  auto record = json::read<JobRecord>(text);
  if (!record) return fail(record.error(), "a job's record");
  RETURN_IF_ERROR(check_kept(Kept::kJob, "it", {record->version, record->railbed}));
  if (const std::string why = complaint_about_job_id(record->id); !why.empty())
    return fail(ErrorKind::kBadInput, fmt::format("a job's record whose ID is none: {}", why));
  return record;
}

}  // namespace railbed
