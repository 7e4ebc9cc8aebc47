// Compares the flight recorders of a job's ranks: which collective hangs, which ranks wait in it, and which rank did not
// call it, called something else, or left no dump.
#pragma once

#include <string>
#include <vector>

#include "base/fields.h"
#include "diagnose/flight/flight_dump.h"
#include "diagnose/weigh.h"

namespace railbed::diagnose {

// Ranks that made the same call with the same arguments.
struct FlightParty {
  std::vector<int> ranks = {};
  std::string call = {};   // "all_reduce of [1024] (Float)"
  std::string where = {};  // the user's line; empty without a stack
  FIELDS(FlightParty, ranks, call, where);
};

// A collective that at least one rank has called and not completed.
struct FlightWait {
  std::string group = {};        // its name
  std::string description = {};  // "default_pg"
  std::int64_t number = 0;
  std::vector<FlightParty> waiting = {};  // more than one: they disagree
  std::vector<int> behind = {};           // have not called it
  std::vector<FlightParty> last =
      {};                           // the last call of those in this group, and what they wait in elsewhere
  std::vector<int> passed = {};     // have completed it
  std::vector<int> not_begun = {};  // have called it, but their GPU has not begun while that of others has
  std::vector<int> no_dump = {};    // belong to the group, and no dump of theirs was given
  // Called it later than the first by more than the time after which that one gave it up.
  std::vector<int> late = {};
  double late_by = 0;  // seconds, of the latest
  double limit = 0;    // seconds, of the first
  bool point_to_point = false;
  FIELDS(FlightWait, group, description, number, waiting, behind, last, passed, not_begun, no_dump, late,
         late_by, limit, point_to_point);
};

struct FlightVerdict {
  std::string text = {};         // one line
  std::vector<std::string> why;  // the evidence in the dumps
  std::string remedy;            // empty if nothing hangs
  bool hangs = false;
  // kCause: the dumps show what the others wait for. kUnknown: all ranks are in the call, so its cause is elsewhere.
  Certainty certainty = Certainty::kUnknown;
  std::vector<FlightWait> waits;   // the one that the others follow from comes first
  std::vector<std::string> notes;  // what limits the answer: ranks without a dump, files without a rank
  FIELDS(FlightVerdict, text, why, remedy, hangs, certainty, waits, notes);
};

FlightVerdict judge_flights(const std::vector<FlightDump>& dumps);

// Returns a text for people whose first line is the verdict.
std::string to_text(const FlightVerdict& verdict);

}  // namespace railbed::diagnose
