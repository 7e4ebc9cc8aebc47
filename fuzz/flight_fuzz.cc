// Dumps of PyTorch's flight recorder come from anybody who can write a file: each gives a verdict or an error, and
// nothing in them runs.
//
// Rooms: diagnose nccl base
// Seeds: tests/flight/missing tests/flight/operation tests/flight/sound
#include <cstdint>

#include "diagnose/flight/flight_verdict.h"
#include "fuzz/require.h"

using namespace railbed;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes = as_text(data + 1, size - 1);
  (void)diagnose::may_be_flight_dump(bytes.substr(0, 4096));
  auto dump = diagnose::read_flight_dump(bytes, data[0] % 2 == 0 ? "nccl_trace_rank_0" : "rank_1.json");
  if (!dump) {
    require_printable(dump.error().text);
    return 0;
  }
  auto peer = *dump;
  peer.rank = 1 - peer.rank;
  for (auto& group : peer.groups)
    if (!group.calls.empty()) group.calls.resize(group.calls.size() - 1);
  const auto verdict = diagnose::judge_flights({*dump, peer});
  require(!verdict.text.empty());
  require(verdict.hangs != verdict.waits.empty());
  require_printable(diagnose::to_text(verdict));
  return 0;
}
