// Back to back, a ring without a switch, one switch, or leaves and spines: what each is at a number of nodes,
// and which it should be.
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
  int ports = 1;  // of a node
  Fabric fabric = Fabric::kRoce;
  BitRate speed = BitRate::gigabits(100);
  SwitchClass kind = SwitchClass::kCutThrough;
  Nanoseconds latency{850};  // of a message back to back: the V100 guide's
};

struct WiringChoice {
  std::string name;  // "back to back"
  bool possible = false;
  std::string why;  // why not, or what speaks for it and against it
  int cables = 0;
  int switches = 0;
  std::string model;          // of the switches
  BitRate pair;               // that two nodes pass each way, both alone
  BitRate ring;               // that each node passes on in a ring of all
  Nanoseconds latency_low{};  // of a message to the farthest node
  Nanoseconds latency_high{};
  bool any_to_any = false;  // every node reaches every other
  FIELDS(WiringChoice, name, possible, why, cables, switches, model, pair, ring, latency_low, latency_high,
         any_to_any);
};

struct SwitchAdvice {
  std::vector<WiringChoice> choices;
  std::string advised;  // the name of one
  std::string why;
  FIELDS(SwitchAdvice, choices, advised, why);
};
SwitchAdvice advise_switch(const SwitchQuestion& question);

}  // namespace railbed
