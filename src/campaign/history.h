// The history of runs: where it lies, what a word stands for, what to keep.
#pragma once

#include <string>

#include "base/result.h"
#include "campaign/caller.h"
#include "store/store.h"

namespace railbed {

// `path` empty stands for default_store_path().
Result<Store> open_history(const std::string& path);

// What a person may call a run: its number, "last", "baseline", the label of the newest run that has it, or a
// file that `railbed runs export` wrote.
Result<BenchRun> find_run(const std::string& store_path, const std::string& word);

// Keeps a run, sets its number and notes it. A history that cannot be written is noted, too, and costs the
// measurement nothing.
void keep_run(const std::string& store_path, BenchRun& run, const Caller& caller);

}  // namespace railbed
