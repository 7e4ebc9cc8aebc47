// sockperf prints a block of lines for each server: an average, and percentiles of all observations, in µs.
// Each is half a round trip, or with --full-rtt a whole one ("Round trip is"); both are stored as half a
// round trip (Mellanox/sockperf, src/client.cpp, client_statistics). Under load it is the same, with several
// messages in flight. The output names neither the mode nor the message size: they are known if the command
// line is in the text.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "results/foreign/tools.h"

namespace railbed::foreign {
namespace {

// The value after "NAME=" or "NAME =" up to a space, ";" or ")".
std::optional<double> number_after(std::string_view line, std::string_view name) {
  const std::size_t at = line.find(name);
  if (at == std::string_view::npos) return std::nullopt;
  line = trim(line.substr(at + name.size()));
  if (line.starts_with('=')) line = trim(line.substr(1));
  return parse_real(line.substr(0, line.find_first_of(" ;)")));
}

class SockperfText {
 public:
  explicit SockperfText(ForeignRun& read) : read_(read) {}

  void take(std::string_view line) {
    if (line.find("sockperf") != std::string_view::npos) take_command(line);
    if (line.find("PORT =") != std::string_view::npos) take_address(line);
    if (const auto seconds = number_after(line, "[Valid Duration] RunTime")) seconds_ = *seconds;
    if (line.find("Summary: Message Rate") != std::string_view::npos)
      leave_out(read_, "throughput: sockperf measures what was sent, not what arrived");
    if (line.find("Summary: Latency ") != std::string_view::npos ||
        line.find("Summary: Round trip ") != std::string_view::npos)
      return begin(line);
    if (open_) take_number(line);
  }

  void end() {
    if (!open_) return;
    open_ = false;
    if (!is_sane(now_.summary.median))
      return leave_out(read_, "a latency without its median (\"percentile 50.000\")");
    now_.summary.low = now_.summary.high = now_.summary.median;
    add_measurement(read_, std::move(now_));
  }

 private:
  // Takes mode and message size from "sockperf ping-pong -i 10.0.0.2 --tcp -m 64".
  void take_command(std::string_view line) {
    const std::vector<std::string_view> all = words(line.substr(0, 2000));
    for (std::size_t i = 0; i + 1 < all.size(); ++i) {
      if (!all[i].ends_with("sockperf")) continue;
      const std::string_view mode = all[i + 1];
      if (mode == "ping-pong" || mode == "pp")
        mode_ = "ping-pong";
      else if (mode == "under-load" || mode == "ul")
        mode_ = "under load";
      else
        continue;
      bytes_ = 0;  // the default of --msg-size differs by version
      for (std::size_t k = i + 2; k < all.size(); ++k)
        take_size(all[k], k + 1 < all.size() ? all[k + 1] : "");
      return;
    }
  }
  void take_size(std::string_view word, std::string_view next) {
    std::string_view value;
    if (word == "-m" || word == "--msg-size")
      value = next;
    else if (word.starts_with("--msg-size="))
      value = word.substr(11);
    else if (word == "-r" || word.starts_with("--range"))
      bytes_ = 0;  // sizes vary
    if (!value.empty()) bytes_ = parse_number<std::uint64_t>(value).value_or(0);
  }
  void take_address(std::string_view line) {
    const std::size_t at = line.find("IP = ");
    if (at == std::string_view::npos) return;
    const std::vector<std::string_view> all = words(line.substr(at + 5, 200));
    if (!all.empty()) address_ = short_text(all.front());
    const bool tcp = line.find("# TCP") != std::string_view::npos;
    const bool udp = line.find("# UDP") != std::string_view::npos;
    if (tcp || udp) engine_ = tcp ? Engine::kTcp : Engine("udp");
  }
  void begin(std::string_view line) {
    end();
    open_ = true;
    half_ = line.find("Summary: Round trip ") != std::string_view::npos ? .5 : 1;
    now_ = {};
    now_.engine = engine_;
    now_.metric = Metric::kLatency;
    now_.operation = mode_;
    if (const auto burst = number_after(line, "of burst of"); burst && *burst >= 1 && *burst < 1e9)
      now_.operation += fmt::format(", burst of {:.0f}", *burst);
    now_.from.node = kClient;
    now_.to.node = kServer;
    now_.to.address = address_;
    now_.message_bytes = bytes_;
    now_.seconds = seconds_;
    if (const auto mean = number_after(line, " is")) set(now_.summary.mean, *mean);
  }
  void set(double& number, double microseconds) const {
    if (is_sane(microseconds * kMicrosecond)) number = microseconds * kMicrosecond * half_;
  }
  void take_number(std::string_view line) {
    Summary& summary = now_.summary;
    if (const auto count = number_after(line, "Total ");
        count && line.find("observations") != std::string_view::npos)
      summary.samples = static_cast<std::uint64_t>(std::clamp(*count, 0.0, 1e15));
    if (line.find("observation ") != std::string_view::npos) {
      if (line.find("MAX") != std::string_view::npos)
        set(summary.maximum, number_after(line, "observation").value_or(0));
      if (line.find("MIN") != std::string_view::npos)
        set(summary.minimum, number_after(line, "observation").value_or(0));
    }
    for (const auto& [name, number] : {std::pair{"percentile 50.000", &summary.median},
                                       {"percentile 50.00", &summary.median},
                                       {"percentile 99.000", &summary.p99},
                                       {"percentile 99.00", &summary.p99},
                                       {"percentile 99.900", &summary.p999},
                                       {"percentile 99.90", &summary.p999},
                                       {"percentile 99.990", &summary.p9999},
                                       {"percentile 99.99", &summary.p9999}}) {
      const std::size_t at = line.find(std::string(name) + ' ');
      if (at != std::string_view::npos) set(*number, number_after(line, name).value_or(0));
    }
  }

  ForeignRun& read_;
  Measurement now_;
  bool open_ = false;
  double half_ = 1;
  double seconds_ = 0;
  // The mode, the protocol and the message size are unknown until the text names them.
  std::string mode_ = "mode unknown";
  Engine engine_ = Engine("sockperf");
  std::string address_;
  std::uint64_t bytes_ = 0;
};

}  // namespace

Result<ForeignRun> parse_sockperf(std::string_view text) {
  ForeignRun read = run_of(ForeignTool::kSockperf);
  SockperfText blocks(read);
  for (const std::string_view line : lines(text)) blocks.take(without_colors(line.substr(0, 4096)));
  blocks.end();
  return read;
}

}  // namespace railbed::foreign
