// One run as it is kept, compared, printed and put on a page: what was asked for, what was measured, on what,
// when, by which command. Every command that measures yields one.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/fields.h"
#include "results/collective.h"
#include "results/ladder.h"
#include "results/measurement.h"
#include "results/pairs.h"
#include "results/storage.h"
#include "results/train.h"

namespace railbed {

inline constexpr int kRunVersion = 1;

struct BenchRun {
  int version = kRunVersion;
  std::int64_t id = 0;     // given by the store; 0 until then
  std::string started_at;  // RFC 3339, UTC
  std::string label;       // the user's own word for it: "back-to-back"
  std::string command;     // "bench rdma gpu01 gpu02"
  std::string railbed;     // version of the program that measured
  // Every choice that can change a number, by the name of its option: "traffic-class" → "104". Runs that
  // differ in one of these are not compared as equals.
  std::map<std::string, std::string> asked;
  // What the nodes were made of: "gpu01 kernel" → "6.8.0-45-generic". Two runs whose prints differ are
  // compared all the same, and the difference is shown beside the verdict.
  std::map<std::string, std::string> fingerprint;
  // A key (engine, metric, operation, rail, ends, size, streams) that comes several times was measured
  // several times.
  std::vector<Measurement> measurements;
  // What the measurements were taken from, for people and pictures; empty where the command does not do it.
  std::vector<Ladder> ladders;
  std::vector<CollectiveReport> collectives;
  std::vector<RailReport> pairs;
  std::vector<StoragePlace> storage;
  std::vector<TrainReport> trains;
  FIELDS(BenchRun, version, id, started_at, label, command, railbed, asked, fingerprint, measurements,
         ladders, collectives, pairs, storage, trains);
};

}  // namespace railbed
