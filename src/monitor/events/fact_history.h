// Compares those facts of a node that change only when someone or something changes the node: firmware,
// drivers, MTUs, versions, and which devices exist. Counters, temperatures, clocks and link states change by
// themselves and are not compared.
//
// compared_facts() reduces the facts of one look to a table from names to values, and take_changes() compares
// it with the table known so far. That a device exists is itself a fact. A device counts as new or gone only
// if the look could list all devices of its kind. A fact that could not be read keeps its known value, and so
// do the facts of a device that is gone: the device may come back with another firmware.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "monitor/events/events.h"

namespace railbed {

struct Facts;

// The value of one fact, such as "firmware of mlx5_3", at a look.
struct ComparedFact {
  std::string value;
  std::string kind;  // "RDMA device" if the fact is that this device exists; else empty
  // Names of its device, the interface on it, and its PCI address; empty if it concerns the node
  std::vector<std::string> things;
  FIELDS(ComparedFact, value, kind, things);
};

// The compared facts of one look, or the facts known so far. At most 20,000.
struct FactTable {
  std::map<std::string, ComparedFact> facts;  // by the names that people use
  std::vector<std::string> kinds;             // kinds of device for which the look could list all devices
  FIELDS(FactTable, facts, kinds);
};

// One change of one fact.
struct FactChange {
  UtcTime time;
  double age = 0;    // when it was seen, on the watch's own clock (monitor/events/finding_watch.h)
  std::string what;  // "firmware of mlx5_3", "kernel"
  std::string before;
  std::string after;  // empty, as is `before`, if `what` is a complete sentence
  std::vector<std::string> things;
  std::string text() const;  // "firmware of mlx5_3 20.39 → 20.43"
  FIELDS(FactChange, time, age, what, before, after, things);
};

// Returns the facts of a look that are worth comparing. Texts are printable and limited in length.
FactTable compared_facts(const Facts& facts);

// Returns the changes from `known` to `now`, and merges `now` into `known`. Facts that could not be read this
// time keep their known values.
std::vector<FactChange> take_changes(FactTable& known, FactTable now);

}  // namespace railbed
