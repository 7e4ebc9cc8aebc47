// Parses `ethtool --show-fec IF`, with -I or --json and without, into the answer of the host call "fec IF". Versions differ:
//
//   FEC parameters for eth0:
//   Supported/Configured FEC encodings: Auto RS   older ones: "Configured FEC encodings:"
//   Active FEC encoding: RS
//   Statistics:                                   with -I, from ethtool 5.13 on
//     corrected_blocks: 256
//       Lane 0: 255
//       Lane 1: 1
//
// Histograms of errors, which Linux 6.18 has, are skipped.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/json.h"
#include "base/text.h"
#include "host/device_calls.h"
#include "host/support/texts.h"

namespace railbed {
namespace {

constexpr std::string_view kFecHead = "FEC parameters for ";
constexpr std::size_t kMostSentFec = 256;  // interfaces in one text

// One interface with the field names of `ethtool --json --show-fec`.
struct SentCounter {
  std::uint64_t total = 0;
  std::vector<std::uint64_t> lanes = {};
  FIELDS(SentCounter, total, lanes);
};
struct SentStatistics {
  std::optional<SentCounter> corrected_blocks = {};
  std::optional<SentCounter> uncorrectable_blocks = {};
  std::optional<SentCounter> corrected_bits = {};
  FIELDS(SentStatistics, corrected_blocks, uncorrectable_blocks, corrected_bits);
};
struct SentFec {
  std::string ifname;
  std::vector<std::string> config = {};
  std::vector<std::string> active = {};
  SentStatistics statistics = {};
  FIELDS(SentFec, ifname, config, active, statistics);
};

FecMode fec_mode_of(std::string_view name) {
  const auto names = enum_names(FecMode());
  for (std::size_t i = 0; i < names.size(); ++i)
    if (lower(name) == lower(names[i])) return static_cast<FecMode>(i);
  return FecMode::kOther;
}

std::optional<FecCounter> sent_counter(const std::optional<SentCounter>& sent) {
  if (!sent) return std::nullopt;
  FecCounter counter{sent->total, sent->lanes};
  counter.lanes.resize(std::min(counter.lanes.size(), kMostFecLanes));
  return counter;
}

FecState fec_state_of(const SentFec& sent) {
  FecState fec{.corrected_blocks = sent_counter(sent.statistics.corrected_blocks),
               .uncorrectable_blocks = sent_counter(sent.statistics.uncorrectable_blocks),
               .corrected_bits = sent_counter(sent.statistics.corrected_bits)};
  for (const std::string& name : sent.config) fec.configured.push_back(fec_mode_of(name));
  // "None" there is no mode that a port may use: the driver states none.
  std::erase(fec.configured, FecMode::kNone);
  std::ranges::sort(fec.configured);
  fec.configured.erase(std::unique(fec.configured.begin(), fec.configured.end()), fec.configured.end());
  if (!sent.active.empty())
    fec.active = sent.active.size() == 1 ? fec_mode_of(sent.active.front()) : FecMode::kOther;
  return fec;
}

std::vector<std::string> fec_words(std::string_view text) {
  std::vector<std::string> names;
  for (const auto word : words(text)) names.emplace_back(word);
  return names;
}

// Reads "256", or "445 [ per_lane:  125, 120 ]" as proposed for ethtool.
std::optional<std::uint64_t> fec_total_in(std::string_view value) {
  return parse_number<std::uint64_t>(value.substr(0, value.find(' ')));
}

// Reads the lines of the text form; each head begins an interface.
std::vector<SentFec> fec_interfaces_in(std::string_view text) {
  std::vector<SentFec> found;
  std::optional<SentCounter>* counter = nullptr;  // the one that lanes belong to
  for (const auto line : lines(text)) {
    if (line.starts_with(kFecHead) && line.ends_with(':')) {
      if (found.size() == kMostSentFec) break;
      found.push_back(
          {.ifname = std::string(line.substr(kFecHead.size(), line.size() - kFecHead.size() - 1))});
      counter = nullptr;
      continue;
    }
    const auto pair = key_value(line, ':');
    if (!pair || found.empty()) continue;
    const auto& [key, value] = *pair;
    SentFec& fec = found.back();
    if (key.ends_with("onfigured FEC encodings")) fec.config = fec_words(value);
    if (key == "Active FEC encoding" || key == "Active FEC encodings") fec.active = fec_words(value);
    if (key.starts_with("Lane ")) {
      const auto lane = fec_total_in(value);
      if (counter != nullptr && *counter && lane && (*counter)->lanes.size() < kMostFecLanes)
        (*counter)->lanes.push_back(*lane);
      continue;
    }
    SentStatistics& all = fec.statistics;
    counter = key == "corrected_blocks"       ? &all.corrected_blocks
              : key == "uncorrectable_blocks" ? &all.uncorrectable_blocks
              : key == "corrected_bits"       ? &all.corrected_bits
                                              : nullptr;
    if (const auto total = fec_total_in(value); counter != nullptr && total) *counter = SentCounter{*total};
  }
  return found;
}

}  // namespace

bool is_fec_text(std::string_view text) {
  const std::string_view head = text.substr(0, 4096);
  return head.starts_with(kFecHead) ||
         (head.starts_with('[') && head.find("\"ifname\"") != head.npos &&
          head.find("\"active\"") != head.npos && head.find("\"config\"") != head.npos);
}

void add_ethtool_fec(std::string_view text, ReportTree& report) {
  std::vector<SentFec> found;
  if (text.starts_with('[')) {
    if (auto sent = json::read<std::vector<SentFec>>(text); sent && sent->size() <= kMostSentFec)
      found = std::move(*sent);
  } else {
    found = fec_interfaces_in(text);
  }
  for (const SentFec& fec : found) {
    if (!is_plain_word(fec.ifname, 15) || fec.ifname.find('/') != fec.ifname.npos) continue;
    if (report.has("/sys/class/net/" + fec.ifname))
      report.call("fec " + fec.ifname, json::dump(json::encode(fec_state_of(fec))));
    else
      report.leave_out(fmt::format(
          "`ethtool --show-fec {}`: nothing here lists this interface; add the machine's output of ip -d address",
          fec.ifname));
  }
}

}  // namespace railbed
