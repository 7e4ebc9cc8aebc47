// Weighs the hypotheses that could explain a symptom against what was seen, and decides how far that carries.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "diagnose/hypothesis.h"

namespace railbed::diagnose {

enum class Answer { kUnknown, kNo, kYes };

// Whether an observation was made, and where: "train.log:12: max locked memory 65536".
struct Seen {
  Answer answer = Answer::kUnknown;
  std::string evidence = {};
};

// Answers whether the observation with this id was made.
using Ask = std::function<Seen(std::string_view observation)>;

enum class Certainty {
  kCause,    // what it needs was seen, and every rival is refuted
  kLikely,   // nothing refutes it, and something that would confirm it or refute a rival was not seen
  kOneOf,    // several remain, none of them favoured
  kUnknown,  // none remains
};
constexpr auto enum_names(Certainty) {
  return std::array<std::string_view, 4>{"cause", "likely", "one of", "not known"};
}

struct Weighed {
  const Hypothesis* hypothesis = nullptr;
  std::vector<std::string> evidence = {};  // what confirms it; of a refuted one, what refutes it
  std::size_t confirmed = 0;               // number of its needs that were seen
  std::size_t open = 0;                    // number of its needs that are not known
};

struct Diagnosis {
  Certainty certainty = Certainty::kUnknown;
  std::vector<Weighed> remaining = {};  // the best first
  std::vector<Weighed> refuted = {};
};

// Weighs every hypothesis that explains the symptom.
Diagnosis weigh(std::string_view symptom, const Ask& ask);

}  // namespace railbed::diagnose
