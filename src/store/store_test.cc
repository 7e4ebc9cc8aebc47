#include "store/store.h"

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>
#include <csignal>

#include <filesystem>
#include <fstream>
#include <thread>

#include "base/json.h"
#include "base/kept_format.h"
#include "base/testing/temporary_folder.h"
#include "facts/facts.h"
#include "store/fingerprint.h"

namespace railbed {
namespace {

namespace fs = std::filesystem;

BenchRun sample(const std::string& label) {
  BenchRun run;
  run.started_at = "2026-01-19T10:00:00Z";
  run.label = label;
  run.command = "bench rdma gpu01 gpu02";
  run.railbed = "0.1.0";
  run.fingerprint = {{"gpu01 kernel", "6.8.0-45-generic"}};
  Measurement measurement;
  measurement.rail = "rail0";
  measurement.summary.median = 38.1e9;
  measurement.intervals = {38e9, 38.2e9};
  run.measurements = {measurement};
  return run;
}

Measurement latency_with_floor() {
  Measurement measurement;
  measurement.metric = Metric::kLatency;
  measurement.summary.median = 850;
  measurement.floor = {{{"wire", Nanoseconds{15.6}, "78 bytes"}}, "not in it: cable"};
  return measurement;
}

class StoreTest : public ::testing::Test {
 protected:
  std::string path() const { return folder_ / "deep" / "runs.sqlite"; }

  TemporaryFolder temporary_;
  fs::path folder_ = temporary_.path();
};

TEST_F(StoreTest, KeepsWhatItIsGiven) {
  auto store = Store::open(path());
  ASSERT_TRUE(store) << store.error().text;
  const auto first = store->add(sample("back-to-back"));
  const auto second = store->add(sample("switch"));
  ASSERT_TRUE(first && second);
  const auto read = Store::open(path())->get(*first);
  ASSERT_TRUE(read) << read.error().text;
  EXPECT_EQ(read->id, *first);
  EXPECT_EQ(read->label, "back-to-back");
  EXPECT_EQ(read->fingerprint, sample("").fingerprint);
  ASSERT_EQ(read->measurements.size(), 1u);
  EXPECT_EQ(read->measurements[0].intervals, sample("").measurements[0].intervals);
  const auto all = store->list();
  ASSERT_TRUE(all);
  ASSERT_EQ(all->size(), 2u);
  EXPECT_EQ((*all)[0].label, "switch");
}

TEST_F(StoreTest, WhatIsNoJsonIsCleanedAsItIsRead) {
  auto store = Store::open(path());
  ASSERT_TRUE(store);
  const auto id = store->add(sample("red\x1b[31m\nlines"));
  ASSERT_TRUE(id);
  const std::string harmless = "red\xEF\xBF\xBD[31m lines";
  EXPECT_EQ(store->get(*id)->label, harmless);
  EXPECT_EQ(store->list()->at(0).label, harmless);
}

TEST_F(StoreTest, KeepsTheFloorOfALatency) {
  auto store = Store::open(path());
  ASSERT_TRUE(store);
  BenchRun run = sample("");
  run.measurements.push_back(latency_with_floor());
  const auto id = store->add(run);
  ASSERT_TRUE(id);
  const auto read = store->get(*id);
  ASSERT_TRUE(read);
  const Floor& floor = read->measurements.at(1).floor;
  ASSERT_EQ(floor.parts.size(), 1u);
  EXPECT_EQ(floor.parts[0].name, "wire");
  EXPECT_EQ(floor.parts[0].time.count(), 15.6);
  EXPECT_EQ(floor.note, "not in it: cable");
}

TEST_F(StoreTest, ItsFolderIsThisUsersAlone) {
  ASSERT_TRUE(Store::open(path()));
  EXPECT_EQ(fs::status(folder_ / "deep").permissions(), fs::perms::owner_all);
}

TEST_F(StoreTest, RemovesARunAndWithItTheBaselineThatItWas) {
  auto store = Store::open(path());
  ASSERT_TRUE(store);
  const auto id = store->add(sample("a"));
  ASSERT_TRUE(store->set_baseline(*id));
  EXPECT_EQ(*store->baseline(), *id);
  ASSERT_TRUE(store->remove(*id));
  EXPECT_FALSE(store->get(*id));
  EXPECT_EQ(*store->baseline(), std::nullopt);
  EXPECT_FALSE(store->remove(*id));
  EXPECT_FALSE(store->set_baseline(*id));
  // An id is never reused: "run 1" in a user's notes stays that run.
  EXPECT_GT(*store->add(sample("b")), *id);
}

TEST_F(StoreTest, LeavesOtherFilesAlone) {
  const std::string text = folder_ / "notes.txt";
  std::ofstream(text)
      << "these are my notes, and they are longer than a hundred bytes so that SQLite looks at them "
         "as a header first and says no\n";
  const auto size = fs::file_size(text);
  EXPECT_FALSE(Store::open(text));
  EXPECT_EQ(fs::file_size(text), size);

  const std::string other = folder_ / "other.sqlite";
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(other.c_str(), &database), SQLITE_OK);
  sqlite3_exec(database, "CREATE TABLE mine(x)", nullptr, nullptr, nullptr);
  sqlite3_close(database);
  const auto refused = Store::open(other);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().text.find("another program"), std::string::npos);
}

