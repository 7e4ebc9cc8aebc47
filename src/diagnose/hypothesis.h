// The tables of hypotheses: possible causes of symptoms, each with what must be seen for it, what withdraws it
// and what to do about it.
//
// Every hypothesis has two inputs in tests/diagnosed/: one in which it is the verdict, and one with the same
// symptom in which it is withdrawn. law_test.cc refuses one that lacks either. Only a hypothesis that repeats what
// its message states needs none; such a one is alone in explaining its symptom.
#pragma once

#include <array>
#include <string_view>
#include <vector>

namespace railbed::diagnose {

// The frequency with which this is the cause of what it explains, if nothing else is known.
enum class Common { kRare, kOften, kUsual };

struct Hypothesis {
  std::string_view id;
  std::array<std::string_view, 8> explains;  // ids of symptoms
  Common common = Common::kOften;
  bool stated = false;                              // the message itself states it
  std::array<std::string_view, 4> needs = {};       // ids of observations, all of which must hold
  std::array<std::string_view, 8> refuted_by = {};  // ids of observations, any of which withdraws it
  bool echo = false;            // it makes the problem a consequence of another one in the log
  bool decisive = false;        // what it needs excludes every rival
  std::string_view title = {};  // one line; empty: the symptom's
  std::string_view cause;
  std::string_view remedy;
  std::string_view settle_by = {};  // the look that decides whether it holds, if the evidence is missing
  std::string_view source;
};

const std::vector<Hypothesis>& all_hypotheses();

}  // namespace railbed::diagnose
