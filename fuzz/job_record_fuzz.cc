// A job's record may come from anybody who may write to the folder: it is taken or refused, and what is taken is written and
// read again unchanged, judged and printed.
//
// Rooms: report store verify
// Seeds: tests/sessions/jobs
#include <cstdint>
#include <utility>

#include "fuzz/require.h"
#include "report/text/job_text.h"
#include "store/job_records.h"
#include "verify/job_changes.h"

using namespace railbed;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto record = job_record_from_json(as_text(data, size));
  if (!record) {
    require_printable(record.error().text);
    return 0;
  }
  const std::string written = job_record_to_json(*record);
  const auto again = job_record_from_json(written);
  require(again && job_record_to_json(*again) == written);
  require_printable(job_text(*record));
  require_printable(jobs_text({*record}));
  record->changes = judge_job(*record, {});
  for (const JobChange& change : record->changes) require_printable(change.message);
  require_printable(job_text(*record));
  (void)exit_code(*record);
  return 0;
}