// A history as an attacker may send it: the statements that make it, with our marks in front.
std::string refusal_of(const std::string& file, const std::string& sql) {
  sqlite3* database = nullptr;
  EXPECT_EQ(sqlite3_open(file.c_str(), &database), SQLITE_OK);
  const std::string all = "PRAGMA application_id = 1918986604; PRAGMA user_version = 2; " + sql;
  EXPECT_EQ(sqlite3_exec(database, all.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
      << sqlite3_errmsg(database);
  sqlite3_close(database);
  const auto opened = Store::open(file);
  return opened ? "" : opened.error().text;
}

constexpr const char* kOurRuns =
    "CREATE TABLE runs(id INTEGER PRIMARY KEY AUTOINCREMENT, started_at TEXT NOT NULL, label TEXT NOT NULL,"
    " command TEXT NOT NULL, railbed TEXT NOT NULL, fingerprint TEXT NOT NULL, measurements TEXT NOT NULL,"
    " asked TEXT NOT NULL DEFAULT '{}', details TEXT NOT NULL DEFAULT '{}');";
constexpr const char* kOurBaseline =
    "CREATE TABLE baseline(one INTEGER PRIMARY KEY CHECK (one = 1),"
    " run INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE);";

TEST_F(StoreTest, CarriesOutNothingThatAStrangersFileAsksFor) {
  const std::string ours = std::string(kOurRuns) + kOurBaseline;
  int count = 0;
  const auto refused = [&](const std::string& sql) {
    return refusal_of(folder_ / fmt::format("{}.sqlite", ++count), sql);
  };
  EXPECT_EQ(refused(ours), "");
  EXPECT_EQ(refused(ours + "CREATE VIEW mine AS SELECT label FROM runs;"), "");
  EXPECT_EQ(refused(ours + "INSERT INTO baseline VALUES(1, 1); ANALYZE;"), "");
  const char* endless =
      "CREATE VIEW runs AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x AS id,"
      " 'a' AS started_at, 'l' AS label, 'c' AS command, 'r' AS railbed FROM c;";
  EXPECT_NE(refused(std::string(endless) + kOurBaseline).find("is no history of railbed: its \"runs\""),
            std::string::npos);
  for (const std::string& sql :
       {std::string(kOurRuns), ours + "CREATE INDEX i ON runs(hex(label));", ours + "CREATE TABLE more(x);",
        ours + "CREATE TRIGGER t AFTER INSERT ON runs BEGIN DELETE FROM runs; END;",
        std::string("CREATE TABLE runs(id INTEGER PRIMARY KEY, label TEXT AS (hex(zeroblob(1000))));") +
            kOurBaseline})
    EXPECT_NE(refused(sql).find("is no history of railbed: "), std::string::npos) << sql;
}

TEST_F(StoreTest, ListsNoMoreThanAHistoryHolds) {
  auto store = Store::open(path());
  ASSERT_TRUE(store);
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(path().c_str(), &database), SQLITE_OK);
  sqlite3_exec(database,
               "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 100001)"
               " INSERT INTO runs(started_at, label, command, railbed, fingerprint, measurements)"
               " SELECT '', 'l', '', '', '{}', '[]' FROM c",
               nullptr, nullptr, nullptr);
  const auto all = store->list();
  ASSERT_FALSE(all);
  EXPECT_NE(all.error().text.find("more than 100000 runs"), std::string::npos);
  sqlite3_exec(database, "DELETE FROM runs WHERE id > 1; UPDATE runs SET label = hex(zeroblob(5000))",
               nullptr, nullptr, nullptr);
  sqlite3_close(database);
  EXPECT_EQ(store->list()->at(0).label.size(), 1024u);
}

TEST_F(StoreTest, IsMadeByManyAtOnce) {
  for (int round = 0; round < 20; ++round) {
    const std::string fresh = folder_ / fmt::format("{}.sqlite", round);
    std::vector<std::string> errors(4);
    {
      std::vector<std::jthread> threads;
      for (std::string& error : errors)
        threads.emplace_back([&] {
          auto store = Store::open(fresh);
          const auto id = store ? store->add(sample("a")) : Result<std::int64_t>(fail(store.error()));
          if (!id) error = id.error().text;
        });
    }
    for (const std::string& error : errors) EXPECT_EQ(error, "");
  }
}

TEST_F(StoreTest, RefusesANewerSchema) {
  ASSERT_TRUE(Store::open(path()));
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(path().c_str(), &database), SQLITE_OK);
  sqlite3_exec(database, "PRAGMA user_version = 99", nullptr, nullptr, nullptr);
  sqlite3_close(database);
  const auto refused = Store::open(path());
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().text.find("newer railbed"), std::string::npos);
  EXPECT_NE(refused.error().text.find("version 99"), std::string::npos);
}

