#include "store/store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <span>

#include "base/fields.h"
#include "base/files.h"
#include "base/json.h"
#include "base/kept_format.h"
#include "base/text.h"
#include "base/trusted_path.h"
#include "base/user_folders.h"

namespace railbed {
namespace {

const int kSchema = format_of(Kept::kHistory).written;
constexpr int kApplication = 0x7261696c;  // "rail": PRAGMA application_id distinguishes our files from others
constexpr int kBusyMilliseconds = 5000;
constexpr std::size_t kMaxRunBytes = 64 << 20;

// Limits for a list of runs: a real history has some hundred runs.
constexpr std::size_t kMostListed = 100'000;
constexpr std::size_t kMostHeading = 1024;       // bytes of each text
constexpr std::size_t kMostHeadings = 64 << 20;  // bytes of all texts, as stored in the file
// Limit on SQLite's virtual machine instructions per statement: ten per row, and some for the file's
// structure.
constexpr int kMostSteps = 10'000'000;
constexpr int kStepsBetweenLooks = 10'000;

// Text columns hold JSON: a run is read and written whole, and the file stays legible to any SQLite tool.
// SQLite keeps the text of these statements and appends the columns of ALTER TABLE, so our tables have
// exactly this text.
constexpr std::string_view kRunsOfOne =
    "CREATE TABLE runs(id INTEGER PRIMARY KEY AUTOINCREMENT, started_at TEXT NOT NULL,"
    " label TEXT NOT NULL, command TEXT NOT NULL, railbed TEXT NOT NULL, fingerprint TEXT NOT NULL,"
    " measurements TEXT NOT NULL";
constexpr std::string_view kRunsSinceTwo =
    ", asked TEXT NOT NULL DEFAULT '{}', details TEXT NOT NULL DEFAULT '{}'";
constexpr std::string_view kBaseline =
    "CREATE TABLE baseline(one INTEGER PRIMARY KEY CHECK (one = 1),"
    " run INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE)";

std::string runs_table(int schema) {
  return fmt::format("{}{})", kRunsOfOne, schema == 1 ? "" : kRunsSinceTwo);
}

// Upgrades from schema 1, which kept neither the request nor the data for pictures.
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
  std::vector<BurnReport> burns;
  FIELDS(Details, ladders, collectives, pairs, storage, trains, burns);
};

// Returns why a run cannot be shown: rungs and nodes are referred to by index, and a file may hold any
// number. Empty if it can.
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

Result<void> add_measurements(BenchRun& run, const std::string& fingerprint_text,
                              const std::string& measurements_text) {
  auto fingerprint = read_column<std::map<std::string, std::string>>(fingerprint_text, run.id, "fingerprint");
  if (!fingerprint) return tl::unexpected<Error>(fingerprint.error());
  auto measurements = read_column<std::vector<Measurement>>(measurements_text, run.id, "measurements");
  if (!measurements) return tl::unexpected<Error>(measurements.error());
  run.fingerprint = std::move(*fingerprint);
  run.measurements = std::move(*measurements);
  return {};
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
  run.burns = std::move(details->burns);
  if (const std::string why = nonsense_of(run); !why.empty())
    return fail(ErrorKind::kBadInput, fmt::format("run {}: {}", run.id, why));
  return {};
}

}  // namespace

std::string default_store_path() {
  const std::filesystem::path own = state_folder();
  return own.empty() ? "" : (own / "runs.sqlite").string();
}

// A prepared statement whose parameters are bound in order. Interrupted after kMostSteps instructions.
class Store::Statement {
 public:
  Statement(sqlite3* database, const char* sql) : database_(database) {
    sqlite3_progress_handler(database, kStepsBetweenLooks, is_too_long, this);
    if (sqlite3_prepare_v2(database, sql, -1, &statement_, nullptr) != SQLITE_OK) statement_ = nullptr;
  }
  ~Statement() {
    sqlite3_finalize(statement_);
    sqlite3_progress_handler(database_, 0, nullptr, nullptr);
  }
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
  // Returns SQLITE_ROW, SQLITE_DONE or an error code.
  int step() { return statement_ == nullptr ? SQLITE_ERROR : sqlite3_step(statement_); }
  std::int64_t integer(int column) const { return sqlite3_column_int64(statement_, column); }
  std::size_t size(int column) const {
    return static_cast<std::size_t>(sqlite3_column_bytes(statement_, column));
  }
  std::string text(int column, std::size_t most = kMaxRunBytes) const {
    const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
    if (bytes == nullptr) return {};
    return {bytes, std::min(most, size(column))};
  }

