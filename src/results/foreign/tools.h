// The parsers of the tools, one file for each, and what they share. Each parser fails only if the text as a
// whole cannot be read; a part that cannot be read is named in `left_out`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "results/foreign/foreign.h"

namespace railbed::foreign {

Result<ForeignRun> parse_perftest(std::string_view text);
Result<ForeignRun> parse_nccl_tests(std::string_view text);
Result<ForeignRun> parse_iperf(std::string_view text);
Result<ForeignRun> parse_sockperf(std::string_view text);
Result<ForeignRun> parse_fio_report(std::string_view text);

inline constexpr std::size_t kMostBytes = 16 << 20;
inline constexpr std::size_t kMostMeasurements = 10'000;

inline constexpr double kMicrosecond = 1e3;          // in nanoseconds
inline constexpr double kMebibyteRate = 0x1p20 * 8;  // 1 MiB/s in bits per second
inline constexpr double kKibibyteRate = 0x1p10 * 8;
inline constexpr double kGigabyteRate = 8e9;

inline constexpr std::string_view kClient = "client";
inline constexpr std::string_view kServer = "server";

// Returns `text` as one line that is safe to show, of at most 128 bytes.
std::string short_text(std::string_view text);
// Returns a line without the colors that tools print on a terminal (ECMA-48, 5.4: control sequences).
std::string without_colors(std::string_view line);
// Returns the text from the first line that begins with "{" to the last "}". Shells, MPI and fio itself print
// notes around a document. Empty if there is none.
std::string_view json_part(std::string_view text);

// Returns the run of a tool, without measurements.
ForeignRun run_of(ForeignTool tool);
// Records an option that can change a number. If tests in one file differ in it, all values are kept.
void add_asked(ForeignRun& read, const std::string& option, std::string_view value);
// Records a part that is skipped, with the reason. Equal texts are recorded once, and at most 32.
void leave_out(ForeignRun& read, std::string_view what);
// Adds a measurement; beyond kMostMeasurements it is left out.
void add_measurement(ForeignRun& read, Measurement measurement);

// Returns whether a rate in bits per second or a time in nanoseconds can be real: positive and below 10^18.
bool is_sane(double value);

// Access to an untrusted document: null or nullopt if `object` is null or no object, has no such member, or
// the member has another type.
const json::Value* member_in(const json::Value* object, std::string_view key);
std::optional<double> number_in(const json::Value* object, std::string_view key);
std::optional<std::uint64_t> count_in(const json::Value* object, std::string_view key);
std::string text_in(const json::Value* object, std::string_view key);  // short_text(), or empty

}  // namespace railbed::foreign
