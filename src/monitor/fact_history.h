// What of a node's facts changes only when somebody or something changes the node: firmware, drivers, MTUs,
// versions, which devices there are. Counters, temperatures, clocks and link states move by themselves and
// are not compared. Two looks' tables give the changes between them.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "monitor/events.h"

namespace railbed {

struct Facts;

// What "firmware of mlx5_3" was at a look.
struct ComparedFact {
  std::string value;
  std::string kind;  // "RDMA device": the fact is that this device is there; else empty
  std::vector<std::string>
      things;  // names of its device, the interface on it, its PCI address; none: the node
  static void fields(auto&& field) {
    field("value", &ComparedFact::value);
    field("kind", &ComparedFact::kind);
    field("things", &ComparedFact::things);
  }
};

struct FactTable {
  std::map<std::string, ComparedFact> facts;  // by what people call them
  std::vector<std::string> kinds;             // of which all devices that there are could be listed
  static void fields(auto&& field) {
    field("facts", &FactTable::facts);
    field("kinds", &FactTable::kinds);
  }
};

struct FactChange {
  UtcTime time;
  double age = 0;    // on the watch's own clock (monitor/finding_watch.h)
  std::string what;  // "firmware of mlx5_3", "kernel"
  std::string before;
  std::string after;  // empty, as `before`: `what` says it all
  std::vector<std::string> things;
  std::string text() const;  // "firmware of mlx5_3 20.39 → 20.43"
  static void fields(auto&& field) {
    field("time", &FactChange::time);
    field("age", &FactChange::age);
    field("what", &FactChange::what);
    field("before", &FactChange::before);
    field("after", &FactChange::after);
    field("things", &FactChange::things);
  }
};

FactTable compared_facts(const Facts& facts);

// The changes from one look to the next; `known` is then what is known after both. What could not be read
// this time stays as it was.
std::vector<FactChange> take_changes(FactTable& known, FactTable now);

}  // namespace railbed