 private:
  static int is_too_long(void* one) {
    auto& steps = static_cast<Statement*>(one)->steps_;
    return (steps += kStepsBetweenLooks) > kMostSteps ? 1 : 0;
  }

  sqlite3* database_;
  sqlite3_stmt* statement_ = nullptr;
  int bound_ = 0;
  int steps_ = 0;
};

// Reads the heading of a run from four columns that begin with `first`. Each is made one printable line,
// because these columns are not JSON, whose decoding would do that.
BenchRun Store::heading_of(std::int64_t id, const Statement& row, int first) {
  BenchRun run;
  run.id = id;
  run.started_at = printable(row.text(first, kMostHeading));
  run.label = printable(row.text(first + 1, kMostHeading));
  run.command = printable(row.text(first + 2, kMostHeading));
  run.railbed = printable(row.text(first + 3, kMostHeading));
  return run;
}

void Store::Close::operator()(sqlite3* database) const { sqlite3_close(database); }

Error Store::failed(std::string_view doing) const {
  const int code = sqlite3_errcode(database_.get());
  if (code == SQLITE_INTERRUPT)
    return not_ours("what it holds takes longer to read than any history of ours");
  if (code == SQLITE_NOTADB || code == SQLITE_CORRUPT)
    return not_ours(printable(sqlite3_errmsg(database_.get())));
  return {ErrorKind::kUnavailable,
          fmt::format("{}: {}: {}", path_, doing, printable(sqlite3_errmsg(database_.get())))};
}

Error Store::not_ours(std::string_view why) const {
  return {ErrorKind::kBadInput,
          fmt::format("{} is no history of railbed: {}; name another file with --store", path_, why)};
}

namespace {

// Restricts SQLite for an untrusted file: it may only read our own tables, and runs nothing that the file
// defines.
bool restrain(sqlite3* database) {
  const auto set = [&](int option, int value) {
    return sqlite3_db_config(database, option, value, nullptr) == SQLITE_OK;
  };
  for (const auto& [what, most] : {std::pair{SQLITE_LIMIT_LENGTH, static_cast<int>(kMaxRunBytes)},
                                   {SQLITE_LIMIT_SQL_LENGTH, 16 << 10},
                                   {SQLITE_LIMIT_COLUMN, 32},
                                   {SQLITE_LIMIT_EXPR_DEPTH, 32},
                                   {SQLITE_LIMIT_COMPOUND_SELECT, 2},
                                   {SQLITE_LIMIT_ATTACHED, 0},
                                   {SQLITE_LIMIT_TRIGGER_DEPTH, 1},
                                   {SQLITE_LIMIT_WORKER_THREADS, 0}})
    sqlite3_limit(database, what, most);
  return set(SQLITE_DBCONFIG_DEFENSIVE, 1) && set(SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0) &&
         set(SQLITE_DBCONFIG_ENABLE_VIEW, 0) && set(SQLITE_DBCONFIG_ENABLE_TRIGGER, 0);
}

// Returns why the file cannot be a history, as far as its first bytes show; empty if it can. SQLite reads the
// whole schema before any query, and ours has always fit on the first page (sqlite.org/fileformat2.html). The
// bytes are read through SQLite, because closing another descriptor of the file would drop its locks.
std::string odd_file(sqlite3* database, const std::string& path) {
  constexpr std::size_t kHeader = 100;
  constexpr std::uint8_t kLeafOfTable = 13;
  constexpr int kMostObjects = 64;
  struct stat status = {};
  if (stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) return "it is no regular file";
  sqlite3_file* file = nullptr;
  if (sqlite3_file_control(database, "main", SQLITE_FCNTL_FILE_POINTER, &file) != SQLITE_OK ||
      file == nullptr || file->pMethods == nullptr)
    return "it cannot be read";
  std::array<std::uint8_t, kHeader + 8> head{};
  const int got = file->pMethods->xRead(file, head.data(), static_cast<int>(head.size()), 0);
  if (got == SQLITE_IOERR_SHORT_READ) return {};  // a new file, or one too short for SQLite, which reports it
  if (got != SQLITE_OK) return "it cannot be read";
  constexpr std::string_view kMagic("SQLite format 3\0", 16);
  if (!std::ranges::equal(kMagic, std::span(head).first(kMagic.size()),
                          [](char a, std::uint8_t b) { return static_cast<std::uint8_t>(a) == b; }))
    return "it is no SQLite database";
  if (head[kHeader] != kLeafOfTable || (head[kHeader + 3] << 8 | head[kHeader + 4]) > kMostObjects)
    return "it has more tables than railbed makes";
  return {};
}

// SQLite's own system layer with one change: a path is used as it is. Our path leads through a folder's
// descriptor, which SQLite would convert back to a path that others may have changed. The layer opens no file
// through a link (O_NOFOLLOW).
const char* layer_by_descriptor() {
  static sqlite3_vfs layer = [] {
    sqlite3_vfs made = *sqlite3_vfs_find(nullptr);
    made.zName = "by-descriptor";
    made.pNext = nullptr;
    made.xFullPathname = [](sqlite3_vfs*, const char* path, int size, char* out) {
      const std::string_view text = path;
      if (text.size() >= static_cast<std::size_t>(size)) return SQLITE_CANTOPEN;
      *std::ranges::copy(text, out).out = '\0';
      return SQLITE_OK;
    };
    return made;
  }();
  static const int registered = sqlite3_vfs_register(&layer, 0);
  return registered == SQLITE_OK ? layer.zName : nullptr;
}

}  // namespace

