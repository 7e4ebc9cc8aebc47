// The JSON documents of verdicts and of InfiniBand subnets.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/document.h"
#include "base/fields.h"
#include "model/differences.h"
#include "results/measurement.h"
#include "results/run.h"
#include "verify/findings.h"

namespace railbed {

// ---- verify, prove, report, fabric verify

// A view: the findings of a thousand nodes are half a gigabyte.
class FindingsView {
 public:
  explicit FindingsView(const Findings& all) : all_(&all) {}
  Findings::const_iterator begin() const { return all_->begin(); }
  Findings::const_iterator end() const { return all_->end(); }

 private:
  const Findings* all_;
};
struct FindingsDocument {
  std::string cluster = {};
  std::string started_at = {};
  double seconds = 0;
  std::size_t nodes = 0;
  StatusCounts counts;
  std::span<const Difference> differences = {};
  FindingsView findings;
  std::span<const Measurement> measurements = {};
  std::span<const BenchRun> runs = {};
  FIELDS(FindingsDocument, cluster, started_at, seconds, nodes, counts, differences, findings, measurements,
         runs);
};
inline constexpr Document<FindingsDocument> kFindingsDocument{"railbed-findings"};

// What `railbed bench` between two nodes prints, and `prove --measurements` writes.
inline constexpr Document<std::vector<Measurement>> kMeasurementsDocument{"railbed-bench", 1, "measurements"};

// ---- fabric discover

struct FabricLinkDocument {
  int width = 0;           // lanes
  std::string speed = {};  // "EDR"
  FIELDS(FabricLinkDocument, width, speed);
};
struct FabricPeerDocument {
  std::string node = {};  // GUID
  std::string description = {};
  int port = 0;
  FIELDS(FabricPeerDocument, node, description, port);
};
struct FabricPortDocument {
  int number = 0;
  std::optional<std::string> guid = {};
  unsigned lid = 0;
  // Null where the subnet was read from a file, which holds none of the three.
  std::optional<std::string> state = {};
  std::optional<bool> link_up = {};
  std::optional<FabricLinkDocument> supported = {};
  FabricLinkDocument active = {};
  std::optional<FabricPeerDocument> peer = {};
  FIELDS(FabricPortDocument, number, guid, lid, state, link_up, supported, active, peer);
};
struct FabricNodeDocument {
  std::string type = {}, guid = {}, system_guid = {}, description = {};
  std::uint64_t vendor = 0, device = 0, revision = 0, lid = 0;
  std::vector<FabricPortDocument> ports = {};
  FIELDS(FabricNodeDocument, type, guid, system_guid, description, vendor, device, revision, lid, ports);
};
struct FabricManagerDocument {
  std::string node = {}, guid = {};
  unsigned lid = 0;
  std::string state = {};
  int priority = 0;
  std::uint64_t activity = 0;
  std::optional<std::uint64_t> activity_before = {};  // of `fabric sm`: at the first of two looks
  FIELDS(FabricManagerDocument, node, guid, lid, state, priority, activity, activity_before);
};
struct FabricDocument {
  std::string layout = {};
  std::vector<FabricNodeDocument> nodes = {};
  std::vector<FabricManagerDocument> managers = {};
  std::vector<std::string> mute_managers = {};
  FIELDS(FabricDocument, layout, nodes, managers, mute_managers);
};
inline constexpr Document<FabricDocument> kFabricDocument{"railbed-fabric"};

// ---- fabric sm

struct ManagersDocument {
  std::vector<FabricManagerDocument> managers = {};
  std::vector<std::string> mute_managers = {};
  double seconds = 0;  // between the two looks
  std::string layout = {};
  Reading<std::string> routing_engine = {};
  std::string routing_advice = {};
  FIELDS(ManagersDocument, managers, mute_managers, seconds, layout, routing_engine, routing_advice);
};
inline constexpr Document<ManagersDocument> kManagersDocument{"railbed-subnet-managers"};

// ---- fabric counters

struct CountedPeerDocument {
  std::string guid = {}, node = {};
  int port = 0;
  FIELDS(CountedPeerDocument, guid, node, port);
};
struct CountedPortDocument {
  std::string guid = {}, node = {}, type = {};
  int port = 0;
  std::optional<CountedPeerDocument> peer = {};
  std::map<std::string, std::uint64_t> counters = {};  // by the names of the InfiniBand specification
  FIELDS(CountedPortDocument, guid, node, type, port, peer, counters);
};
struct CountersDocument {
  std::vector<CountedPortDocument> ports = {};
  std::size_t unanswered = 0;
  FIELDS(CountersDocument, ports, unanswered);
};
inline constexpr Document<CountersDocument> kCountersDocument{"railbed-fabric-counters"};

}  // namespace railbed
