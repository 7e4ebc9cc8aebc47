// One run in the form in which it is kept, compared, printed and shown on a page: its options, its
// measurements, the nodes, the time and the command. Every command that measures produces one.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/fields.h"
#include "results/burn.h"
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
  std::int64_t id = 0;     // assigned by the store; 0 before
  std::string started_at;  // RFC 3339, UTC
  std::string label;       // chosen by the user: "back-to-back"
  std::string command;     // "bench rdma gpu01 gpu02"
  std::string railbed;     // version of the program that measured
  // Every option that can change a number, by its name: "traffic-class" → "104". Runs that differ in one of
  // these are shown without a verdict.
  std::map<std::string, std::string> asked;
  // Properties of the nodes: "gpu01 kernel" → "6.8.0-45-generic". Runs with different fingerprints are
  // compared, and the difference is shown beside the verdict.
  std::map<std::string, std::string> fingerprint;
  // A subject (engine, metric, operation, rail, ends, size, streams) that occurs several times was measured
  // several times.
  std::vector<Measurement> measurements;
  // The data behind the measurements, for people and pictures; empty if the command does not produce it.
  std::vector<Ladder> ladders;
  std::vector<CollectiveReport> collectives;
  std::vector<RailReport> pairs;
  std::vector<StoragePlace> storage;
  std::vector<TrainReport> trains;
  std::vector<BurnReport> burns;
  FIELDS(BenchRun, version, id, started_at, label, command, railbed, asked, fingerprint, measurements,
         ladders, collectives, pairs, storage, trains, burns);
};

}  // namespace railbed
