// The kernel's log has users' words in it: any line is parsed or left alone, and what is kept is bounded.
//
// Rooms: facts host nvidia os base
// Seeds: tests/machines
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/text.h"
#include "facts/log/kernel_log.h"
#include "host/kernel_log.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  railbed::KernelLogFold fold(0);
  for (const auto line : railbed::lines(bytes)) {
    const auto found = railbed::parse_log_line(line);
    if (found && (found->text.size() > 400 || found->subject.size() > line.size() + 16)) std::abort();
    if (const auto record = railbed::parse_kmsg(line)) fold.add(record->uptime, record->text);
    fold.add(1, line);
  }
  for (const auto& message : railbed::parse_journal_messages(bytes)) fold.add(message.when, message.text);
  railbed::KernelLogAnswer answer;
  fold.finish(answer);
  if (answer.lines.size() > 2000) std::abort();
  for (const auto& line : answer.lines)
    if (line.text.size() > 400 || line.count == 0 || line.first > line.last) std::abort();
  return 0;
}
