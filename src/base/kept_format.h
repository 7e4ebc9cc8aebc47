// The versions of what railbed keeps longer than a process lives, in one table: which version of each kind of file
// is written, and which older ones are read. A new field with a default needs no new version. A change that an
// older railbed would misread does: raise `written` here, and convert the older form where the file is read.
//
// A file of a newer version is never read in part and never replaced: its reader fails with check_kept().
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/fields.h"
#include "base/result.h"

namespace railbed {

enum class Kept {
  kWatch,    // monitor.state: what a monitor or a watch remembers (monitor/events/event_desk.cc)
  kHistory,  // runs.sqlite: PRAGMA user_version (store/store.cc)
  kRun,      // a run as a file (store/store.cc)
  kApply,    // the journal of a change of a node (apply/transaction.h)
  kWatched,  // monitor.watched: what a monitor saw over time (monitor/events/event_desk.cc)
  kJob,      // the record of a job on a node (store/job_records.h)
  kBurn,  // a burn-in that goes on: on its node (bench/burn/held_burn.h), and at its controller (store/burns.h)
};

struct KeptFormat {
  std::string_view what;    // "a history of runs"
  int oldest = 1;           // the oldest version that is read
  int written = 1;          // the version that is written, and the newest that is read
  std::string_view remedy;  // another way than a railbed that reads the file
};
const KeptFormat& format_of(Kept kind);

// The beginning of a JSON document of these kinds. A document without a version is of version 1.
struct KeptStamp {
  int version = 1;
  std::string railbed;  // the railbed that wrote it; empty if the document does not tell
  FIELDS(KeptStamp, version, railbed);
};

// Fails with kBadInput unless this railbed reads that version. The error names the file, its version and its
// writer, what this railbed reads, and what to do.
Result<void> check_kept(Kept kind, std::string_view file, const KeptStamp& stamp);

}  // namespace railbed
