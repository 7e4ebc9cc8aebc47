// A node answers what it likes, through the real fleet: its process, frames, sessions, facts, clock, rules
// and report. Whatever it says, the campaign ends, the node has facts or a reason, and nothing said of it
// moves a terminal. What the input means to the node stands in fleet_node.cc.
//
// Rooms: campaign fleet report verify
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <fstream>

#include "campaign/survey.h"
#include "facts/facts.h"
#include "fuzz/require.h"
#include "report/report.h"
#include "verify/verify.h"

using namespace railbed;

namespace {

// A file of this process's own, which the node finds by the environment.
const std::string& input_file() {
  static const std::string path = [] {
    std::array<char, 32> name{"/tmp/railbed-fleet-fuzz-XXXXXX"};
    const int fd = mkstemp(name.data());
    require(fd >= 0);
    close(fd);
    setenv("RAILBED_FUZZ_INPUT", name.data(), 1);
    std::atexit([] { unlink(std::getenv("RAILBED_FUZZ_INPUT")); });
    return std::string(name.data());
  }();
  return path;
}

fleet::FleetOptions options() {
  fleet::FleetOptions options;
  options.binary = FLEET_FUZZ_NODE;
  // One that says nothing is of no interest for longer; without time, no second attempt is made.
  options.start_deadline = std::chrono::milliseconds(300);
  return options;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::ofstream(input_file(), std::ios::binary) << as_text(data, size);
  fleet::Fleet fleet({{"node", "", true}}, options());
  Caller caller;
  caller.note = caller.progress = require_printable;
  Surveyed surveyed = survey_nodes(fleet, caller);
  require(surveyed.facts.size() + surveyed.unreachable.size() == 1);
  for (const Unreachable& unreachable : surveyed.unreachable) require_printable(unreachable.error.text);
  Evidence evidence;
  evidence.nodes = std::move(surveyed.facts);
  evidence.unreachable = std::move(surveyed.unreachable);
  evidence.clocks = std::move(surveyed.clocks);
  Report report;
  report.verdict = verify(evidence);
  report.facts = std::move(evidence.nodes);
  report.unreachable = std::move(evidence.unreachable);
  require_printable(render_text(report, {false, 80, true}));
  require(!render_html(report).empty());
  return 0;
}