Result<Store> Store::open(const std::string& path) {
  if (path.empty())
    return fail(ErrorKind::kBadInput,
                "no place for the history of runs: set HOME or name a file with --store");
  if (const std::string folder = std::filesystem::path(path).parent_path(); !folder.empty())
    RETURN_IF_ERROR(make_folder(folder, 0700));
  auto entry = find_entry(path, Strangers::kMayWrite, LastLink::kFollow);
  if (!entry) return cannot("open the history", path, entry.error());
  const std::string by_descriptor = entry->path_by_descriptor();
  sqlite3* database = nullptr;
  const int opened = sqlite3_open_v2(by_descriptor.c_str(), &database,
                                     SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, layer_by_descriptor());
  Store store(Database(database), path, std::move(entry->folder));
  if (std::error_code ignored; std::filesystem::is_directory(path, ignored))
    return fail(ErrorKind::kBadInput, path + ": it is a folder, not a file; name a file with --store");
  if (opened != SQLITE_OK) {
    const bool may_write = faccessat(store.folder_.get(), ".", W_OK | X_OK, AT_EACCESS) == 0;
    const std::string of_folder = may_write ? "" : fmt::format(" in its folder ({})", std::strerror(errno));
    return fail(ErrorKind::kUnavailable, fmt::format("{}{}; name another file with --store",
                                                     store.failed("cannot open it").text, of_folder));
  }
  if (const std::string odd = odd_file(database, by_descriptor); !odd.empty())
    return fail(store.not_ours(odd));
  sqlite3_busy_timeout(database, kBusyMilliseconds);
  if (!restrain(database)) return fail(store.failed("cannot open it safely"));
  RETURN_IF_ERROR(store.prepare());
  return store;
}

Result<void> Store::prepare() {
  const auto pragma = [&](const char* sql) -> std::int64_t {
    Statement asked(database_.get(), sql);
    return asked.step() == SQLITE_ROW ? asked.integer(0) : -1;
  };
  if (pragma("PRAGMA schema_version") < 0) return tl::unexpected<Error>(failed("cannot read it"));
  // EXTRA also syncs the folder after a transaction's journal is deleted. Without it, a power failure soon
  // after a run was kept could bring the journal back, which would roll the run back
  // (sqlite.org/pragma.html#pragma_synchronous).
  if (auto done =
          execute("PRAGMA foreign_keys = ON; PRAGMA synchronous = EXTRA; PRAGMA cell_size_check = ON");
      !done)
    return done;
  if (pragma("PRAGMA application_id") == kApplication && pragma("PRAGMA user_version") == kSchema)
    return check_tables(kSchema);
  // Several processes may make or upgrade the file at once, so the checks are repeated under the lock.
  if (auto begun = execute("BEGIN IMMEDIATE"); !begun) return begun;
  const std::int64_t application = pragma("PRAGMA application_id");
  const std::int64_t schema = pragma("PRAGMA user_version");
  const bool fresh = application == 0 && schema == 0 && pragma("SELECT count(*) FROM sqlite_master") == 0;
  Result<void> sound;
  if (!fresh && application != kApplication)
    sound = fail(not_ours("a database of another program"));
  else if (!fresh)
    sound = check_kept(Kept::kHistory, path_, {static_cast<int>(schema), ""});
  if (sound && !fresh) sound = check_tables(static_cast<int>(schema));
  if (!sound) {
    if (const auto left = execute("ROLLBACK"); !left)
      return fail(sound.error().kind, sound.error().text + ", " + left.error().text);
    return sound;
  }
  const std::string made = fresh         ? fmt::format("{}; {};", runs_table(kSchema), kBaseline)
                           : schema == 1 ? kFromOne
                                         : "";
  return execute(fmt::format("{} PRAGMA application_id = {}; PRAGMA user_version = {}; COMMIT;", made,
                             kApplication, kSchema)
                     .c_str());
}

