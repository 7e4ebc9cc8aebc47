// The history of runs: opens it, finds a run by name, and adds runs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

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

// Finds the runs of one side of a comparison: one as find_run() does, or several whose names are separated by
// commas: "12,14".
Result<std::vector<BenchRun>> find_runs(const std::string& store_path, const std::string& words,
                                        const Caller& caller = {});

// Returns the newest runs of the history that have the options of `like`. A history that is not there is
// empty and is not made; for one that cannot be read `caller` gets a note.
std::vector<BenchRun> earlier_runs(const std::string& store_path, const BenchRun& like, const Caller& caller);

// Adds a run to the history, removes the oldest beyond HistoryLimits, sets the run's number and reports it as a note.
// If the history cannot be written, the
// note has the error, and `run` is unchanged.
void keep_run(const std::string& store_path, BenchRun& run, const Caller& caller);

}  // namespace railbed
