// A dump is what a person names, and datagrams are what any node of a subnet sends: any bytes give an answer
// or a complaint, within the caps. A dump that is read is read again as it is written.
//
// Rooms: fabric verify host nvidia os base
// Seeds: fuzz/corpus/fabric
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

#include "fabric/counter_list.h"
#include "fabric/discover.h"
#include "fabric/fabric_file.h"
#include "fabric/judge.h"
#include "fabric/mad.h"
#include "fabric/named_text.h"
#include "fabric/port_report.h"
#include "fabric/topology_file.h"
#include "fuzz/require.h"

namespace {

using namespace railbed;

// Answers every question with the next bytes, under the question's own number.
class FuzzedDoor : public MadDoor {
 public:
  explicit FuzzedDoor(std::string_view bytes) : bytes_(bytes) {}
  bool send(const Mad& mad, const MadRoute&, std::chrono::milliseconds) override {
    asked_ = mad;
    waiting_ = true;
    return true;
  }
  std::optional<Mad> receive(std::chrono::milliseconds) override {
    if (!waiting_ || bytes_.empty()) return std::nullopt;
    waiting_ = false;
    Mad answer = asked_;
    answer[3] = 0x81;
    const std::size_t size = std::min<std::size_t>(bytes_.size(), 64);
    std::memcpy(answer.data() + 64, bytes_.data(), size);
    bytes_.remove_prefix(size);
    return answer;
  }
  std::string name() const override { return "fuzzed"; }

 private:
  std::string_view bytes_;
  Mad asked_ = {};
  bool waiting_ = false;
};

void judge(IbFabric fabric) {
  FabricEvidence evidence;
  evidence.fabric = fabric;
  evidence.plan = std::move(fabric);
  require(!verify_fabric(evidence).findings.empty());
}

void as_counters(std::string_view text) {
  (void)is_counter_list(text);
  const auto list = parse_counter_list(text, "errors");
  if (!list) {
    require_printable(list.error().text);
    return;
  }
  for (const IbCounterReading& reading : list->look.ports)
    require(list->fabric.port(reading.end).number == reading.end.port);
  std::size_t unknown = 0;
  const IbCounterLook same = counters_in(list->fabric, *list, unknown);
  require(same.ports.size() + unknown == list->look.ports.size());
  FabricEvidence evidence;
  evidence.fabric = list->fabric;
  evidence.counters = list->look;
  require(!verify_counters(evidence).findings.empty());
}

void as_ports(std::string_view text) {
  require_printable(named_fabric_text(text));
  const bool recognised = is_port_report(text);
  const auto report = parse_port_report(text, "ports");
  require(report || !recognised || text.size() > (256 << 10));
  if (!report) return require_printable(report.error().text);
  require_printable(report->summary());
  require(report->lids.size() == report->fabric.nodes.size());
  for (const IbCounterReading& reading : report->look.ports)
    require(report->fabric.port(reading.end).number == reading.end.port);
  std::size_t unknown = 0;
  const IbCounterLook none = counters_in(report->fabric, *report, unknown);
  require(none.ports.size() + unknown == report->look.ports.size());
  FabricEvidence evidence;
  evidence.fabric = report->fabric;
  evidence.counters = report->look;
  require(!verify_ports(evidence).findings.empty());
}

void as_dump(std::string_view text) {
  const auto fabric = parse_topology(text, "dump");
  if (!fabric) return;
  judge(*fabric);
  if (!fabric->conflicts.empty()) return;
  const std::string written = topology_text(*fabric);
  const auto again = parse_topology(written, "again");
  // Names without a number become the same GUID, which is then a conflict.
  if (again && again->conflicts.empty()) require(topology_text(*again) == written);
}

// What is read of other tools can be written as a dump.
void as_other_file(std::string_view text) {
  const auto read = parse_fabric_file(text, "file");
  require(bool(read) == bool(parse_fabric_file(text, "again")));
  if (read) {
    // Planes of XDR were merged: every cable leads to a port that exists.
    for (const IbNode& node : read->nodes)
      for (const IbPort& port : node.ports)
        require(!port.peer || read->port(port.peer).number == port.peer.port);
    judge(*read);
  }
  for (const auto parse : {parse_port_list, parse_link_list, parse_fabric_tables, parse_net_dump})
    if (const auto fabric = parse(text, "file")) {
      require(fabric->nodes.size() <= kMostIbNodes);
      require(!topology_text(*fabric).empty());
      judge(*fabric);
    }
}

void as_datagrams(std::string_view bytes) {
  FuzzedDoor door(bytes);
  DiscoveryLimits limits;
  limits.in_flight = 1;
  limits.tries = 1;
  limits.patience = std::chrono::milliseconds(0);
  limits.whole = std::chrono::seconds(1);
  limits.nodes = 64;
  limits.ports = 1024;
  const auto fabric = discover_fabric(door, limits);
  if (fabric) judge(*fabric);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] % 2 == 0)
    as_datagrams(rest);
  else
    as_dump({reinterpret_cast<const char*>(data), size});
  as_other_file({reinterpret_cast<const char*>(data), size});
  as_counters({reinterpret_cast<const char*>(data), size});
  as_ports({reinterpret_cast<const char*>(data), size});
  return 0;
}
