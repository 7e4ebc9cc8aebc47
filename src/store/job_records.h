// The records of jobs on this node (results/job_record.h): a folder with one file for each job, named by a hash of the
// job's ID, so that no ID is ever a path. Files have mode 0600 and the folder 0700, because they name hardware and its
// faults.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "results/job_record.h"

namespace railbed {

// Older and further records are removed at each `job begin`.
inline constexpr std::size_t kMostJobRecords = 1000;
inline constexpr std::uint64_t kMostJobBytes = 64 << 20;
inline constexpr double kOldestJobSeconds = 90.0 * 86400;
inline constexpr std::size_t kLongestJobId = 200;  // bytes

// Returns /var/lib/railbed/jobs for root; else $XDG_STATE_HOME/railbed/jobs, else ~/.local/state/railbed/jobs. Empty if
// neither variable is set.
std::string default_job_folder();

// Returns the complaint about an ID that is empty, too long or not printable; empty if it can be one.
std::string complaint_about_job_id(std::string_view id);

// Several processes may use one folder at once: a record is replaced as a whole.
class JobRecords {
 public:
  enum class Missing { kIsMade, kIsAnError };
  // Opens the folder, to write there with kIsMade: this fails if users other than root and the caller may write to it.
  static Result<JobRecords> open(const std::string& folder, Missing missing);

  Result<void> write(const JobRecord& record) const;
  // Returns the record of a job; nullopt if there is none. A file that is no record is an error.
  Result<std::optional<JobRecord>> find(std::string_view id) const;
  // Returns the `most` records that were written last, the job that began last first. Files that are no records are left out, and counted in
  // `unreadable`.
  struct Found {
    std::vector<JobRecord> records;
    std::size_t unreadable = 0;
  };
  Found newest(std::size_t most) const;
  // Removes records that are too old, too many or too large together, the oldest first; and what a kill during a write has
  // left.
  void prune(double now, std::size_t most = kMostJobRecords, std::uint64_t most_bytes = kMostJobBytes) const;

 private:
  struct File {
    std::string name;
    double written = 0;  // Unix seconds
    std::uint64_t bytes = 0;
  };
  JobRecords(Fd folder, std::string path) : folder_(std::move(folder)), path_(std::move(path)) {}
  std::vector<File> files() const;  // the latest written first
  Result<JobRecord> read(const std::string& name) const;

  Fd folder_;
  std::string path_;
};

// JSON both ways. job_record_from_json() accepts untrusted text.
std::string job_record_to_json(const JobRecord& record);
Result<JobRecord> job_record_from_json(std::string_view text);

}  // namespace railbed
