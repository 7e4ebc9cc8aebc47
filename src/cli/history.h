// The history of runs as commands use it: where it lies, what a word on the command line means, what to keep.
#pragma once

#include <string>

#include "base/result.h"
#include "store/store.h"

namespace CLI {
class App;
}

namespace railbed {

// `--store FILE`, bound to `path`; empty stands for default_store_path().
void add_store_option(CLI::App& app, std::string& path);
Result<Store> open_history(const std::string& path);

// What a person may call a run: its number, "last", "baseline", the label of the newest run that has it, or a
// file that `railbed runs export` wrote.
Result<BenchRun> find_run(const std::string& store_path, const std::string& word);

// Keeps a run, sets its number and says it on stderr. A history that cannot be written is said there and
// costs the measurement nothing.
void keep_run(const std::string& store_path, BenchRun& run);

}  // namespace railbed
