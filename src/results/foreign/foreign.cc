#include "results/foreign/foreign.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/bounded.h"
#include "base/text.h"
#include "results/foreign/tools.h"

namespace railbed {
namespace foreign {
namespace {

constexpr std::size_t kMostLeftOut = 32;
constexpr std::size_t kLongestText = 128;
constexpr double kMostSane = 1e18;

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// Properties of a text that recognize its tool, found in one pass over its lines.
struct Marks {
  bool perftest = false;
  bool nccl_tests = false;
  bool iperf = false;
  bool sockperf = false;

  void look_at(std::string_view line) {
    if (line.starts_with("#bytes") &&
        (has(line, "BW average[") || has(line, "t_typical[") || has(line, "t_avg[")))
      perftest = true;
    if (has(line, "test_info") && (line.starts_with("\"test_info\"") || line.starts_with("test_info")))
      perftest = true;
    if (has(line, "#") && has(line, "algbw") && has(line, "busbw") && has(line, "size")) nccl_tests = true;
    if (line.starts_with("[ ID]") && has(line, "Interval")) iperf = true;
    if (has(line, "Summary: Latency ") || has(line, "Summary: Round trip ") ||
        has(line, "Summary: Message Rate is "))
      sockperf = true;
  }
};

}  // namespace

std::string short_text(std::string_view text) {
  return printable(cut_to(printable(text.substr(0, 4 * kLongestText)), kLongestText));
}

std::string without_colors(std::string_view line) {
  std::string plain;
  for (std::size_t at = 0; at < line.size(); ++at) {
    if (line[at] != '\x1b') {
      plain += line[at];
      continue;
    }
    if (at + 1 < line.size() && line[at + 1] == '[') ++at;
    while (at + 1 < line.size() && line[at + 1] >= ' ' && line[at + 1] < '@') ++at;
    ++at;  // the final byte
  }
  return plain;
}

std::string_view json_part(std::string_view text) {
  std::size_t first = 0;
  if (!trim(text).starts_with('{')) {
    first = text.find("\n{");
    if (first == std::string_view::npos) return {};
  }
  const std::size_t last = text.rfind('}');
  return last == std::string_view::npos || last < first ? std::string_view()
                                                        : text.substr(first, last + 1 - first);
}

ForeignRun run_of(ForeignTool tool) {
  ForeignRun read;
  read.run.command = to_text(tool);
  read.run.asked["tool"] = to_text(tool);
  return read;
}

void add_asked(ForeignRun& read, const std::string& option, std::string_view value) {
  const std::string text = short_text(value);
  if (text.empty()) return;
  std::string& kept = read.run.asked[option];
  if (kept == text || has(kept, text + ",") || kept.ends_with(", " + text)) return;
  if (kept.size() < kLongestText) kept += kept.empty() ? text : ", " + text;
}

void leave_out(ForeignRun& read, std::string_view what) {
  std::string text = printable(cut_to(what, 3 * kLongestText));
  if (read.left_out.size() > kMostLeftOut || std::ranges::find(read.left_out, text) != read.left_out.end())
    return;
  read.left_out.push_back(read.left_out.size() < kMostLeftOut ? std::move(text) : "and more");
}

void add_measurement(ForeignRun& read, Measurement measurement) {
  if (read.run.measurements.size() < kMostMeasurements)
    read.run.measurements.push_back(std::move(measurement));
  else
    leave_out(read, fmt::format("all after the first {} numbers", kMostMeasurements));
}

bool is_sane(double value) { return std::isfinite(value) && value > 0 && value < kMostSane; }

const json::Value* member_in(const json::Value* object, std::string_view key) {
  if (object == nullptr || !object->is_object()) return nullptr;
  const auto found = object->find(std::string(key));
  return found == object->end() ? nullptr : &*found;
}

std::optional<double> number_in(const json::Value* object, std::string_view key) {
  const json::Value* const value = member_in(object, key);
  if (value == nullptr || !value->is_number()) return std::nullopt;
  const double number = value->get<double>();
  return std::isfinite(number) ? std::optional(number) : std::nullopt;
}

std::optional<std::uint64_t> count_in(const json::Value* object, std::string_view key) {
  const auto number = number_in(object, key);
  if (!number || *number < 0 || *number >= kMostSane || *number != std::floor(*number)) return std::nullopt;
  return static_cast<std::uint64_t>(*number);
}

std::string text_in(const json::Value* object, std::string_view key) {
  const json::Value* const value = member_in(object, key);
  return value != nullptr && value->is_string() ? short_text(value->get_ref<const std::string&>()) : "";
}

}  // namespace foreign

namespace {

std::vector<ForeignTool> tools_in(std::string_view text) {
  foreign::Marks marks;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    marks.look_at(trim(rest.substr(0, end)));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  const auto has = [&](std::string_view part) { return text.find(part) != std::string_view::npos; };
  std::vector<ForeignTool> tools;
  if (marks.perftest || has("{\"test_info\"")) tools.push_back(ForeignTool::kPerftest);
  if (marks.nccl_tests || (has("\"alg_bw\"") && has("\"bus_bw\""))) tools.push_back(ForeignTool::kNcclTests);
  if (marks.iperf || has("\"test_start\"") || has("\"sum_received\"") || has("\"sum_sent\""))
    tools.push_back(ForeignTool::kIperf);
  if (marks.sockperf) tools.push_back(ForeignTool::kSockperf);
  if (has("\"fio version\"")) tools.push_back(ForeignTool::kFio);
  return tools;
}

Result<ForeignRun> parse_of(ForeignTool tool, std::string_view text) {
  switch (tool) {
    case ForeignTool::kPerftest:
      return foreign::parse_perftest(text);
    case ForeignTool::kNcclTests:
      return foreign::parse_nccl_tests(text);
    case ForeignTool::kIperf:
      return foreign::parse_iperf(text);
    case ForeignTool::kSockperf:
      return foreign::parse_sockperf(text);
    case ForeignTool::kFio:
      return foreign::parse_fio_report(text);
  }
  return fail(ErrorKind::kInternal, "no such tool");
}

}  // namespace

std::optional<ForeignTool> find_foreign_tool(std::string_view text) {
  const auto tools = tools_in(text.substr(0, foreign::kMostBytes));
  return tools.empty() ? std::nullopt : std::optional(tools.front());
}

Result<ForeignRun> parse_foreign(std::string_view text) {
  if (text.size() > foreign::kMostBytes)
    return fail(ErrorKind::kBadInput, "output of another tool that is larger than 16 MiB");
  const auto tools = tools_in(text);
  if (tools.empty())
    return fail(ErrorKind::kBadInput, fmt::format("output of no known tool: {}", kForeignKinds));
  ASSIGN_OR_RETURN(ForeignRun read, parse_of(tools.front(), text));
  for (std::size_t i = 1; i < tools.size(); ++i)
    foreign::leave_out(read,
                       fmt::format("the output of {}: it is read from a file of its own", to_text(tools[i])));
  if (read.run.measurements.empty())
    return fail(ErrorKind::kBadInput,
                fmt::format("output of {} without a number that can be read{}{}", to_text(tools.front()),
                            read.left_out.empty() ? "" : ": ", fmt::join(read.left_out, "; ")));
  return read;
}

}  // namespace railbed
