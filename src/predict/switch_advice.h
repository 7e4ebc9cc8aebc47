// Compares wirings for a number of nodes: back to back, a ring or a mesh without a switch, one switch, or leaves
// and spines; and recommends one.
#pragma once

#include <string>
#include <vector>

#include "base/fields.h"
#include "base/units.h"
#include "inventory/cluster.h"
#include "predict/switch_class.h"

namespace railbed {

struct SwitchQuestion {
  int nodes = 2;
  int ports = 1;  // per node
  Fabric fabric = Fabric::kRoce;
  BitRate speed = BitRate::gigabits(100);
  SwitchClass kind = SwitchClass::kCutThrough;
  Nanoseconds latency{850};  // of a message back to back; the value of the V100 guide
};

struct WiringChoice {
  std::string name;  // "back to back"
  bool possible = false;
  std::string why;  // why it is impossible, or its advantages and disadvantages
  int cables = 0;
  int switches = 0;
  std::string model;          // model of the switches
  BitRate pair;               // rate between two nodes, each way, when no others send
  BitRate ring;               // rate that each node passes on in a ring of all nodes
  Nanoseconds latency_low{};  // of a message to the farthest node
  Nanoseconds latency_high{};
  bool any_to_any = false;         // every node reaches every other
  std::vector<std::string> needs;  // what has to be set or to run for this wiring
  FIELDS(WiringChoice, name, possible, why, cables, switches, model, pair, ring, latency_low, latency_high,
         any_to_any, needs);
};

struct SwitchAdvice {
  std::vector<WiringChoice> choices;
  std::string advised;  // the name of the recommended choice; empty if none is possible
  std::string why;
  FIELDS(SwitchAdvice, choices, advised, why);
};
SwitchAdvice advise_switch(const SwitchQuestion& question);

}  // namespace railbed
