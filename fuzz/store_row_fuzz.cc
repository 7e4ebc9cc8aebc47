// A history of runs may come from anybody: whatever stands in the columns of a row, the list shows it and the
// run is taken or refused; what is taken is kept again unchanged and compared. How it is printed holds
// runs_fuzz.
//
// Columns are divided by NUL, the last may be missing.
//
// Rooms: store
// Seeds: tests/sessions/runs
#include <sqlite3.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "fuzz/require.h"
#include "fuzz/scratch.h"
#include "store/compare.h"
#include "store/store.h"

using namespace railbed;

namespace {

constexpr const char* kRow =
    "INSERT OR REPLACE INTO runs(id, started_at, label, command, railbed, fingerprint, measurements, asked, details)"
    " VALUES(1, ?, ?, ?, ?, ?, ?, ?, ?)";
constexpr int kColumns = 8;

// A store, and the same file as anybody's program opens it.
class Rows {
 public:
  Rows() : scratch_("rows.sqlite"), store_(*Store::open(scratch_.path())) {
    require(sqlite3_open(scratch_.path().c_str(), &raw_) == SQLITE_OK);
    sqlite3_exec(raw_, "PRAGMA synchronous = OFF; PRAGMA journal_mode = MEMORY", nullptr, nullptr, nullptr);
    require(sqlite3_prepare_v2(raw_, kRow, -1, &insert_, nullptr) == SQLITE_OK);
  }
  Store& with(std::string_view text) {
    for (int column = 1; column <= kColumns; ++column) {
      const auto end = std::min(text.find('\0'), text.size());
      const std::string_view one = text.substr(0, end);
      sqlite3_bind_text64(insert_, column, one.data(), one.size(), SQLITE_STATIC, SQLITE_UTF8);
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    require(sqlite3_step(insert_) == SQLITE_DONE);
    sqlite3_reset(insert_);
    return store_;
  }

 private:
  Scratch scratch_;
  Store store_;
  sqlite3* raw_ = nullptr;
  sqlite3_stmt* insert_ = nullptr;
};

void take(const BenchRun& run) {
  (void)compare({run}, {run});
  const std::string written = json::dump(json::encode(run));
  const auto again = run_from_json(written);
  require(again && json::dump(json::encode(*again)) == written);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Rows rows;
  Store& store = rows.with(as_text(data, size));
  if (const auto runs = store.list())
    require(runs->size() == 1);
  else
    require_printable(runs.error().text);
  if (const auto run = store.get(1))
    take(*run);
  else
    require_printable(run.error().text);
  return 0;
}