TEST_F(StoreTest, RefusesARunOfANewerRailbedBeforeItIsRead) {
  EXPECT_EQ(kRunVersion, format_of(Kept::kRun).written);
  const auto refused = run_from_json(R"({"version": 2, "railbed": "9.0.0", "measurements": {}})");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().text.find("9.0.0"), std::string::npos) << refused.error().text;
}

// Runs of 20 KiB until the limits count.
TEST_F(StoreTest, OldRunsGoByNumberSizeAndAge) {
  auto store = Store::open(path());
  ASSERT_TRUE(store);
  BenchRun run = sample("");
  run.fingerprint["gpu01 kernel"] = std::string(20 << 10, 'k');
  for (int i = 1; i <= 300; ++i) {
    run.label = i % 50 == 0 ? "kept" : "";
    run.started_at = fmt::format("2026-{:02}-{:02}T10:00:00Z", 1 + i / 28, 1 + i % 28);
    ASSERT_TRUE(store->add(run));
  }
  ASSERT_TRUE(store->set_baseline(7));
  const auto large = fs::file_size(path());
  const auto dry = store->prune({.runs = 100}, true, true);
  ASSERT_TRUE(dry) << dry.error().text;
  EXPECT_EQ(dry->runs, 200U);
  EXPECT_EQ(store->list()->size(), 300U);
  EXPECT_EQ(store->prune({.runs = 100})->runs, 200U);
  const auto ids = [&] {
    std::vector<std::int64_t> found;
    const auto listed = store->list().value();
    for (const BenchRun& kept : listed) found.push_back(kept.id);
    return found;
  };
  EXPECT_EQ(ids().size(), 100U);
  EXPECT_EQ(ids().back(), 7) << "the baseline";
  EXPECT_EQ(ids()[98], 50) << "and labels";
  EXPECT_EQ(store->prune({.runs = 100})->runs, 0U);
  EXPECT_EQ(fs::file_size(path()), large) << "the room is used again";

  const auto aged = store->prune({.before = "2026-10-01T00:00:00Z"}, true);
  ASSERT_TRUE(aged) << aged.error().text;
  EXPECT_GT(aged->runs, 0U);
  EXPECT_LT(fs::file_size(path()), large / 2);
  const auto left = store->list().value();
  for (const BenchRun& kept : left)
    EXPECT_TRUE(kept.started_at >= "2026-10" || kept.label == "kept" || kept.id == 7) << kept.id;

  ASSERT_TRUE(store->prune({.bytes = 400 << 10}));
  EXPECT_LE(ids().size(), 20U);
  EXPECT_GT(ids().size(), 10U) << "no more than must";
  ASSERT_TRUE(store->prune({.runs = 1, .bytes = 1}));
  EXPECT_EQ(ids(), (std::vector<std::int64_t>{300, 7})) << "the newest and the baseline stay";
  EXPECT_EQ(*store->baseline(), 7);
  EXPECT_EQ(*store->add(sample("new")), 301);
  EXPECT_TRUE(Store::open(path())) << "still a history";
}

