// The history of runs: opens it, finds a run by name, and adds runs.
#pragma once

#include <string>

#include "base/result.h"
#include "campaign/caller.h"
#include "store/store.h"

namespace railbed {

// Opens the store at `path`, or at default_store_path() if it is empty.
Result<Store> open_history(const std::string& path);

// Finds a run by its number, "last", "baseline", a label (the newest run that has it), or the path of a file
// that `railbed runs export` wrote.
Result<BenchRun> find_run(const std::string& store_path, const std::string& word);

// Adds a run to the history, sets its number and reports it as a note. If the history cannot be written, the
// note has the error, and `run` is unchanged.
void keep_run(const std::string& store_path, BenchRun& run, const Caller& caller);

}  // namespace railbed
