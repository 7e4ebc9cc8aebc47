// Measurements in the output formats of tools that people's scripts already read. Only measured values are
// filled in.
//
// The layouts are those of perftest 6 (perftest_parameters.h: RESULT_FMT, REPORT_FMT), iperf3 3.x and
// nccl-tests 2.19.
#pragma once

#include <string>
#include <vector>

#include "results/collective.h"
#include "results/measurement.h"

namespace railbed {

// Returns the tables of ib_write_bw and ib_write_lat; bandwidth in 10^9 bits (as with --report_gbits). The
// number of iterations is computed from bytes and time: engines here run for a time, not for a count.
std::string perftest_text(const std::vector<Measurement>& measurements);

// Returns the output of an `iperf3` client: intervals of one second and the summary, all streams as [SUM].
std::string iperf3_text(const std::vector<Measurement>& measurements);

// Returns the output of `iperf3 --json`: one document for each bandwidth measurement, an "error" for each
// failed one, and a JSON array unless there is exactly one.
std::string iperf3_json(const std::vector<Measurement>& measurements);

// Returns the output of all_reduce_perf and its sisters. The report has times in place; a size without them
// has N/A in those columns.
std::string nccl_tests_text(const CollectiveReport& report);

}  // namespace railbed
