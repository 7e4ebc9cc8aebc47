// One benchmark run as it is kept: what was measured, on what, when, by which command.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "results/measurement.h"

namespace railbed {

inline constexpr int kRunVersion = 1;

struct BenchRun {
  int version = kRunVersion;
  std::int64_t id = 0;     // given by the store; 0 until then
  std::string started_at;  // RFC 3339, UTC
  std::string label;       // the user's own word for it: "back-to-back"
  std::string command;     // "bench rdma gpu01 gpu02"
  std::string railbed;     // version of the program that measured
  // What the nodes were made of: "gpu01 kernel" → "6.8.0-45-generic". Two runs whose prints differ are
  // compared all the same, and the difference is shown beside the verdict.
  std::map<std::string, std::string> fingerprint;
  // A key (engine, metric, operation, rail, ends, size, streams) that comes several times was measured
  // several times.
  std::vector<Measurement> measurements;
  static void fields(auto&& field) {
    field("version", &BenchRun::version);
    field("id", &BenchRun::id);
    field("started_at", &BenchRun::started_at);
    field("label", &BenchRun::label);
    field("command", &BenchRun::command);
    field("railbed", &BenchRun::railbed);
    field("fingerprint", &BenchRun::fingerprint);
    field("measurements", &BenchRun::measurements);
  }
};

}  // namespace railbed
