// The history of runs: opens it, finds a run by name, and adds runs.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "campaign/caller.h"
#include "store/store.h"

namespace railbed {

// Opens the store at `path`, or at default_store_path() if it is empty.
Result<Store> open_history(const std::string& path);

// Returns whether `word` is the path of a file to read rather than the name of a run: it exists, and has a
// slash or ends in .json, .txt, .log or .out.
bool is_run_file(const std::string& word);

// Parses a run that `railbed runs export` wrote, or the output of another tool (results/foreign/foreign.h).
// `caller` gets a note for each part of the output that is not read. `file` is for the texts, and its name is
// the label of a run of another tool.
Result<BenchRun> run_of_text(std::string_view text, const std::string& file, const Caller& caller);

// Finds a run by its number, "last", "baseline", a label (the newest run that has it), or the path of a file
// that run_of_text() accepts. A file whose path is_run_file() does not recognize is read if no run has that
// name.
Result<BenchRun> find_run(const std::string& store_path, const std::string& word, const Caller& caller = {});

// Adds a run to the history, sets its number and reports it as a note. If the history cannot be written, the
// note has the error, and `run` is unchanged.
void keep_run(const std::string& store_path, BenchRun& run, const Caller& caller);

}  // namespace railbed
