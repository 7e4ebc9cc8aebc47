// A path carries no more than its slowest part, so its limits are those of its parts, each with its arithmetic.
//
// The wire: the data rate times the fraction of each packet that is payload. Around the payload are all
// headers, and on Ethernet also preamble, checksum and gap. TCP's MTU includes the IP and TCP headers. RDMA's
// path MTU is payload alone; a message of known length fills its last packet only in part, and has the headers
// of its operation once.
//
// PCI Express: transfers a second × lanes × encoding × payload / (payload + overhead of a packet), at the
// slowest hop between device and memory. A device writes into memory with packets that have an address; what
// it reads comes in completions, which are four bytes shorter and never longer than MaxReadRequest. Both ways
// at once, the requests for reads share the direction of the writes.
//
// Reads: a queue pair has only so many requests on their way, and each takes a round trip.
#include "hardware/limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "hardware/pci_link.h"

namespace railbed {
namespace {

// IEEE 802.3: preamble 7 and start delimiter 1, frame check sequence 4, inter-packet gap 12 (clause 4.4.2).
constexpr Header kPreamble{"preamble", 8};
constexpr Header kEthernet{"Ethernet", 14};
constexpr Header kFcs{"FCS", 4};
constexpr Header kGap{"gap", 12};
constexpr Header kIpv4{"IPv4", 20};           // RFC 791, without options
constexpr Header kIpv6{"IPv6", 40};           // RFC 8200
constexpr Header kTcpHeaderBytes{"TCP", 20};  // RFC 9293
// RFC 7323: ten bytes, padded to twelve; Linux sends them unless net.ipv4.tcp_timestamps is 0.
constexpr Header kTimestamps{"timestamps", 12};
constexpr Header kUdp{"UDP", 8};  // RFC 768
// InfiniBand Architecture Specification, volume 1, chapter 9 and annexes A16 (RoCE), A17 (RoCE v2).
constexpr Header kLrh{"LRH", 8};
constexpr Header kGrh{"GRH", 40};
constexpr Header kBth{"BTH", 12};
constexpr Header kIcrc{"ICRC", 4};
constexpr Header kVcrc{"VCRC", 2};
// Headers that a message has once. RETH: address, key and length of a write. AETH: in the first and in the last
// packet of a read's answer, so once in a short one. DETH: of a datagram, which is one packet.
constexpr int kReth = 16;
constexpr int kAeth = 4;
constexpr int kDeth = 8;

constexpr std::array kTcpIpv4Headers{kPreamble, kEthernet, kIpv4, kTcpHeaderBytes, kTimestamps, kFcs, kGap};
constexpr std::array kTcpIpv6Headers{kPreamble, kEthernet, kIpv6, kTcpHeaderBytes, kTimestamps, kFcs, kGap};
constexpr std::array kRoceV2Ipv4Headers{kPreamble, kEthernet, kIpv4, kUdp, kBth, kIcrc, kFcs, kGap};
constexpr std::array kRoceV2Ipv6Headers{kPreamble, kEthernet, kIpv6, kUdp, kBth, kIcrc, kFcs, kGap};
constexpr std::array kRoceV1Headers{kPreamble, kEthernet, kGrh, kBth, kIcrc, kFcs, kGap};
constexpr std::array kInfinibandHeaders{kLrh, kBth, kIcrc, kVcrc};

// Returns the bytes of the headers that the interface's MTU includes.
int headers_inside_mtu(Wire wire) {
  if (!is_tcp(wire)) return 0;
  return (wire == Wire::kTcpIpv4 ? kIpv4 : kIpv6).bytes + kTcpHeaderBytes.bytes + kTimestamps.bytes;
}

int message_headers(Operation operation, double packets) {
  switch (operation) {
    case Operation::kWrite:
      return kReth;
    case Operation::kRead:
      return packets > 1 ? 2 * kAeth : kAeth;
    case Operation::kDatagram:
      return kDeth;
    case Operation::kSend:
    case Operation::kTcp:
      return 0;
  }
  return 0;
}

std::string terms(Wire wire) {
  std::string text;
  for (const Header& header : headers_of(wire))
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", header.name, header.bytes);
  return text;
}

// PCI Express Base Specification 6.0: encoding 8b/10b below 8 GT/s, 128b/130b to 32 GT/s (4.2), 236 TLP bytes
// of each 256-byte flit above. A memory write TLP has a 16-byte header (64-bit address), sequence number 2
// and LCRC 4, framed by 4 bytes (2 below 8 GT/s); flits need neither framing nor LCRC per packet. A completion
// has a 12-byte header.
// The share of transfers that is data, and the bytes around the payload of a packet.
struct PcieCoding {
  double encoding = 0;
  int packet_overhead = 0;
};
PcieCoding coding_of(double gigatransfers) {
  if (gigatransfers < 8) return {0.8, 24};
  if (gigatransfers <= 32) return {128.0 / 130.0, 26};
  return {236.0 / 256.0, 16};
}
constexpr int kCompletionSaves = 4;
// A link's clock may be 100 ppm faster than nominal (IEEE 802.3, clauses 82 and 119; InfiniBand Architecture
// Specification, volume 2).
constexpr double kFastestClock = 1.0001;
// The specification's values of MaxPayload and MaxReadRequest: powers of two between these.
constexpr int kShortestPayload = 128;
constexpr int kLongestPayload = 4096;
// What sound adapters reach of the encoded rate below 8 GT/s, where flow control takes more than the packets'
// headers: 3.2 GB/s on eight lanes of Gen2 (25.6 Gb/s of QDR; Mellanox community, "PCI Generations, lane width
// and the cards", mellanox38.rssing.com/chan-11689824/article788.html).
constexpr double kSoundShareOfOldLinks = 0.8;

BitRate encoded_rate(const PcieLink& link) {
  return BitRate::gigabits(link.gigatransfers * link.width * coding_of(link.gigatransfers).encoding);
}

// Returns the rate of one direction, or the sum of both at once. `read` is MaxReadRequest.
BitRate link_limit(const PcieLink& link, int payload, int read, PcieWay way, bool both_ways) {
  const double rate = encoded_rate(link).bits_per_second;
  const int overhead = coding_of(link.gigatransfers).packet_overhead;
  const auto to_memory = static_cast<double>(payload);
  const auto completion = static_cast<double>(std::min(payload, read));
  const double from_memory = rate * completion / (completion + overhead - kCompletionSaves);
  if (both_ways) {
    const double requests = from_memory * overhead / read;
    return {from_memory + (rate - requests) * to_memory / (to_memory + overhead)};
  }
  return {way == PcieWay::kFromMemory ? from_memory : rate * to_memory / (to_memory + overhead)};
}

std::string payload_text(const PciePath& path, int payload) {
  if (path.max_payload) return fmt::format("at {} bytes of payload", payload);
  return fmt::format("at {} bytes of payload, the most there can be: what is set is not known", payload);
}

const PcieHop* narrowest_of(const PciePath& path) {
  const PcieHop* narrowest = nullptr;
  for (const PcieHop& hop : path.hops)
    if (hop.link.width > 0 && hop.link.gigatransfers > 0 &&
        (narrowest == nullptr || encoded_rate(hop.link) < encoded_rate(narrowest->link)))
      narrowest = &hop;
  return narrowest;
}

// Adds a limit, or a note if there is none.
void add(Ceiling& ceiling, std::optional<Limit> limit, std::string_view why_not) {
  if (limit)
    ceiling.limits.push_back(std::move(*limit));
  else if (!why_not.empty() && ceiling.note.empty())
    ceiling.note = why_not;
}

void add_end(Ceiling& ceiling, const PathEnd& end, PcieWay way, bool both_ways) {
  add(ceiling, pcie_path_limit(end.adapter, way, both_ways), "");
  if (end.memory != MemoryKind::kHost) add(ceiling, pcie_path_limit(end.gpu, way, both_ways), "");
}

BitRate sum_of(const std::vector<BitRate>& rates) {
  return std::accumulate(rates.begin(), rates.end(), BitRate{}, [](BitRate sum, BitRate rate) {
    return BitRate{sum.bits_per_second + rate.bits_per_second};
  });
}

// Returns the limits of a card's slots; nullopt if one of them is not known.
std::optional<std::vector<BitRate>> slot_rates(const AdapterCard& card, bool both_ways) {
  std::vector<BitRate> rates;
  for (const PciePath& slot : card.slots) {
    const auto limit = pcie_path_limit(slot, PcieWay::kToMemory, both_ways);
    if (!limit) return std::nullopt;
    rates.push_back(limit->rate);
  }
  return rates.empty() ? std::nullopt : std::optional(std::move(rates));
}

// Published results of sound hardware. Up to the link speed of a row, traffic with as many queue pairs as the row
// has, or more, reaches the row's rate; a row without a rate reaches the whole wire.
struct PublishedRow {
  double up_to;                 // Gb/s of the wire
  int queue_pairs;              // at least
  bool gpu;                     // also from and to the memory of GPUs
  std::uint64_t message_bytes;  // at least, of writes and sends
  double gigabits;              // 0: the whole wire
  std::string_view why;
  std::string_view source;
};
constexpr double kFastestPublished = 410;  // Gb/s; no link above it is published
constexpr std::uint64_t kKib = 1024;
// Reads wait for their answers, so only longer ones are published at the full rate.
constexpr std::uint64_t kLeastRead = 64 * kKib;
// Lengths between are published at a fifth of the rate (ib_send_bw, ConnectX-4: 97 Gb/s with 65536 bytes, 20 to 25
// with 65535 and 65537; mellanox37.rssing.com/chan-11689808/article3279.html).
constexpr std::uint64_t kWholePages = 4 * kKib;
constexpr PublishedRow kPublished[] = {
    {210, 2, true, 16 * kKib, 0, "", "Azure/azurehpc-health-checks: HDR 180 Gb/s and more from GPU memory"},
    {210, 1, false, 16 * kKib, 0, "",
     "one queue pair: HDR 196.6 of 198.7 Gb/s with 16 KiB (ib_write_bw, MT4123), EDR 98.2 (ib_read_bw, MT4115), "
     "100 GbE 98.0 of 98.0 (Juniper, ConnectX-6 Dx), QDR 30.7 of 31.6 (mlx4)"},
    {410, 2, true, 16 * kKib, 0, "",
     "NVIDIA/nccl#2409: 391.5 to 391.8 of 392.1 Gb/s with 8 queue pairs; novitalabs/pegaflow#291: 392 (write) and "
     "390 (read) with 2"},
    {410, 1, false, 16 * kKib, 284.4,
     "one queue pair does not fill a link above 200 Gb/s: sound adapters are published at 284 to 392 Gb/s",
     "ConnectX-7, one queue pair: NVIDIA/nccl#2409 (284.4 with 1 MiB, 380 with 16 KiB, 392 with 128 KiB), "
     "novitalabs/pegaflow#291 (365 writes, 320 reads of 4 MB)"},
};

}  // namespace

std::span<const Header> headers_of(Wire wire) {
  switch (wire) {
    case Wire::kTcpIpv4:
      return kTcpIpv4Headers;
    case Wire::kTcpIpv6:
      return kTcpIpv6Headers;
    case Wire::kRoceV2Ipv4:
      return kRoceV2Ipv4Headers;
    case Wire::kRoceV2Ipv6:
      return kRoceV2Ipv6Headers;
    case Wire::kRoceV1:
      return kRoceV1Headers;
    case Wire::kInfiniband:
      return kInfinibandHeaders;
  }
  return {};
}

int overhead_of(Wire wire) {
  const auto headers = headers_of(wire);
  return std::accumulate(headers.begin(), headers.end(), 0,
                         [](int sum, const Header& header) { return sum + header.bytes; });
}

double wire_efficiency(Wire wire, int mtu, std::uint64_t message_bytes, Operation operation) {
  const int payload = mtu - headers_inside_mtu(wire);
  if (payload <= 0) return 0;
  if (is_tcp(wire) || message_bytes == 0)
    return static_cast<double>(payload) / static_cast<double>(payload + overhead_of(wire));
  const auto message = static_cast<double>(message_bytes);
  const double packets = std::ceil(message / payload);
  return message / (message + packets * overhead_of(wire) + message_headers(operation, packets));
}

std::uint64_t least_wire_bytes(Wire wire, int mtu, std::uint64_t message_bytes) {
  const int timestamps = is_tcp(wire) ? kTimestamps.bytes : 0;
  const int payload = mtu - headers_inside_mtu(wire) + timestamps;
  if (payload <= 0) return 0;
  const auto size = static_cast<std::uint64_t>(payload);
  const std::uint64_t packets = std::max<std::uint64_t>(1, message_bytes / size + (message_bytes % size > 0));
  const int gap = wire == Wire::kInfiniband ? 0 : kGap.bytes;
  return message_bytes + packets * static_cast<std::uint64_t>(overhead_of(wire) - timestamps) -
         static_cast<std::uint64_t>(gap);
}

std::optional<Traffic> traffic_of(const Measurement& measurement) {
  if (measurement.engine != Engine::kTcp && measurement.engine != Engine::kRdma) return std::nullopt;
  Traffic traffic;
  const std::string_view text = measurement.operation;
  traffic.message_bytes = measurement.message_bytes;
  traffic.queue_pairs = measurement.streams;
  traffic.both_ways = text.find(" duplex") != std::string_view::npos;
  traffic.gpu = text.find("GPU memory") != std::string_view::npos || !measurement.from.memory.empty() ||
                !measurement.to.memory.empty();
  if (measurement.engine == Engine::kTcp)
    traffic.operation = Operation::kTcp;
  else if (text.starts_with("read"))
    traffic.operation = Operation::kRead;
  else if (text.starts_with("send"))
    traffic.operation = Operation::kSend;
  else if (text.starts_with("datagram"))
    traffic.operation = Operation::kDatagram;
  else if (!text.empty() && !text.starts_with("write"))
    return std::nullopt;
  return traffic;
}

std::optional<Limit> wire_limit(const WirePart& wire, const Traffic& traffic) {
  if (!wire.data_rate || wire.mtu <= 0) return std::nullopt;
  const double efficiency =
      wire_efficiency(wire.protocol, wire.mtu, traffic.message_bytes, traffic.operation);
  const std::string whose = wire.slower.empty() ? "" : fmt::format(", the slower link: {}", wire.slower);
  return Limit{fmt::format("{}{} at MTU {}{}", kWireName, to_text(*wire.data_rate), wire.mtu, whose),
               *wire.data_rate * ((traffic.both_ways ? 2 * efficiency : efficiency) * kFastestClock),
               fmt::format("{}{} × {:.4f} ({} a packet)", wire.source, traffic.both_ways ? " × 2 ways" : "",
                           efficiency, terms(wire.protocol))};
}

std::optional<Limit> pcie_path_limit(const PciePath& path, PcieWay way, bool both_ways) {
  const PcieHop* hop = narrowest_of(path);
  if (hop == nullptr) return std::nullopt;
  const int most =
      path.max_payload.value_or(path.payload_supported > 0 ? path.payload_supported : kLongestPayload);
  const int read = path.max_read_request.value_or(kLongestPayload);
  Limit limit{fmt::format("{} at {}", describe_link(hop->link), hop->at),
              link_limit(hop->link, most, read, way, both_ways),
              fmt::format("{}, less encoding and TLP headers {}", hop->source, payload_text(path, most))};
  BitRate least = limit.rate;
  if (!path.max_payload) least = link_limit(hop->link, kShortestPayload, kShortestPayload, way, both_ways);
  if (hop->link.gigatransfers < 8)
    least = std::min(least, encoded_rate(hop->link) * (kSoundShareOfOldLinks * (both_ways ? 2 : 1)));
  if (path.published) least = std::min(least, *path.published * (both_ways ? 2 : 1));
  if (least < limit.rate) limit.least = least;
  return limit;
}

std::optional<Limit> read_limit(const DataPath& path, const Traffic& traffic) {
  if (traffic.operation != Operation::kRead || !path.least_round_trip ||
      path.least_round_trip->count() <= 0 || traffic.reads <= 0 || traffic.queue_pairs <= 0 ||
      traffic.message_bytes == 0)
    return std::nullopt;
  const double bits = 8.0 * static_cast<double>(traffic.message_bytes) * traffic.reads * traffic.queue_pairs;
  return Limit{fmt::format("reads on their way, {} of each queue pair", traffic.reads),
               {bits * (traffic.both_ways ? 2 : 1) / path.least_round_trip->count() * 1e9},
               fmt::format("{} × {} × {} in a round trip of {} or more", traffic.queue_pairs, traffic.reads,
                           to_text(ByteCount{traffic.message_bytes}), to_text(*path.least_round_trip))};
}

Ceiling limits(const DataPath& path, const Traffic& traffic) {
  Ceiling ceiling;
  add(ceiling, wire_limit(path.wire, traffic), "neither end states the speed of the wire");
  add_end(ceiling, path.from, PcieWay::kFromMemory, traffic.both_ways);
  add_end(ceiling, path.to, PcieWay::kToMemory, traffic.both_ways);
  add(ceiling, read_limit(path, traffic), "");
  if (traffic.both_ways)
    for (Limit& limit : ceiling.limits) limit.name += ", both ways";
  std::ranges::stable_sort(ceiling.limits, {}, &Limit::rate);
  return ceiling;
}

BitRate pcie_rate(const PcieLink& link, int payload, PcieWay way) {
  return link_limit(link, payload, kLongestPayload, way, false);
}

BitRate pcie_rate(const PcieLink& link) { return pcie_rate(link, kUsualPayload); }

ShortestPacket shortest_packet(const PcieLink& link) {
  constexpr int kData = 4;
  const PcieCoding coding = coding_of(link.gigatransfers);
  const int bytes = kData + coding.packet_overhead;
  return {bytes, Nanoseconds{bytes * 8 / (link.gigatransfers * link.width * coding.encoding)}};
}

std::string describe_link(const PcieLink& link) { return fmt::format("PCIe {}", to_text(link)); }

std::optional<Limit> cards_limit(std::span<const AdapterCard> cards, const Traffic& traffic,
                                 std::string_view node) {
  std::size_t ports = 0;
  BitRate sum;
  bool by_slots = false;
  for (const AdapterCard& card : cards) {
    std::vector<BitRate> cables;
    for (const WirePart& cable : card.cables)
      if (const auto limit = wire_limit(cable, traffic)) cables.push_back(limit->rate);
    ports += cables.size();
    const auto slots = slot_rates(card, traffic.both_ways);
    const bool held = slots && sum_of(*slots) < sum_of(cables);
    by_slots = by_slots || held;
    sum = sum_of({sum, held ? sum_of(*slots) : sum_of(cables)});
  }
  if (ports == 0) return std::nullopt;
  return Limit{
      fmt::format("the network of {}, {} {}", node, ports, ports == 1 ? "RDMA port" : "RDMA ports"), sum,
      by_slots ? "the sum of the active ports' rates, less packet headers, where their PCIe slots carry as "
                 "much; else of the slots"
               : "the sum of the active ports' rates, less packet headers"};
}

ProvenRate proven_rate(const Traffic& traffic, BitRate wire) {
  const auto nothing = [](std::string why, std::string decides = {}) {
    return ProvenRate{{}, std::move(why), "", std::move(decides)};
  };
  if (traffic.operation == Operation::kDatagram)
    return nothing("messages of one packet: a processor bounds them, not the path");
  if (traffic.operation == Operation::kTcp)
    return nothing("one TCP stream is bound by a processor core, not by the path");
  if (traffic.both_ways)
    return nothing("both ways at once: how much of twice the link is usual is not known");
  const std::uint64_t length = traffic.message_bytes;
  if (length == 0) return nothing("the length of its messages is not known", "--sizes 64K,1M");
  if (length % kWholePages != 0 || (traffic.operation == Operation::kRead && length < kLeastRead))
    return nothing("what sound hardware reaches with messages of this length is not published",
                   "--sizes 64K,1M");
  const int queue_pairs = std::max(1, traffic.queue_pairs);
  for (const PublishedRow& row : kPublished) {
    if (wire.gigabits() > row.up_to || queue_pairs < row.queue_pairs || (traffic.gpu && !row.gpu)) continue;
    if (length < row.message_bytes)
      return nothing("messages this short are bound by their number, not by the path", "--sizes 64K,1M");
    if (row.gigabits == 0) return {wire, "", "", ""};
    return {std::min(wire, BitRate::gigabits(row.gigabits)), std::string(row.why), std::string(row.source),
            "--streams 4"};
  }
  if (queue_pairs == 1 && wire.gigabits() <= kFastestPublished)
    return nothing("what one queue pair reaches from and to the memory of GPUs is not published",
                   "--streams 4");
  return nothing(
      fmt::format("what sound hardware reaches on a link that carries {} is not published", to_text(wire)));
}

}  // namespace railbed
