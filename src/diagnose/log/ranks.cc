// Reads communicators: their ranks and how far each got, rings, trees, connections, and the operations they
// ran.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "diagnose/log/scan.h"
#include "diagnose/log/state.h"

namespace railbed::diagnose {
namespace {

constexpr std::size_t kMostCommunicators = 1 << 16;
constexpr std::size_t kMostRanks = 1 << 17;  // in all communicators
constexpr std::size_t kLongestId = 256;
constexpr std::size_t kMostShapes = 64;
constexpr std::size_t kMostChoices = 4096;

// "comm 0x2f33a2b0" → the pointer's text.
std::string_view pointer_of(std::string_view text) { return word_after(text, "comm "); }

// Returns a name that is the same for every rank: the commId, or for a split its origin. Empty if the line
// has neither.
std::string identity(const LogState& state, const LogProcess& process, std::string_view text) {
  if (const std::string_view id = word_after(text, "commId "); !id.empty())
    return std::string(id.substr(0, kLongestId));
  const std::string_view parent = word_after(text, "parent ");
  if (parent.empty()) return "";
  const auto found = process.pointers.find(std::string(parent));
  const std::string from =
      found == process.pointers.end() ? "?" : state.log.communicators[found->second.communicator].id;
  if (from.size() > kLongestId) return "";  // an endless chain of splits
  return fmt::format("{}/{}.{}", from, number_after(text, "splitCount ").value_or(0),
                     number_after(text, "color ").value_or(0));
}

// Sets places[key]. A new key needs room.
void keep(LogState& state, auto& places, const auto& key, RankPlace place) {
  if (const auto found = places.find(key); found != places.end())
    found->second = place;
  else if (state.has_room())
    places.emplace(key, place);
}

// Finds or adds the communicator and the rank that the line names, and maps the line's thread and pointer to
// the rank. Returns nothing if the line has no valid rank, size or identity, or a limit is reached.
std::optional<RankPlace> place_rank(LogState& state, LogProcess& process, const LogLine& line) {
  const auto rank = number_after(line.text, " rank ");
  const auto size = number_after(line.text, " nranks ");
  const std::string id = identity(state, process, line.text);
  if (!rank || !size || id.empty() || *rank < 0 || *size < 1 || *rank >= *size) return std::nullopt;
  auto& communicators = state.log.communicators;
  const auto [found, added] = state.communicator_places.try_emplace(id, communicators.size());
  if (added) {
    if (communicators.size() >= kMostCommunicators) {
      state.communicator_places.erase(found);
      return std::nullopt;
    }
    communicators.push_back({.id = id, .size = *size});
    state.rank_places.emplace_back();
  }
  LogCommunicator& communicator = communicators[found->second];
  const auto [at, is_new] = state.rank_places[found->second].try_emplace(*rank, communicator.ranks.size());
  const RankPlace place{found->second, at->second};
  if (is_new) {
    if (state.ranks >= kMostRanks) {
      state.rank_places[found->second].erase(at);
      return std::nullopt;
    }
    communicator.ranks.push_back({.rank = *rank,
                                  .host = process.host,
                                  .process = process.id,
                                  .device = number_after(line.text, "cudaDev ").value_or(line.device),
                                  .bus_id = std::string(word_after(line.text, "busId "))});
    ++state.ranks;
    process.ranks.push_back(place);
    process.by_device[communicator.ranks.back().device] = place;
    process.by_number[*rank] = place;
  }
  keep(state, process.threads, line.thread, place);
  keep(state, process.pointers, std::string(pointer_of(line.text)), place);
  return place;
}

// Returns the entry for this kind of connection; the last entry if there are too many kinds.
LogConnections& connections_of(LogCommunicator& communicator, std::string_view via) {
  for (LogConnections& connections : communicator.connections)
    if (connections.via == via) return connections;
  if (communicator.connections.size() >= kMostShapes) return communicator.connections.back();
  return communicator.connections.emplace_back(LogConnections{.via = std::string(via)});
}

// "NET/IB/0/GDRDMA/Shared" → "NET/IB"; "P2P/CUMEM/read" → "P2P/CUMEM"; "P2P/direct pointer"; "SHM/direct".
std::string_view kind_of(std::string_view via) {
  const std::size_t first = via.find('/');
  if (first == std::string_view::npos) return via;
  return via.substr(0, via.find('/', first + 1));
}

// "ncclCommInitRank comm 0x… rank 0 nranks 8 cudaDev 0 busId 60 commId 0x… - Init START", and COMPLETE.
bool read_init(LogState& state, LogProcess& process, const LogLine& line) {
  const auto place = place_rank(state, process, line);
  if (!place) return false;
  LogRank& rank = state.at(*place);
  if (line.text.ends_with("START")) {
    state.advance(rank, Step::kInit);
  } else {
    if (rank.step < Step::kReady) ++state.log.communicators[place->communicator].completed;
    state.advance(rank, Step::kReady);
  }
  return true;
}

// "comm 0x… rank 0 nRanks 8 nNodes 1 …", "comm 0x… rank 0 … - Destroy COMPLETE".
bool read_by_pointer(LogState& state, LogProcess& process, const LogLine& line) {
  const auto found = process.pointers.find(std::string(pointer_of(line.text)));
  if (found == process.pointers.end()) return false;
  LogRank& rank = state.at(found->second);
  if (const auto nodes = number_after(line.text, " nNodes ")) {
    state.log.communicators[found->second.communicator].nodes = *nodes;
    keep(state, process.threads, line.thread, found->second);
    state.advance(rank, Step::kTopology);
    return true;
  }
  if (!line.text.ends_with("Destroy COMPLETE") && !line.text.ends_with("Abort COMPLETE")) return false;
  state.advance(rank, Step::kDestroyed);
  return true;
}

// "Init timings - ncclCommInitRank: rank 0 nranks 8 total 1.09 (kernels 0.43, alloc 0.32, …)"
void read_timings(LogState& state, LogProcess& process, const LogLine& line) {
  RankPlace place;
  const LogRank* const rank = state.rank_of(process, line, &place);
  Scan scan(line.text);
  const auto total = scan.skip_past(" total ") ? scan.real() : std::nullopt;
  if (rank == nullptr || !total) return;
  LogCommunicator& communicator = state.log.communicators[place.communicator];
  if (*total <= communicator.slowest_init_seconds) return;
  communicator.slowest_init_seconds = *total;
  const std::size_t open = line.text.find('(');
  if (open != std::string_view::npos && line.text.ends_with(')'))
    communicator.slowest_init =
        fmt::format("rank {}: {}", rank->rank, line.text.substr(open + 1, line.text.size() - open - 2));
}

}  // namespace

bool LogState::read_communicator(LogProcess& process, const LogLine& line) {
  const std::string_view text = line.text;
  if (text.ends_with("Init START") || text.ends_with("Init COMPLETE")) return read_init(*this, process, line);
  if (text.starts_with("comm ")) return read_by_pointer(*this, process, line);
  if (text.starts_with("Bootstrap timings total")) {
    if (LogRank* const rank = rank_of(process, line)) advance(*rank, Step::kBootstrap);
    return true;
  }
  if (!text.starts_with("Init timings")) return false;
  read_timings(*this, process, line);
  return true;
}

// "Channel 00/0 : 1[1] -> 0[0] [receive] via NET/Socket/0", "Channel 03 : 0[0] -> 1[1] via SHM/direct/direct"
bool LogState::read_connection(LogProcess& process, const LogLine& line) {
  if (!line.text.starts_with("Channel ") && !line.text.starts_with("CollNet ")) return false;
  Scan scan(line.text);
  if (!scan.skip_past(" via ")) return false;
  const std::string_view via = scan.rest();
  const std::string_view ends = line.text.substr(0, line.text.size() - via.size());
  const bool receives = ends.find("[receive]") != std::string_view::npos;
  RankPlace place;
  LogRank* rank = rank_of(process, line, &place);
  // The line itself names the rank: the receiver, else the sender.
  const auto own = receives ? number_after(ends, "-> ") : number_after(ends, " : ");
  if (own && (rank == nullptr || rank->rank != *own))
    if (const auto other = process.by_number.find(*own); other != process.by_number.end())
      rank = &at(place = other->second);
  p2p = p2p || via.starts_with("P2P/");
  sockets = sockets || via.starts_with("NET/Socket");
  if (rank == nullptr) return true;
  const bool network = via.starts_with("NET/");
  const bool gpudirect = via.find("/GDRDMA") != std::string_view::npos;
  if (via.starts_with("COLLNET/")) log.communicators[place.communicator].collnet = true;
  LogConnections& kind = connections_of(log.communicators[place.communicator], kind_of(via));
  ++kind.count;
  kind.gpudirect += gpudirect;
  if (network) {
    rank->network_used = true;
    bool& direction = receives ? rank->gpudirect_receive : rank->gpudirect_send;
    direction = direction || gpudirect;
    // The third part is the NIC's number, followed under PXN by the rank that does the work: "NET/IB/3(5)".
    const std::string_view number = via.substr(std::min(kind_of(via).size() + 1, via.size()));
    add_once(rank->nics, number.substr(0, number.find_first_of("(/")), kMostShapes);
  }
  advance(*rank, Step::kConnecting);
  return true;
}

namespace {

// "24 coll channels, 16 collnet channels, 16 nvls channels, 32 p2p channels, …"
void read_channel_counts(LogCommunicator& communicator, std::string_view text, int collective) {
  communicator.collective_channels = std::max(communicator.collective_channels, collective);
  if (const std::size_t nvls = text.find(" nvls channels"); nvls != std::string_view::npos) {
    const std::size_t before = text.rfind(' ', nvls - 1);
    communicator.nvls_channels = parse_number<int>(text.substr(before + 1, nvls - before - 1)).value_or(0);
  }
  communicator.p2p_channels = number_after(text, "nvls channels, ").value_or(0);
}

// "Channel 00/24 : 0 1 2 3"
void read_ring(LogCommunicator& communicator, std::string_view text) {
  const auto pair = key_value(text, ':');
  if (!pair) return;
  std::string order;
  for (const std::string_view word : words(pair->second))
    order += (order.empty() ? "" : " ") + std::string(word);
  ++communicator.ring_count;
  add_once(communicator.rings, order, kMostShapes);
}

}  // namespace

bool LogState::read_shape(LogProcess& process, const LogLine& line) {
  const std::string_view text = line.text;
  const bool ring = text.starts_with("Channel ");  // "Channel 00/24 : 0 1 2 3"
  const bool tree = text.starts_with("Trees ");    // "Trees [0] 1/-1/-1->0->-1 [1] …"
  const bool connected = text.starts_with("Connected all rings");
  const bool pattern =
      text.starts_with("Pattern ");  // "Pattern 4, crossNic 0, …, type NVL/PIX, sameChannels 1"
  const auto channels = number_after(text.substr(0, text.find(" coll channels")), "");
  const bool counts = text.find(" coll channels, ") != std::string_view::npos && channels;
  if (!ring && !tree && !connected && !counts && !pattern) return false;
  RankPlace place;
  LogRank* const rank = rank_of(process, line, &place);
  if (rank == nullptr) return true;
  LogCommunicator& communicator = log.communicators[place.communicator];
  if (connected) {
    advance(*rank, Step::kConnected);
    return true;
  }
  if (pattern) {
    const std::string_view path = word_after(text, "type ");
    if (communicator.local_path.empty()) communicator.local_path = path.substr(0, path.find('/'));
    return true;
  }
  advance(*rank, Step::kGraph);
  if (counts)
    read_channel_counts(communicator, text, *channels);
  else if (ring)
    read_ring(communicator, text);
  else
    for (const std::string_view word : words(text))
      if (word.find("->") != std::string_view::npos) add_once(communicator.trees, word, kMostShapes);
  return true;
}

namespace {

constexpr std::string_view kAlgorithms[] = {"TREE",      "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS",
                                            "NVLS_TREE", "PAT"};
constexpr std::string_view kProtocols[] = {"LL", "LL128", "SIMPLE"};

// Returns the name. NCCL prints names since 2.22, before that their numbers.
template <std::size_t N>
std::string name_of(std::string_view word, const std::string_view (&names)[N]) {
  const auto number = parse_number<std::size_t>(word);
  return std::string(number && *number < N ? names[*number] : word);
}

void add_choice(LogState& state, const LogChoice& choice) {
  std::vector<LogChoice>& choices = state.log.choices;
  auto key = std::tuple(choice.function, choice.algorithm, choice.protocol);
  const auto found = state.choice_places.find(key);
  if (found == state.choice_places.end()) {
    if (choices.size() >= kMostChoices) return;
    state.choice_places.emplace(std::move(key), choices.size());
    choices.push_back(choice);
    return;
  }
  LogChoice& other = choices[found->second];
  other.from_bytes = std::min(other.from_bytes, choice.from_bytes);
  other.to_bytes = std::max(other.to_bytes, choice.to_bytes);
  other.channels = std::max(other.channels, choice.channels);
  other.count += 1;
}

}  // namespace

// "AllReduce: 8 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..0}", before 2.22 "8 Bytes -> Algo 1 proto 0
// time 7.2"; "AllReduce: opCount 4 sendbuff … comm 0x1ad567e0 [nranks=2] stream (nil)"
bool LogState::read_operation(LogProcess& process, const LogLine& line) {
  Scan scan(line.text);
  const std::size_t chosen = line.text.find(" Bytes -> Algo ");
  if (chosen != std::string_view::npos) {
    LogChoice choice{.count = 1};
    if (const std::size_t colon = line.text.find(": "); colon < chosen) {
      choice.function = line.text.substr(0, colon);
      scan.take(line.text.substr(0, colon + 2));
    }
    const auto bytes = scan.number<std::uint64_t>();
    if (!bytes) return false;
    choice.from_bytes = choice.to_bytes = *bytes;
    choice.algorithm = name_of(word_after(line.text, "Algo "), kAlgorithms);
    choice.protocol = name_of(word_after(line.text, "proto "), kProtocols);
    const auto low = number_after(line.text, "={");
    Scan range(line.text);
    if (low && range.skip_past("={") && range.skip_past("..")) {
      const auto last = range.number();
      if (last && *last >= *low) choice.channels = *last - *low + 1;
    }
    add_choice(*this, choice);
    return true;
  }
  const std::string_view function = scan.until(":");
  if (!scan.take(": opCount ")) return false;
  const auto number = scan.number<std::uint64_t>(16);
  const auto found = process.pointers.find(std::string(pointer_of(line.text)));
  if (!number || found == process.pointers.end()) return true;
  LogRank& rank = at(found->second);
  // opCount numbers the operations, but stays 0 for a series that NCCL launches as one plan (seen in 2.28.9):
  // then the lines are counted. Sends and receives differ from rank to rank by nature.
  const bool paired = function == "Send" || function == "Recv";
  const std::uint64_t called = rank.operations.value_or(0);
  rank.operations = *number > 0 ? std::max(called, *number + 1)
                    : paired    ? std::max<std::uint64_t>(called, 1)
                                : called + 1;
  rank.last_operation = function;
  advance(rank, Step::kOperation);
  return true;
}

}  // namespace railbed::diagnose
