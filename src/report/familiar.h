// Measurements in the words of the tools that people's scripts already read. Only what was measured is filled
// in.
//
// Layouts as perftest 6 (perftest_parameters.h: RESULT_FMT, REPORT_FMT), iperf3 3.x and nccl-tests 2.19 print
// them.
#pragma once

#include <string>
#include <vector>

#include "results/collective.h"
#include "results/measurement.h"

namespace railbed {

// ib_write_bw's and ib_write_lat's tables; bandwidth in 10^9 bits (as with --report_gbits). The number of
// iterations follows from bytes and time: engines here run for a time, not for a count.
std::string perftest_text(const std::vector<Measurement>& measurements);

// What `iperf3` prints for a client: intervals of one second and the summary, all streams as [SUM].
std::string iperf3_text(const std::vector<Measurement>& measurements);

// What `iperf3 --json` prints, one bandwidth measurement a document; more than one make a JSON array.
std::string iperf3_json(const std::vector<Measurement>& measurements);

// What all_reduce_perf and its sisters print. The report has times in place; a size without them leaves those
// columns N/A.
std::string nccl_tests_text(const CollectiveReport& report);

}  // namespace railbed