// The statements of schema 1, as railbed made it before runs kept the request.
constexpr const char* kSchemaOne =
    "BEGIN IMMEDIATE; PRAGMA application_id = 1918986604; PRAGMA user_version = 1;"
    "CREATE TABLE IF NOT EXISTS runs(id INTEGER PRIMARY KEY AUTOINCREMENT, started_at TEXT NOT NULL,"
    " label TEXT NOT NULL, command TEXT NOT NULL, railbed TEXT NOT NULL, fingerprint TEXT NOT NULL,"
    " measurements TEXT NOT NULL);"
    "CREATE TABLE IF NOT EXISTS baseline(one INTEGER PRIMARY KEY CHECK (one = 1),"
    " run INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE);"
    "INSERT INTO runs(started_at, label, command, railbed, fingerprint, measurements)"
    " VALUES('2026-01-19T10:00:00Z', 'old', 'bench tcp a b', '0.1.0', '{}', '[]');"
    "INSERT INTO baseline(one, run) VALUES(1, 1); COMMIT;";

TEST_F(StoreTest, RaisesAFileOfTheFirstSchemaWhereItLies) {
  const std::string file = folder_ / "old.sqlite";
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(file.c_str(), &database), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(database, kSchemaOne, nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(database);
  for (int opened = 0; opened < 2; ++opened) {
    auto store = Store::open(file);
    ASSERT_TRUE(store) << store.error().text;
    const auto old = store->get(1);
    ASSERT_TRUE(old) << old.error().text;
    EXPECT_EQ(old->label, "old");
    EXPECT_TRUE(old->asked.empty());
    EXPECT_EQ(*store->baseline(), 1);
    BenchRun run = sample("new");
    run.asked = {{"traffic-class", "104"}};
    EXPECT_EQ(store->get(*store->add(run))->asked, run.asked);
  }
}

TEST_F(StoreTest, FindsTheNewestRunsOfTheSameOptions) {
  auto store = Store::open(path());
  for (const char* label : {"a", "b", "c"}) ASSERT_TRUE(store->add(sample(label)));
  BenchRun other = sample("d");
  other.asked = {{"traffic-class", "104"}};
  ASSERT_TRUE(store->add(other));
  const auto two = store->asked_for({}, 2);
  ASSERT_TRUE(two) << two.error().text;
  ASSERT_EQ(two->size(), 2u);
  EXPECT_EQ((*two)[0].label, "c");
  EXPECT_EQ((*two)[1].label, "b");
  EXPECT_FALSE((*two)[0].measurements.empty());
  EXPECT_EQ(store->asked_for(other.asked, 9)->at(0).asked, other.asked);
}

TEST_F(StoreTest, KeepsWhatPicturesAreDrawnFrom) {
  BenchRun run = sample("ladder");
  run.asked = {{"sizes", "all"}};
  run.ladders = {{"gpu01", "gpu02", "rail0", {Rung{}}, 0}};
  run.collectives.resize(2);
  run.pairs = {{"rail0", Engine::kRdma, false, {"gpu01", "gpu02"}, {}, {}, {}}};
  run.storage.resize(1);
  run.trains.resize(1);
  run.burns.resize(1);
  auto store = Store::open(path());
  const auto read = store->get(*store->add(run));
  ASSERT_TRUE(read) << read.error().text;
  EXPECT_EQ(read->asked, run.asked);
  ASSERT_EQ(read->ladders.size(), 1u);
  EXPECT_EQ(read->ladders[0].loser, 0);
  EXPECT_EQ(read->collectives.size(), 2u);
  EXPECT_EQ(read->pairs[0].nodes.size(), 2u);
  EXPECT_EQ(read->storage.size() + read->trains.size() + read->burns.size(), 3u);
}

TEST(RunJson, RefusesNumbersThatNameNothing) {
  BenchRun run = sample("a");
  run.ladders = {{"gpu01", "gpu02", "rail0", {Rung{}}, 1}};
  EXPECT_FALSE(run_from_json(json::dump(json::encode(run))));
  run = sample("a");
  run.pairs = {{"rail0", Engine::kRdma, false, {"gpu01", "gpu02"}, {}, {}, {}}};
  EXPECT_TRUE(run_from_json(json::dump(json::encode(run))));
  run.pairs[0].report.pairs = {{0, 2, 1e9, {}}};
  EXPECT_FALSE(run_from_json(json::dump(json::encode(run))));
}

TEST_F(StoreTest, ARowThatCannotBeReadIsAnErrorAndHidesNoOther) {
  auto store = Store::open(path());
  const auto id = store->add(sample("a"));
  ASSERT_TRUE(store->add(sample("b")));
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(path().c_str(), &database), SQLITE_OK);
  sqlite3_exec(database,
               "UPDATE runs SET measurements = '[{\"streams\": \"x\"}]', fingerprint = '3' WHERE label = 'a'",
               nullptr, nullptr, nullptr);
  sqlite3_close(database);
  EXPECT_FALSE(store->get(*id));
  EXPECT_EQ(store->list()->size(), 2u);
}

