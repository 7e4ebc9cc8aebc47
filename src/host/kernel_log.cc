#include "host/kernel_log.h"

#include <algorithm>
#include <map>

#include "base/phrases.h"
#include "base/text.h"

namespace railbed {
namespace {

// Cheap to find, and precise enough that a capture holds almost nothing else. facts/log/kernel_log_test.cc checks
// every event against this list.
constexpr std::string_view kWorth[] = {
    // NVIDIA
    "NVRM: Xid", "SXid (PCI", "fallen off the bus", "RmInitAdapter failed", "rm_init_adapter failed",
    "NVIDIA probe routine", "API mismatch", "is already bound to", "No NVIDIA devices probed",
    "No NVIDIA graphics adapter probed", "No NVIDIA GPU found", "NVRM: BAR", "NVIDIA open kernel modules",
    "NVRM: The NVIDIA GPU", "in this system is not supported by", "supported through the NVIDIA",
    "firmware load for nvidia/", "failed to load nvidia/", "NVRM: loading NVIDIA UNIX",
    "module license 'NVIDIA'", "NVRM: confComputeSetErrorState", "error detected in GSP-DMA",
    "FSP boot cmds failed", "FSP command timed out",
    // confidential virtual machines
    "tdx: Guest detected", "Memory Encryption Features active:",
    // modules
    "version magic '", "disagrees about version of symbol", "Unknown symbol", "oading of unsigned module",
    "oading of module with", "unsigned module loading is restricted", "module verification failed",
    // network adapters
    "one failed with error code", "_function_", "_core: probe of", "probe with driver mlx",
    "reached miss count", "unrecoverable hardware error", "leak of a command resource",
    "Internal error detected", "insufficient power on the PCIe slot", "igh temperature", "High Temperature",
    "Port module event", "transmit queue", "Link is Down", "Link is down", "Link Down", "Link down",
    "Link is Up", "Link is up", "Link Up", "Link up", "link down", "link up",
    // PCI Express
    "PCIe Bus Error: severity=", "available PCIe bandwidth, limited by", "DMAR: [", "IO_PAGE_FAULT",
    // processes and the kernel itself
    "Killed process", "blocked for more than", "blocked in I/O wait", "soft lockup", "hard LOCKUP",
    "detected stall", "detected expedited stalls", "self-detected stall", "BUG: unable to handle",
    "BUG: kernel NULL pointer", "Unable to handle kernel", "kernel BUG at", "general protection fault",
    "Oops:",
    // hardware
    "Machine Check", "Machine check events logged", "[Hardware Error]: event severity:", "EDAC MC",
    "clock throttled", "clock is throttled",
    // storage
    "I/O error, dev ", "EXT4-fs error", "emounting filesystem read-only", "Filesystem has been shut down",
    "etadata corruption detected", "critical medium error", "timeout, aborting", "timeout, reset controller",
    "controller is down; will reset", "faulty power saving mode", "default_ps_max_latency_us",
    "aborting reset, CSTS", "Removing after probe failure", "Disabling device after reset failure",
    "Buffer I/O error on dev", "no available path - failing I/O", "Disk failure on", "Failing path",
    "nfs: server "};

constexpr std::size_t kMaxText = 400;
constexpr std::size_t kAlike = 96;  // covers address and code in every line above, not its numbers
constexpr std::size_t kMaxLines = 2000;
constexpr std::size_t kMaxOfMark = 200;
constexpr std::size_t kMaxTaskName = 15;

// Returns the mark for which a line is kept; null if it is not kept.
const std::string_view* mark_of(std::string_view text) {
  static const Phrases marks(kWorth);
  const std::string_view* mark = nullptr;  // the first in kWorth of those in the text
  marks.visit(text, [&](std::size_t index) {
    if (mark == nullptr || &kWorth[index] < mark) mark = &kWorth[index];
  });
  return mark == nullptr || begins_with_a_task(text) ? nullptr : mark;
}

// Matches a task's number in the kernel's forms: "[7]", "(7)", " (7)", "/7:".
bool begins_with_number(std::string_view text) {
  if (text.starts_with(" (")) text.remove_prefix(1);
  const std::string_view ends = text.starts_with('[') ? "]" : text.starts_with('(') ? ")" : ":";
  if (ends == ":" && !text.starts_with('/')) return false;
  text.remove_prefix(1);
  const auto digits = std::ranges::find_if_not(text, is_digit) - text.begin();
  return digits > 0 && text.substr(static_cast<std::size_t>(digits)).starts_with(ends);
}

// Removes the text up to the next comma, and the comma, and returns it as a number.
std::optional<std::uint64_t> take_number(std::string_view& head) {
  const auto comma = std::min(head.find(','), head.size());
  const auto number = parse_number<std::uint64_t>(head.substr(0, comma));
  head.remove_prefix(std::min(comma + 1, head.size()));
  return number;
}

}  // namespace

bool worth_keeping(std::string_view text) { return mark_of(text) != nullptr; }

bool begins_with_a_task(std::string_view text) {
  for (std::size_t bytes = 0; bytes <= kMaxTaskName && !text.empty(); ++bytes) {
    if (begins_with_number(text) || text.starts_with(" invoked oom-killer")) return true;
    // /dev/kmsg writes an unprintable byte as "\x1b".
    text.remove_prefix(text.starts_with("\\x") ? std::min<std::size_t>(4, text.size()) : 1);
  }
  return false;
}

void KernelLogFold::add(double when, std::string_view text) {
  const std::string_view* const mark = when < since_ ? nullptr : mark_of(text);
  if (mark == nullptr) return;
  std::string kept = printable(text.substr(0, kMaxText), " ");
  const std::string_view begins = std::string_view(kept).substr(0, kAlike);
  if (const auto known = known_.find(begins); known != known_.end()) {
    KernelLogLine& line = lines_[known->second];
    line.last = std::max(line.last, when);
    ++line.count;
    line.text = std::move(kept);
    return;
  }
  if (lines_.size() >= kMaxLines || ++of_mark_[*mark] > kMaxOfMark) {
    ++dropped_;
    return;
  }
  known_.emplace(begins, lines_.size());
  lines_.push_back({when, when, 1, std::move(kept)});
}

void KernelLogFold::finish(KernelLogAnswer& answer) {
  answer.dropped = dropped_;
  answer.lines = std::move(lines_);
}

std::optional<KmsgRecord> parse_kmsg(std::string_view record) {
  const auto semicolon = record.find(';');
  if (semicolon == record.npos) return std::nullopt;
  std::string_view head = record.substr(0, semicolon);
  const auto priority = take_number(head);
  const auto sequence = take_number(head);
  const auto microseconds = take_number(head);
  if (!priority || !sequence || !microseconds) return std::nullopt;
  const auto text = record.substr(semicolon + 1);
  return KmsgRecord{*sequence, static_cast<double>(*microseconds) / 1e6, *priority >> 3 == 0,
                    text.substr(0, text.find('\n'))};
}

std::optional<JournalLine> parse_journal(std::string_view line) {
  constexpr std::string_view kKernel = "kernel: ";
  const auto stamp = line.find(' ');
  if (stamp == line.npos) return std::nullopt;
  const auto host = line.find(' ', stamp + 1);
  if (host == line.npos || !line.substr(host + 1).starts_with(kKernel)) return std::nullopt;
  const auto when = parse_real(line.substr(0, stamp));
  if (!when || !(*when > 0)) return std::nullopt;
  return JournalLine{*when, line.substr(host + 1 + kKernel.size())};
}

std::vector<JournalMessage> parse_journal_messages(std::string_view output) {
  std::vector<JournalMessage> messages;
  bool ours = false;
  for (const auto text : lines(output)) {
    if (text.starts_with(' ')) {
      if (ours) messages.back().text += "\\x0a" + std::string(trim(text));
      continue;
    }
    const auto line = parse_journal(text);
    ours = line.has_value();
    if (line) messages.push_back({line->when, std::string(line->text)});
  }
  return messages;
}

}  // namespace railbed
