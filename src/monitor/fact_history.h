// What of a node's facts changes only when somebody or something changes the node: firmware, drivers, MTUs,
// versions, which devices there are. Counters, temperatures, clocks and link states move by themselves and
// are not compared. Two looks' tables give the changes between them.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "monitor/events.h"

namespace railbed {

struct Facts;

// What "firmware of mlx5_3" was at a look.
struct ComparedFact {
  std::string value;
  std::string kind;  // "RDMA device": the fact is that this device is there; else empty
  std::vector<std::string>
      things;  // names of its device, the interface on it, its PCI address; none: the node
  FIELDS(ComparedFact, value, kind, things);
};

struct FactTable {
  std::map<std::string, ComparedFact> facts;  // by what people call them
  std::vector<std::string> kinds;             // of which all devices that there are could be listed
  FIELDS(FactTable, facts, kinds);
};

struct FactChange {
  UtcTime time;
  double age = 0;    // on the watch's own clock (monitor/finding_watch.h)
  std::string what;  // "firmware of mlx5_3", "kernel"
  std::string before;
  std::string after;  // empty, as `before`: `what` says it all
  std::vector<std::string> things;
  std::string text() const;  // "firmware of mlx5_3 20.39 → 20.43"
  FIELDS(FactChange, time, age, what, before, after, things);
};

FactTable compared_facts(const Facts& facts);

// The changes from one look to the next; `known` is then what is known after both. What could not be read
// this time stays as it was.
std::vector<FactChange> take_changes(FactTable& known, FactTable now);

}  // namespace railbed
