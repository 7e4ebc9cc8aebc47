// The history of runs: one SQLite file. A run is written in one transaction, so a kill at any moment leaves
// the file readable, with or without that run.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "results/run.h"

struct sqlite3;

namespace railbed {

// Returns $XDG_STATE_HOME/railbed/runs.sqlite, else ~/.local/state/railbed/runs.sqlite (XDG Base Directory
// Specification). Empty if neither variable is set.
std::string default_store_path();

// What a history keeps.
struct HistoryLimits {
  std::size_t runs = 50'000;      // half of what list() can list
  std::uint64_t bytes = 1 << 30;  // of the file, without the room that removed runs left in it
  std::string before = {};        // RFC 3339; runs of a time before it go, too. Empty: none goes by its age
};

struct Pruned {
  std::size_t runs = 0;     // removed
  std::uint64_t bytes = 0;  // that they took
};

// An open history. Several processes may use one file at once; each waits up to 5 s for the file's lock.
class Store {
 public:
  // Opens the file; makes it and its folder (0700) if missing. A file that is not a history, or one of a
  // newer railbed, is an error and stays unchanged. A history of an older railbed is upgraded in one
  // transaction. The file is untrusted: only our own tables are read, within limits.
  static Result<Store> open(const std::string& path);

  // Adds a run and returns its new id; `run.id` is ignored. An id is never used again.
  Result<std::int64_t> add(const BenchRun& run);
  Result<BenchRun> get(std::int64_t id);
  // Returns the headings of all runs, the newest first: id, time, label, command and version, each text cut
  // to 1 KiB.
  Result<std::vector<BenchRun>> list();
  // Returns the newest runs with these options (BenchRun::asked), the newest first, without the data for
  // pictures: `most` of them, or as many as 64 MiB of measurements allow.
  Result<std::vector<BenchRun>> asked_for(const std::map<std::string, std::string>& asked, int most);
  // Removes a run; an error if there is no run of that id.
  Result<void> remove(std::int64_t id);

  // Removes runs beyond the limits, in one transaction: by their age those without a label, by their number and
  // size the oldest, and of them first those without a label. The baseline stays, and by number and size so does the
  // newest run. The room is reused; with `shrink` the file gets smaller, for which the disk needs as much room again.
  // With `dry` nothing is changed.
  Result<Pruned> prune(const HistoryLimits& limits, bool shrink = false, bool dry = false);

  // Returns the run that others are compared with; nullopt if none was chosen or it was removed.
  Result<std::optional<std::int64_t>> baseline();
  Result<void> set_baseline(std::int64_t id);

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };
  class Statement;
  static BenchRun heading_of(std::int64_t id, const Statement& row, int first);
  using Database = std::unique_ptr<sqlite3, Close>;
  Store(Database database, std::string path, Fd folder)
      : folder_(std::move(folder)), database_(std::move(database)), path_(std::move(path)) {}
  Result<void> prepare();
  Result<void> check_tables(int schema);
  Result<void> execute(const char* sql);
  Result<bool> has(std::int64_t id);
  Result<std::int64_t> number(const char* sql);
  Result<std::uint64_t> used_bytes();
  Result<Pruned> prune_within(const HistoryLimits& limits);
  Error failed(std::string_view doing) const;
  Error not_ours(std::string_view why) const;

  Fd folder_;  // SQLite reaches the file and its journal through it, until the database is closed
  Database database_;
  std::string path_;
};

// Reads what `railbed runs export` wrote. The text is untrusted.
Result<BenchRun> run_from_json(std::string_view text);

}  // namespace railbed