// A view in place of a table, a computed column or an index on an expression would make SQLite run code of
// the file's author, for any length of time. Views of other names belong to the user and are disabled.
Result<void> Store::check_tables(int schema) {
  const std::string runs = runs_table(schema);
  Statement select(database_.get(), "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL");
  int found = SQLITE_ROW;
  int tables = 0;
  while ((found = select.step()) == SQLITE_ROW) {
    const std::string name = select.text(0, kMostHeading);
    const std::string sql = select.text(1);
    const bool ours = (name == "runs" && sql == runs) || (name == "baseline" && sql == kBaseline);
    tables += ours;
    if (!ours && (name == "runs" || name == "baseline" ||
                  !(sql.starts_with("CREATE VIEW ") || sql.starts_with("CREATE TABLE sqlite_"))))
      return tl::unexpected<Error>(
          not_ours(fmt::format("its \"{}\" is nothing that railbed makes", printable(name.substr(0, 64)))));
  }
  if (found != SQLITE_DONE) return tl::unexpected<Error>(failed("cannot read it"));
  if (tables != 2) return tl::unexpected<Error>(not_ours("it has not the tables that railbed makes"));
  return {};
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
  const std::string details = json::dump(
      json::encode(Details{run.ladders, run.collectives, run.pairs, run.storage, run.trains, run.burns}));
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
  if (auto added = add_measurements(run, select.text(4), select.text(5)); !added)
    return fail(added.error(), path_);
  if (auto added = add_details(run, select.text(6), select.text(7)); !added)
    return fail(added.error(), path_);
  return run;
}

Result<std::vector<BenchRun>> Store::list() {
  Statement select(database_.get(),
                   "SELECT id, started_at, label, command, railbed FROM runs ORDER BY id DESC");
  std::vector<BenchRun> runs;
  std::size_t bytes = 0;
  int found = SQLITE_ROW;
  while ((found = select.step()) == SQLITE_ROW) {
    for (int column = 1; column <= 4; ++column) bytes += select.size(column);
    if (runs.size() == kMostListed || bytes > kMostHeadings)
      return tl::unexpected<Error>(
          not_ours(fmt::format("it lists more than {} runs or {} MiB", kMostListed, kMostHeadings >> 20)));
    runs.push_back(heading_of(select.integer(0), select, 1));
  }
  if (found != SQLITE_DONE) return tl::unexpected<Error>(failed("cannot read it"));
  return runs;
}