// A child adds runs until it is killed. All committed runs are complete, and the file opens.
TEST_F(StoreTest, SurvivesAKillAtAnyMoment) {
  std::size_t least = 0;
  for (int round = 0; round < 8; ++round) {
    int committed[2];
    ASSERT_EQ(pipe(committed), 0);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      auto store = Store::open(path());
      while (store && store->add(sample("again")) && write(committed[1], "+", 1) == 1) {
      }
      _exit(1);
    }
    close(committed[1]);
    char seen = 0;
    for (int i = 0; i <= round; ++i) least += static_cast<std::size_t>(read(committed[0], &seen, 1));
    std::this_thread::sleep_for(std::chrono::milliseconds(7 * round));  // somewhere in a later transaction
    kill(child, SIGKILL);
    close(committed[0]);
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status)) << "it stopped by itself";
    auto store = Store::open(path());
    ASSERT_TRUE(store) << store.error().text;
    const auto all = store->list();
    ASSERT_TRUE(all) << all.error().text;
    EXPECT_GE(all->size(), least);
    for (const BenchRun& run : *all) EXPECT_TRUE(store->get(run.id));
    least = all->size();
  }
}

TEST(RunJson, ComesBackAsItWent) {
  const auto again = run_from_json(json::dump(json::encode(sample("a"))));
  ASSERT_TRUE(again) << again.error().text;
  EXPECT_EQ(again->label, "a");
  EXPECT_EQ(again->measurements[0].summary.median, 38.1e9);
}

TEST(RunJson, RefusesNonsense) {
  EXPECT_FALSE(run_from_json("{"));
  EXPECT_FALSE(run_from_json(R"({"version": 2})"));
  EXPECT_FALSE(run_from_json(R"({"measurements": 3})"));
}

TEST(Fingerprint, NamesHardwareFirmwareAndSoftware) {
  Facts facts;
  facts.system.kernel.release = {"6.8.0-45-generic", "test"};
  RdmaDevice device;
  device.name = "mlx5_0";
  device.hca_type = {"MT4129", "test"};
  device.firmware = {"28.39.1002", "test"};
  facts.rdma.devices = {{device}, "test"};
  Gpu gpu;
  gpu.model = {"NVIDIA H200", "test"};
  facts.gpus.devices = {{gpu, gpu}, "test"};
  BenchRun run;
  add_fingerprint(run, "gpu01", facts);
  EXPECT_EQ(run.fingerprint["gpu01 kernel"], "6.8.0-45-generic");
  EXPECT_EQ(run.fingerprint["gpu01 mlx5_0"], "MT4129 28.39.1002");
  EXPECT_EQ(run.fingerprint["gpu01 GPUs"], "2 × NVIDIA H200");
  EXPECT_FALSE(run.fingerprint.contains("gpu01 os"));
}

}  // namespace
}  // namespace railbed
