#include "store/store.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/json.h"
#include "base/text.h"

namespace railbed {
namespace {

constexpr int kSchema = 2;
constexpr int kApplication = 0x7261696c;  // "rail": PRAGMA application_id tells our files from others
constexpr int kBusyMilliseconds = 5000;
constexpr std::size_t kMaxRunBytes = 256 << 20;

// Text columns hold JSON: a run is read and written whole, and the file stays legible to any SQLite tool.
constexpr const char* kTables =
    "CREATE TABLE IF NOT EXISTS runs(id INTEGER PRIMARY KEY AUTOINCREMENT, started_at TEXT NOT NULL,"
    " label TEXT NOT NULL, command TEXT NOT NULL, railbed TEXT NOT NULL, fingerprint TEXT NOT NULL,"
    " measurements TEXT NOT NULL, asked TEXT NOT NULL DEFAULT '{}', details TEXT NOT NULL DEFAULT '{}');"
    "CREATE TABLE IF NOT EXISTS baseline(one INTEGER PRIMARY KEY CHECK (one = 1),"
    " run INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE);";

// From schema 1, which kept neither what was asked for nor what pictures are drawn from.
constexpr const char* kFromOne =
    "ALTER TABLE runs ADD COLUMN asked TEXT NOT NULL DEFAULT '{}';"
    "ALTER TABLE runs ADD COLUMN details TEXT NOT NULL DEFAULT '{}';";

// The column "details".
struct Details {
  std::vector<Ladder> ladders;
  std::vector<CollectiveReport> collectives;
  std::vector<RailReport> pairs;
  std::vector<StoragePlace> storage;
  std::vector<TrainReport> trains;
  static void fields(auto&& field) {
    field("ladders", &Details::ladders);
    field("collectives", &Details::collectives);
    field("pairs", &Details::pairs);
    field("storage", &Details::storage);
    field("trains", &Details::trains);
  }
};

// Why what was read cannot be shown: rungs and nodes are named by number, and a file may hold any number.
// Empty: it can.
std::string nonsense_of(const BenchRun& run) {
  for (const Ladder& ladder : run.ladders) {
    if (ladder.loser < -1 || ladder.loser >= static_cast<int>(ladder.rungs.size()))
      return "a ladder's loser is none of its rungs";
    for (const Rung& rung : ladder.rungs)
      if (rung.share && (!rung.measurement || rung.measurement->ceiling.limits.empty()))
        return "a rung has a share of no limit";
  }
  for (const RailReport& rail : run.pairs) {
    const auto is_node = [&](int at) { return at >= 0 && at < static_cast<int>(rail.nodes.size()); };
    for (const PairSpeed& pair : rail.report.pairs)
      if (!is_node(pair.from) || !is_node(pair.to)) return "a pair names a node that is not there";
    for (const Slow& slow : rail.report.slow)
      if (!is_node(slow.node) || (slow.kind == SlowKind::kLink && !is_node(slow.other)))
        return "a slow node is not there";
  }
  return {};
}

template <class T>
Result<T> read_column(const std::string& text, std::int64_t id, const char* column) {
  auto value = json::read<T>(text);
  if (!value) return fail(value.error(), fmt::format("run {}: its {} cannot be read", id, column));
  return std::move(*value);
}

Result<void> add_details(BenchRun& run, const std::string& asked_text, const std::string& details_text) {
  auto asked = read_column<std::map<std::string, std::string>>(asked_text, run.id, "choices");
  if (!asked) return tl::unexpected<Error>(asked.error());
  auto details = read_column<Details>(details_text, run.id, "details");
  if (!details) return tl::unexpected<Error>(details.error());
  run.asked = std::move(*asked);
  run.ladders = std::move(details->ladders);
  run.collectives = std::move(details->collectives);
  run.pairs = std::move(details->pairs);
  run.storage = std::move(details->storage);
  run.trains = std::move(details->trains);
  if (const std::string why = nonsense_of(run); !why.empty())
    return fail(ErrorKind::kBadInput, fmt::format("run {}: {}", run.id, why));
  return {};
}

}  // namespace

std::string default_store_path() {
  const char* state = std::getenv("XDG_STATE_HOME");
  if (state != nullptr && state[0] == '/') return std::string(state) + "/railbed/runs.sqlite";
  const char* home = std::getenv("HOME");
  if (home == nullptr || home[0] == '\0') return {};
  return std::string(home) + "/.local/state/railbed/runs.sqlite";
}

// A prepared statement, its parameters bound in order.
class Store::Statement {
 public:
  Statement(sqlite3* database, const char* sql) {
    if (sqlite3_prepare_v2(database, sql, -1, &statement_, nullptr) != SQLITE_OK) statement_ = nullptr;
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Statement& bind(std::int64_t value) {
    sqlite3_bind_int64(statement_, ++bound_, value);
    return *this;
  }
  // The text must outlive the statement.
  Statement& bind(const std::string& text) {
    sqlite3_bind_text64(statement_, ++bound_, text.data(), text.size(), SQLITE_STATIC, SQLITE_UTF8);
    return *this;
  }
  // SQLITE_ROW, SQLITE_DONE or an error.
  int step() { return statement_ == nullptr ? SQLITE_ERROR : sqlite3_step(statement_); }
  std::int64_t integer(int column) const { return sqlite3_column_int64(statement_, column); }
  std::string text(int column) const {
    const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
    if (bytes == nullptr) return {};
    return {bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
  }

 private:
  sqlite3_stmt* statement_ = nullptr;
  int bound_ = 0;
};

// What a list of runs shows, from four columns beginning with `first`, each one line: they are no JSON, which
// would have been cleaned.
BenchRun Store::heading_of(std::int64_t id, const Statement& row, int first) {
  BenchRun run;
  run.id = id;
  run.started_at = printable(row.text(first));
  run.label = printable(row.text(first + 1));
  run.command = printable(row.text(first + 2));
  run.railbed = printable(row.text(first + 3));
  return run;
}

void Store::Close::operator()(sqlite3* database) const { sqlite3_close(database); }

Error Store::failed(std::string_view doing) const {
  return {ErrorKind::kUnavailable,
          fmt::format("{}: {}: {}", path_, doing, printable(sqlite3_errmsg(database_.get())))};
}

Result<Store> Store::open(const std::string& path) {
  if (path.empty())
    return fail(ErrorKind::kBadInput,
                "no place for the history of runs: set HOME or name a file with --store");
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (!folder.empty() && std::filesystem::create_directories(folder, error))
    std::filesystem::permissions(folder, std::filesystem::perms::owner_all, error);
  sqlite3* database = nullptr;
  const int opened =
      sqlite3_open_v2(path.c_str(), &database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
  Store store(Database(database), path);
  if (opened != SQLITE_OK) return fail(ErrorKind::kUnavailable, store.failed("cannot open it").text);
  sqlite3_busy_timeout(database, kBusyMilliseconds);
  if (auto ready = store.prepare(); !ready) return fail(ready.error());
  return store;
}

Result<void> Store::prepare() {
  const auto pragma = [&](const char* sql) -> std::int64_t {
    Statement asked(database_.get(), sql);
    return asked.step() == SQLITE_ROW ? asked.integer(0) : -1;
  };
  if (pragma("PRAGMA application_id") < 0) return tl::unexpected<Error>(failed("it is no history of runs"));
  // EXTRA: the folder is synced, too, once a transaction's journal is gone. Without, a power cut soon after a
  // run was kept can bring the journal back, which takes the run away again
  // (sqlite.org/pragma.html#pragma_synchronous).
  if (auto done = execute("PRAGMA foreign_keys = ON; PRAGMA synchronous = EXTRA"); !done) return done;
  if (pragma("PRAGMA application_id") == kApplication && pragma("PRAGMA user_version") == kSchema) return {};
  // Several processes may make or raise the file at once: what counts is what holds under the lock.
  if (auto begun = execute("BEGIN IMMEDIATE"); !begun) return begun;
  const std::int64_t application = pragma("PRAGMA application_id");
  const std::int64_t schema = pragma("PRAGMA user_version");
  const bool fresh = application == 0 && schema == 0 && pragma("SELECT count(*) FROM sqlite_master") == 0;
  std::string why;
  if (!fresh && application != kApplication)
    why = "a database of another program; name another file with --store";
  else if (schema > kSchema)
    why = fmt::format("written by a newer railbed (schema {}, this one knows {})", schema, kSchema);
  if (!why.empty()) {
    const auto left = execute("ROLLBACK");
    return fail(ErrorKind::kBadInput, path_ + ": " + why + (left ? "" : ", " + left.error().text));
  }
  return execute(fmt::format("{} PRAGMA application_id = {}; PRAGMA user_version = {}; COMMIT;",
                             fresh         ? kTables
                             : schema == 1 ? kFromOne
                                           : "",
                             kApplication, kSchema)
                     .c_str());
}

Result<void> Store::execute(const char* sql) {
  if (sqlite3_exec(database_.get(), sql, nullptr, nullptr, nullptr) == SQLITE_OK) return {};
  Error error = failed("cannot write it");
  sqlite3_exec(database_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
  return tl::unexpected<Error>(std::move(error));
}

Result<std::int64_t> Store::add(const BenchRun& run) {
  const std::string fingerprint = json::dump(json::encode(run.fingerprint));
  const std::string measurements = json::dump(json::encode(run.measurements));
  const std::string asked = json::dump(json::encode(run.asked));
  const std::string details =
      json::dump(json::encode(Details{run.ladders, run.collectives, run.pairs, run.storage, run.trains}));
  Statement insert(database_.get(),
                   "INSERT INTO runs(started_at, label, command, railbed, fingerprint, measurements, asked,"
                   " details) VALUES(?, ?, ?, ?, ?, ?, ?, ?)");
  insert.bind(run.started_at)
      .bind(run.label)
      .bind(run.command)
      .bind(run.railbed)
      .bind(fingerprint)
      .bind(measurements)
      .bind(asked)
      .bind(details);
  if (insert.step() != SQLITE_DONE) return tl::unexpected<Error>(failed("cannot keep the run"));
  return sqlite3_last_insert_rowid(database_.get());
}

Result<BenchRun> Store::get(std::int64_t id) {
  Statement select(
      database_.get(),
      "SELECT started_at, label, command, railbed, fingerprint, measurements, asked, details FROM runs"
      " WHERE id = ?");
  const int found = select.bind(id).step();
  if (found == SQLITE_DONE)
    return fail(ErrorKind::kBadInput,
                fmt::format("{} holds no run {}; `railbed runs` lists them", path_, id));
  if (found != SQLITE_ROW) return tl::unexpected<Error>(failed("cannot read it"));
  BenchRun run = heading_of(id, select, 0);
  auto fingerprint = read_column<std::map<std::string, std::string>>(select.text(4), id, "fingerprint");
  if (!fingerprint) return fail(fingerprint.error(), path_);
  auto measurements = read_column<std::vector<Measurement>>(select.text(5), id, "measurements");
  if (!measurements) return fail(measurements.error(), path_);
  run.fingerprint = std::move(*fingerprint);
  run.measurements = std::move(*measurements);
  if (auto added = add_details(run, select.text(6), select.text(7)); !added)
    return fail(added.error(), path_);
  return run;
}

Result<std::vector<BenchRun>> Store::list() {
  Statement select(database_.get(),
                   "SELECT id, started_at, label, command, railbed, fingerprint FROM runs ORDER BY id DESC");
  std::vector<BenchRun> runs;
  int found = SQLITE_ROW;
  while ((found = select.step()) == SQLITE_ROW) {
    BenchRun run = heading_of(select.integer(0), select, 1);
    // One row that cannot be understood does not hide the others.
    if (auto print = read_column<std::map<std::string, std::string>>(select.text(5), run.id, "fingerprint");
        print)
      run.fingerprint = std::move(*print);
    runs.push_back(std::move(run));
  }
  if (found != SQLITE_DONE) return tl::unexpected<Error>(failed("cannot read it"));
  return runs;
}

Result<bool> Store::has(std::int64_t id) {
  Statement select(database_.get(), "SELECT 1 FROM runs WHERE id = ?");
  const int found = select.bind(id).step();
  if (found != SQLITE_ROW && found != SQLITE_DONE) return tl::unexpected<Error>(failed("cannot read it"));
  return found == SQLITE_ROW;
}

Result<void> Store::remove(std::int64_t id) {
  const auto there = has(id);
  if (!there) return tl::unexpected<Error>(there.error());
  if (!*there) return fail(ErrorKind::kBadInput, fmt::format("{} holds no run {}", path_, id));
  Statement erase(database_.get(), "DELETE FROM runs WHERE id = ?");
  if (erase.bind(id).step() != SQLITE_DONE) return tl::unexpected<Error>(failed("cannot remove the run"));
  return {};
}

Result<std::optional<std::int64_t>> Store::baseline() {
  Statement select(database_.get(), "SELECT run FROM baseline");
  const int found = select.step();
  if (found == SQLITE_ROW) return std::optional(select.integer(0));
  if (found == SQLITE_DONE) return std::optional<std::int64_t>();
  return tl::unexpected<Error>(failed("cannot read it"));
}

Result<void> Store::set_baseline(std::int64_t id) {
  const auto there = has(id);
  if (!there) return tl::unexpected<Error>(there.error());
  if (!*there) return fail(ErrorKind::kBadInput, fmt::format("{} holds no run {}", path_, id));
  Statement insert(database_.get(), "INSERT OR REPLACE INTO baseline(one, run) VALUES(1, ?)");
  if (insert.bind(id).step() != SQLITE_DONE) return tl::unexpected<Error>(failed("cannot keep the baseline"));
  return {};
}

std::string run_to_json(const BenchRun& run) { return json::dump_pretty(json::encode(run)); }

Result<BenchRun> run_from_json(std::string_view text) {
  if (text.size() > kMaxRunBytes) return fail(ErrorKind::kBadInput, "a run larger than 256 MiB");
  auto run = json::read<BenchRun>(text);
  if (!run) return fail(run.error(), "run");
  if (run->version != kRunVersion)
    return fail(ErrorKind::kBadInput,
                fmt::format("a run of version {}: this railbed reads version {}", run->version, kRunVersion));
  if (const std::string why = nonsense_of(*run); !why.empty())
    return fail(ErrorKind::kBadInput, "run: " + why);
  return run;
}

}  // namespace railbed
