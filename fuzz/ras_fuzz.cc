// What answers at RAS's port may be anybody: each answer is read or refused, two are compared, and nothing in them
// reaches a terminal raw.
//
// Rooms: diagnose nccl base
// Seeds: tests/ras/lag-2.26.txt tests/ras/dead-2.28.txt tests/ras/teardown-2.24.txt tests/ras/error-2.27.txt tests/ras/lag-2.29.json tests/ras/stopped-2.29.json tests/ras/stopped-2.28.json
#include <cstdint>
#include <string_view>
#include <utility>

#include "diagnose/ras/ras_answer.h"
#include "diagnose/ras/ras_verdict.h"
#include "fuzz/require.h"

using namespace railbed;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = as_text(data, size);
  auto answer = text.starts_with('{') ? diagnose::read_ras_json(text) : diagnose::read_ras_text(text);
  if (!answer) {
    require_printable(answer.error().text);
    return 0;
  }
  for (const auto& communicator : answer->communicators) {
    require(communicator.size > 0);
    for (const auto& rank : communicator.ranks) require(rank.rank >= 0 && rank.rank < communicator.size);
    for (const auto& count : communicator.counts)
      for (const auto& party : count.parties) require(party.count > 0);
  }
  // The same answer twice, and one from which a communicator went.
  diagnose::RasPair pair{*answer, *answer, 5};
  require_printable(diagnose::to_text(pair, diagnose::judge_ras(pair)));
  if (!pair.first.communicators.empty()) pair.first.communicators.pop_back();
  const auto verdict = diagnose::judge_ras(pair);
  require(!verdict.text.empty());
  require_printable(diagnose::to_text(pair, verdict));
  return 0;
}
