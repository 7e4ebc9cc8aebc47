// Compares two answers of NCCL's RAS service, given a few seconds apart: which rank keeps the others waiting, which process
// no longer answers, which rank reports an error. A running job is never in lockstep, so ranks that differ in one answer
// mean nothing: a rank lags only if it launched nothing between the answers although others were ahead of it in both.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/fields.h"
#include "diagnose/ras/ras_answer.h"
#include "diagnose/weigh.h"
#include "nccl/severity.h"

namespace railbed::diagnose {

// Two answers about the same job.
struct RasPair {
  RasAnswer first = {};
  RasAnswer second = {};
  double seconds = 0;  // between them
  FIELDS(RasPair, first, second, seconds);
};

struct RasCall {
  std::string function = {};
  std::uint64_t number = 0;  // from 1
  FIELDS(RasCall, function, number);
  bool operator==(const RasCall&) const = default;
};

// Ranks of a communicator that have not launched what others have.
struct RasLag {
  std::string communicator = {};
  int size = 0;
  std::vector<RasCall> calls = {};   // the first of each kind that they have not launched
  std::vector<RasRank> behind = {};  // empty if RAS does not name them
  int behind_count = 0;
  std::vector<RasRank> waiting = {};  // have launched it; empty if RAS does not name them
  int waiting_count = 0;
  bool others_go_on = false;  // some of those launched more meanwhile: their launches do not wait for the GPU
  bool follows = false;       // each of those behind waits in another communicator
  FIELDS(RasLag, communicator, size, calls, behind, behind_count, waiting, waiting_count, others_go_on,
         follows);
};

struct RasVerdict {
  std::string text = {};                      // one sentence
  std::vector<std::string> why = {};          // what in the answers shows it
  std::string remedy = {};                    // empty if nothing is wrong
  std::vector<std::string> notes = {};        // what limits the answer
  std::vector<RasLag> lags = {};              // the one that the others follow from comes first
  std::vector<RasProcess> silent = {};        // dead, or unresponsive in both answers
  Certainty certainty = Certainty::kUnknown;  // kCause: the answers show what the others wait for
  nccl::Severity severity = nccl::Severity::kNote;
  FIELDS(RasVerdict, text, why, remedy, notes, lags, silent, certainty, severity);
};

RasVerdict judge_ras(const RasPair& pair);

// Returns a text for people whose first line is the verdict: then what shows it, and a table of communicators.
std::string to_text(const RasPair& pair, const RasVerdict& verdict);

}  // namespace railbed::diagnose
