// The history of runs: one SQLite file. A run is written in one transaction, so a kill at any moment leaves
// the file readable, with the run or without it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "results/run.h"

struct sqlite3;

namespace railbed {

// $XDG_STATE_HOME/railbed/runs.sqlite, else ~/.local/state/railbed/runs.sqlite (XDG Base Directory
// Specification). Empty when neither variable is set.
std::string default_store_path();

class Store {
 public:
  // Opens the file, making it and its folder (0700) where they are missing. A file that is no store of ours,
  // or one of a newer railbed, is an error and left as it is; one of an older railbed is raised in one
  // transaction. The file may be anybody's: only our own tables are read, within bounds.
  static Result<Store> open(const std::string& path);

  // Returns the id it was given; `run.id` is ignored.
  Result<std::int64_t> add(const BenchRun& run);
  Result<BenchRun> get(std::int64_t id);
  // The newest first: number, time, label, command and version, cut to a kilobyte each.
  Result<std::vector<BenchRun>> list();
  Result<void> remove(std::int64_t id);

  // The run that others are compared with; nothing when none was chosen.
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
  Error failed(std::string_view doing) const;
  Error not_ours(std::string_view why) const;

  Fd folder_;  // by which SQLite reaches the file and its journal, until the database is closed
  Database database_;
  std::string path_;
};

// JSON both ways: `railbed runs export`, `railbed runs import`. Reading accepts untrusted text.
std::string run_to_json(const BenchRun& run);
Result<BenchRun> run_from_json(std::string_view text);

}  // namespace railbed
