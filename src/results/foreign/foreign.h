// Reads what other measuring tools print as a run: perftest, nccl-tests, iperf3, sockperf and fio. The texts
// are untrusted: sizes are limited, every string is cleaned, and no number is taken whose unit is not known.
//
// These tools do not name the nodes. The ends of a measurement between two machines are "client" and
// "server", the side that sends first. So two such files can be compared with each other, and a measurement
// of railbed's own is never taken for one of them.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "results/run.h"

namespace railbed {

enum class ForeignTool { kPerftest, kNcclTests, kIperf, kSockperf, kFio };
constexpr auto enum_names(ForeignTool) {
  return std::array<std::string_view, 5>{"perftest", "nccl-tests", "iperf3", "sockperf", "fio"};
}
constexpr std::string_view to_text(ForeignTool tool) {
  return enum_names(tool)[static_cast<std::size_t>(tool)];
}

struct ForeignRun {
  // The run has no id, label or time. `asked` holds the tool under "tool", and the options in its output;
  // `command` is the tool's name. A number that is missing in the output keeps its default.
  BenchRun run;
  std::vector<std::string> left_out;  // parts that were skipped, each with the reason
};

// Lists what parse_foreign() accepts, for an error message.
inline constexpr std::string_view kForeignKinds =
    "perftest (ib_write_bw, ib_read_lat, …: text or --out_json), nccl-tests (table or JSON), iperf3 (text or "
    "-J), sockperf (ping-pong, under-load), fio (--output-format=json)";

// Returns the tool that printed `text`, by its content; nullopt if it is none of them. A text of several
// tools is of the first in the order of ForeignTool.
std::optional<ForeignTool> find_foreign_tool(std::string_view text);

// Parses the output of one of the tools. Fails if the text is of no known tool, is larger than 16 MiB, or has
// no number that can be read; then the error has the reasons.
Result<ForeignRun> parse_foreign(std::string_view text);

}  // namespace railbed
