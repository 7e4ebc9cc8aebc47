// A NCCL log is whatever a person pastes: any bytes give an answer, the same however they arrive.
//
// Rooms: diagnose nccl base
// Seeds: tests/nccl
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/json.h"
#include "diagnose/log/job_log.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t piece = std::size_t{data[0]} + 1;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  railbed::diagnose::LogReader reader;
  for (std::size_t at = 0; at < bytes.size(); at += piece) reader.feed(bytes.substr(at, piece));
  const auto log = reader.finish();
  const auto whole = railbed::diagnose::read_log(bytes);
  if (railbed::json::encode(log) != railbed::json::encode(whole)) std::abort();
  if (log.verdict.text.empty() || railbed::diagnose::to_text(log).empty()) std::abort();
  return 0;
}