Result<std::vector<BenchRun>> Store::asked_for(const std::map<std::string, std::string>& asked, int most) {
  const std::string wanted = json::dump(json::encode(asked));
  Statement select(database_.get(),
                   "SELECT id, started_at, label, command, railbed, fingerprint, measurements FROM runs"
                   " WHERE asked = ? ORDER BY id DESC LIMIT ?");
  select.bind(wanted).bind(most);
  std::vector<BenchRun> runs;
  std::size_t bytes = 0;
  int found = SQLITE_ROW;
  while ((found = select.step()) == SQLITE_ROW &&
         (bytes += select.size(5) + select.size(6)) <= kMaxRunBytes) {
    BenchRun run = heading_of(select.integer(0), select, 1);
    RETURN_IF_ERROR(add_measurements(run, select.text(5), select.text(6)));
    run.asked = asked;
    runs.push_back(std::move(run));
  }
  if (found != SQLITE_DONE && found != SQLITE_ROW) return tl::unexpected<Error>(failed("cannot read it"));
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

Result<std::int64_t> Store::number(const char* sql) {
  Statement select(database_.get(), sql);
  if (select.step() != SQLITE_ROW) return tl::unexpected<Error>(failed("cannot read it"));
  return select.integer(0);
}

Result<std::uint64_t> Store::used_bytes() {
  ASSIGN_OR_RETURN(const auto pages, number("PRAGMA page_count"));
  ASSIGN_OR_RETURN(const auto unused, number("PRAGMA freelist_count"));
  ASSIGN_OR_RETURN(const auto size, number("PRAGMA page_size"));
  return static_cast<std::uint64_t>(std::max<std::int64_t>(pages - unused, 0) * size);
}

Result<Pruned> Store::prune_within(const HistoryLimits& limits) {
  ASSIGN_OR_RETURN(const auto before, used_bytes());
  Pruned pruned;
  const auto erase = [&](Statement& statement) -> Result<std::size_t> {
    if (statement.step() != SQLITE_DONE) return tl::unexpected<Error>(failed("cannot remove runs"));
    const auto removed = static_cast<std::size_t>(sqlite3_changes(database_.get()));
    pruned.runs += removed;
    return removed;
  };
  if (!limits.before.empty()) {
    Statement old(database_.get(),
                  "DELETE FROM runs WHERE started_at <> '' AND started_at < ? AND label = ''"
                  " AND id NOT IN (SELECT run FROM baseline)");
    RETURN_IF_ERROR(erase(old.bind(limits.before)));
  }
  // Numbers grow and are never used twice, so their span is at least the number of runs, and costs no scan.
  ASSIGN_OR_RETURN(const auto span, number("SELECT coalesce(max(id) - min(id) + 1, 0) FROM runs"));
  std::uint64_t bytes = before;
  for (;;) {
    ASSIGN_OR_RETURN(bytes, used_bytes());
    std::uint64_t excess = 0;
    if (static_cast<std::uint64_t>(span) > limits.runs || bytes > limits.bytes) {
      ASSIGN_OR_RETURN(const auto counted, number("SELECT count(*) FROM runs"));
      const auto runs = static_cast<std::uint64_t>(counted);
      if (runs > limits.runs) excess = runs - limits.runs;
      // Half of what is too much, at the mean size of a run: none goes that need not, whatever their sizes are.
      if (bytes > limits.bytes)
        excess = std::max({excess, std::uint64_t{1}, (bytes - limits.bytes) * runs / bytes / 2});
    }
    if (excess == 0) break;
    Statement oldest(
        database_.get(),
        "DELETE FROM runs WHERE id IN (SELECT id FROM runs WHERE id <> (SELECT max(id) FROM runs)"
        " AND id NOT IN (SELECT run FROM baseline) ORDER BY label <> '', id LIMIT ?)");
    ASSIGN_OR_RETURN(const auto removed, erase(oldest.bind(static_cast<std::int64_t>(excess))));
    if (removed == 0) break;
  }
  pruned.bytes = before - std::min(before, bytes);
  return pruned;
}

Result<Pruned> Store::prune(const HistoryLimits& limits, bool shrink, bool dry) {
  RETURN_IF_ERROR(execute("BEGIN IMMEDIATE"));
  auto pruned = prune_within(limits);
  if (const auto ended = execute(pruned && !dry ? "COMMIT" : "ROLLBACK"); pruned && !ended)
    return tl::unexpected<Error>(ended.error());
  if (!pruned || dry || !shrink) return pruned;
  // VACUUM attaches the copy that it makes.
  sqlite3_limit(database_.get(), SQLITE_LIMIT_ATTACHED, 1);
  const auto shrunk = execute("VACUUM");
  sqlite3_limit(database_.get(), SQLITE_LIMIT_ATTACHED, 0);
  if (!shrunk) return fail(shrunk.error(), "the runs are removed, but the file is as large as before");
  return pruned;
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

Result<BenchRun> run_from_json(std::string_view text) {
  if (text.size() > kMaxRunBytes) return fail(ErrorKind::kBadInput, "a run larger than 64 MiB");
  const auto document = json::parse(text);
  if (!document) return fail(document.error(), "run");
  // A newer form may differ in any member but these, so that they are looked at first.
  const auto stamp = json::decode<KeptStamp>(*document);
  if (!stamp) return fail(stamp.error(), "run");
  RETURN_IF_ERROR(check_kept(Kept::kRun, "run", *stamp));
  auto run = json::decode<BenchRun>(*document);
  if (!run) return fail(run.error(), "run");
  if (const std::string why = nonsense_of(*run); !why.empty())
    return fail(ErrorKind::kBadInput, "run: " + why);
  return run;
}

}  // namespace railbed
