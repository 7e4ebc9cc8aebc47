// iperf3 counts bytes at both ends: `sum_sent` and `sum_received` (esnet/iperf, src/iperf_api.c,
// iperf_print_results). This parser takes the rate of reception. A server whose client did not report, and a
// UDP test before 3.11, have only the rate of sending; such a number gets the operation "sent only".
//
// In JSON, rates are bits per second. In text, the letter before "bits/sec" is decimal, that before
// "Bytes/sec" binary (src/units.c: KILO_RATE_UNIT is 1000 for bits).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/json.h"
#include "base/text.h"
#include "results/foreign/tools.h"

namespace railbed::foreign {
namespace {

struct IperfTest {
  bool udp = false;
  bool reverse = false;
  bool both_ways = false;
  int streams = 0;          // 0: unknown
  std::uint64_t bytes = 0;  // of one write; 0: unknown
  std::string client;       // addresses
  std::string server;
};

// Returns the measurement of one direction, without its number.
Measurement measurement_of(const IperfTest& test, bool from_server) {
  Measurement measurement;
  measurement.engine = test.udp ? Engine("udp") : Engine::kTcp;
  measurement.operation = test.both_ways ? "both ways at once" : "";
  measurement.from.node = from_server ? kServer : kClient;
  measurement.to.node = from_server ? kClient : kServer;
  measurement.from.address = from_server ? test.server : test.client;
  measurement.to.address = from_server ? test.client : test.server;
  measurement.message_bytes = test.bytes;
  measurement.streams = test.streams;
  return measurement;
}

void mark_as_sent(Measurement& measurement) {
  measurement.operation += measurement.operation.empty() ? "sent only" : ", sent only";
}

// Adds one direction: `suffix` is of the members' names in `end`.
void add_direction(const json::Value* end, const std::string& suffix, const IperfTest& test, bool from_server,
                   ForeignRun& read) {
  const json::Value* const sent = member_in(end, "sum_sent" + suffix);
  const json::Value* const received = member_in(end, "sum_received" + suffix);
  const json::Value* const sum = member_in(end, "sum" + suffix);
  Measurement measurement = measurement_of(test, from_server);
  const json::Value* from = received;
  if (!is_sane(number_in(from, "bits_per_second").value_or(0))) {
    from = is_sane(number_in(sent, "bits_per_second").value_or(0)) ? sent : sum;
    mark_as_sent(measurement);
  }
  const double rate = number_in(from, "bits_per_second").value_or(0);
  if (!is_sane(rate))
    return leave_out(
        read, fmt::format("the rate from the {}: it is not in the document, or zero", measurement.from.node));
  measurement.summary = single_number(rate);
  measurement.seconds = std::clamp(number_in(from, "seconds").value_or(0), 0.0, 1e9);
  if (test.udp) {
    const json::Value* const counts = received != nullptr ? received : sum;
    measurement.packets = count_in(counts, "packets").value_or(0);
    measurement.lost = count_in(counts, "lost_packets").value_or(0);
  } else {
    measurement.lost = count_in(sent, "retransmits").value_or(0);
  }
  add_measurement(read, std::move(measurement));
}

Result<void> take_iperf_json(std::string_view text, ForeignRun& read) {
  auto parsed = json::parse(text);
  if (!parsed) return fail(std::move(parsed.error()), "iperf3");
  const json::Value* const document = &*parsed;
  if (const std::string error = text_in(document, "error"); !error.empty())
    leave_out(read, "iperf3 ended with an error: " + error);
  const json::Value* const start = member_in(document, "start");
  const json::Value* const settings = member_in(start, "test_start");
  const json::Value* const end = member_in(document, "end");
  IperfTest test;
  const std::string protocol = text_in(settings, "protocol");
  test.udp = protocol == "UDP";
  if (protocol.empty())
    return fail(ErrorKind::kBadInput, "iperf3: it has no \"test_start\", so the protocol is unknown");
  if (protocol != "UDP" && protocol != "TCP") {
    leave_out(read, "the protocol " + protocol);
    return {};
  }
  test.streams =
      static_cast<int>(std::min<std::uint64_t>(count_in(settings, "num_streams").value_or(0), 65'536));
  test.bytes = count_in(settings, "blksize").value_or(0);
  test.reverse = count_in(settings, "reverse").value_or(0) != 0;
  test.both_ways =
      member_in(end, "sum_sent_bidir_reverse") != nullptr || member_in(end, "sum_bidir_reverse") != nullptr;
  // A server accepts; only a client has "connecting_to".
  const bool by_client = member_in(start, "connecting_to") != nullptr;
  if (const json::Value* const all = member_in(start, "connected");
      all != nullptr && all->is_array() && !all->empty()) {
    const json::Value* const first = &all->front();
    test.client = text_in(first, by_client ? "local_host" : "remote_host");
    test.server = text_in(first, by_client ? "remote_host" : "local_host");
  }
  if (const std::string version = text_in(start, "version"); !version.empty())
    read.run.fingerprint["iperf3"] = version;
  if (const auto target = count_in(settings, "target_bitrate"); target && *target > 0)
    add_asked(read, "target bitrate", std::to_string(*target));
  if (const auto omit = count_in(settings, "omit"); omit && *omit > 0)
    add_asked(read, "omitted seconds", std::to_string(*omit));
  if (const std::string control = text_in(end, "sender_tcp_congestion"); !control.empty())
    add_asked(read, "congestion control", control);
  add_direction(end, "", test, test.reverse, read);
  if (test.both_ways) add_direction(end, "_bidir_reverse", test, !test.reverse, read);
  return {};
}

// Parses "9.30 Gbits/sec"; nullopt for another unit.
std::optional<double> rate_of(std::string_view number, std::string_view unit) {
  const auto value = parse_real(number);
  if (!value || unit.empty()) return std::nullopt;
  constexpr std::string_view kPrefixes = "KMGT";
  const std::size_t at = kPrefixes.find(unit.front());
  const int power = at == std::string_view::npos ? 0 : static_cast<int>(at) + 1;
  if (power > 0) unit.remove_prefix(1);
  const bool bits = unit == "bits/sec";
  if (!bits && unit != "Bytes/sec") return std::nullopt;
  double rate = bits ? *value : *value * 8;
  for (int i = 0; i < power; ++i) rate *= bits ? 1000 : 1024;
  return rate;
}

class IperfText {
 public:
  explicit IperfText(ForeignRun& read) : read_(read) {}

  void take(std::string_view line) {
    line = trim(line);
    if (line.starts_with("Connecting to host ") || line.starts_with("Accepted connection from "))
      return begin(line);
    if (line.starts_with("Reverse mode, ")) test_.reverse = true;
    if (line.starts_with("iperf3: error") && line.find(" - ") != std::string_view::npos)
      leave_out(read_, "iperf3 ended with an error: " + short_text(line.substr(line.find(" - ") + 3)));
    if (line.starts_with("iperf 3."))
      read_.run.fingerprint["iperf3"] = short_text(line.substr(0, line.find(" (")));
    if (!line.starts_with('[')) return;
    if (line.starts_with("[ ID]")) {
      if (line.find("Datagrams") != std::string_view::npos) test_.udp = true;
      if (line.find("[Role]") != std::string_view::npos) test_.both_ways = true;
      return;
    }
    const std::size_t close = line.find(']');
    if (close == std::string_view::npos) return;
    const std::string_view id = trim(line.substr(1, close - 1));
    std::string_view rest = trim(line.substr(close + 1));
    if (rest.starts_with("local ")) return take_connection(id, rest);
    take_total(id, rest);
  }

  void end() {
    for (const bool from_server : {false, true})
      if (const Totals& totals = totals_[from_server ? 1 : 0]; totals.seen) add(totals, from_server);
    totals_ = {};
    ids_.clear();
    test_ = {};
    by_client_ = true;
  }

 private:
  // The rates of one direction. Those of [SUM] replace those of single streams.
  struct Totals {
    bool seen = false;
    double sent = 0, received = 0;
    bool sent_is_sum = false, received_is_sum = false;
    std::uint64_t retransmits = 0;
  };

  void begin(std::string_view line) {
    end();
    by_client_ = line.starts_with("Connecting");
  }
  // "local 10.0.0.1 port 43210 connected to 10.0.0.2 port 5201"
  void take_connection(std::string_view id, std::string_view rest) {
    const auto all = words(rest.substr(0, 300));
    if (all.size() < 8 || ids_.size() > 65'536) return;
    ids_.insert(std::string(id.substr(0, 16)));
    (by_client_ ? test_.client : test_.server) = short_text(all[1]);
    (by_client_ ? test_.server : test_.client) = short_text(all[6]);
  }
  // "0.00-10.00 sec 10.8 GBytes 9.30 Gbits/sec 1245 sender"; a role "[TX-C]" may stand before it.
  void take_total(std::string_view id, std::string_view rest) {
    bool other_way = false;
    if (rest.starts_with('[')) {
      other_way = rest.starts_with("[RX-C]") || rest.starts_with("[TX-S]");
      rest = trim(rest.substr(std::min(rest.find(']'), rest.size() - 1) + 1));
    }
    const auto all = words(rest.substr(0, 300));
    if (all.size() < 7 || all[1] != "sec") return;
    const bool sender = all.back() == "sender";
    if (!sender && all.back() != "receiver") return;
    const auto rate = rate_of(all[4], all[5]);
    if (!rate) return leave_out(read_, "a rate in the unknown unit \"" + short_text(all[5]) + "\"");
    const bool sum = id == "SUM";
    Totals& totals = totals_[(test_.both_ways ? other_way : test_.reverse) ? 1 : 0];
    totals.seen = true;
    double& total = sender ? totals.sent : totals.received;
    bool& is_sum = sender ? totals.sent_is_sum : totals.received_is_sum;
    if (sum || !is_sum) total = sum ? *rate : total + *rate;
    is_sum = is_sum || sum;
    if (sender && !test_.udp && all.size() == 8)
      if (const auto count = parse_number<std::uint64_t>(all[6]); count && *count < 1'000'000'000)
        totals.retransmits = sum ? *count : totals.retransmits + *count;
  }
  void add(const Totals& totals, bool from_server) {
    test_.streams = static_cast<int>(test_.both_ways ? ids_.size() / 2 : ids_.size());
    Measurement measurement = measurement_of(test_, from_server);
    if (!is_sane(totals.received)) mark_as_sent(measurement);
    const double rate = is_sane(totals.received) ? totals.received : totals.sent;
    if (!is_sane(rate)) return leave_out(read_, "a rate of zero");
    measurement.summary = single_number(rate);
    if (!test_.udp) measurement.lost = totals.retransmits;
    add_measurement(read_, std::move(measurement));
  }

  ForeignRun& read_;
  IperfTest test_;
  std::array<Totals, 2> totals_;  // from the client, from the server
  std::set<std::string> ids_;
  bool by_client_ = true;
};

}  // namespace

Result<ForeignRun> parse_iperf(std::string_view text) {
  ForeignRun read = run_of(ForeignTool::kIperf);
  if (text.find("\"test_start\"") != std::string_view::npos ||
      text.find("\"sum_sent\"") != std::string_view::npos ||
      text.find("\"sum_received\"") != std::string_view::npos) {
    RETURN_IF_ERROR(take_iperf_json(json_part(text), read));
    return read;
  }
  IperfText blocks(read);
  for (const std::string_view line : lines(text)) blocks.take(line);
  blocks.end();
  return read;
}

}  // namespace railbed::foreign
