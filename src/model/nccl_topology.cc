// An element `pci` with children of its own is a switch, and NCCL leaves out root ports and the downstream ports of
// switches. `link_speed` and `link_width` are what both ends of the link upwards can do, also while a GPU is idle.
#include "model/nccl_topology.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/xml.h"

namespace railbed {
namespace {

// NCCL's own reader takes at most 640 elements in one; a node of 16 GPUs, 32 adapters and their NVLinks has fewer than
// a thousand in all, the 18 nodes of a rack with one NVLink network about two thousand.
constexpr std::size_t kMostElements = 4000;
constexpr std::size_t kDeepestElement = 64;
constexpr std::size_t kLongestFile = 4 << 20;

std::string value_of(const XmlTag& tag, std::string_view name) {
  constexpr std::size_t kLongestValue = 255;  // NCCL's MAX_STR_LEN
  const auto value = tag.attribute(name);
  return value ? printable(xml_plain(value->substr(0, kLongestValue))) : "";
}

// Parses "0x1f" or "31"; nullopt for anything else.
std::optional<std::int64_t> integer_of(const XmlTag& tag, std::string_view name) {
  const std::string text = value_of(tag, name);
  if (text.starts_with("0x")) return parse_number<std::int64_t>(std::string_view(text).substr(2), 16);
  return parse_number<std::int64_t>(text);
}

std::optional<int> count_of(const XmlTag& tag, std::string_view name, int most) {
  const auto value = integer_of(tag, name);
  return value && *value >= 0 && *value <= most ? std::optional(static_cast<int>(*value)) : std::nullopt;
}

std::optional<bool> flag_of(const XmlTag& tag, std::string_view name) {
  const auto value = integer_of(tag, name);
  return value ? std::optional(*value != 0) : std::nullopt;
}

// Returns what both ends can do: "16.0 GT/s PCIe" or "16 GT/s", and lanes; nullopt if either is not stated.
std::optional<PcieLink> link_of(const XmlTag& tag) {
  const std::string text = value_of(tag, "link_speed");
  const auto speed = parse_real(std::string_view(text).substr(0, text.find(' ')));
  const auto width = count_of(tag, "link_width", 32);
  constexpr double kFastestLane = 1000;
  if (!speed || *speed <= 0 || *speed > kFastestLane || !width || *width == 0) return std::nullopt;
  return PcieLink{*speed, *width};
}

// An open element that matters.
struct OpenElement {
  std::string_view name;
  std::optional<std::size_t> pci;  // index in TopologyReader's list, of `pci`
  std::optional<std::size_t> gpu;  // index in the graph, of `gpu`
};

// A `pci` element, which may turn out to be a switch, a GPU or an adapter.
struct PciElement {
  std::string address;
  std::string device_class;
  GraphPlace up;
  std::optional<std::size_t> parent;
  bool has_pci = false;  // below it
  bool is_gpu = false;   // an element `gpu` is below it
  bool is_nic = false;   // an element `nic` is
  std::optional<int> bridge;
};

class TopologyReader {
 public:
  explicit TopologyReader(std::string_view text) : text_(text), reader_(text) {}

  Result<NodeGraph> read() {
    graph_.source = "NCCL's topology file";
    bool in_system = false;
    std::size_t elements = 0;
    while (const auto tag = reader_.next()) {
      if (tag->kind == XmlTag::Kind::kClose) {
        if (open_.empty() || open_.back().name != tag->name)
          return broken(*tag, "closes no element that is open");
        open_.pop_back();
        if (open_.empty()) break;  // what follows is another document
        continue;
      }
      if (++elements > kMostElements) return broken(*tag, "is one more element than a node can have");
      if (open_.size() >= kDeepestElement) return broken(*tag, "is too deep");
      if (!in_system) {
        if (tag->name != "system") return broken(*tag, "is not `system`");
        if (const auto version = integer_of(*tag, "version"); !version || *version != 1)
          return broken(*tag, "has no version that railbed knows (1)");
        in_system = true;
      }
      OpenElement element = begin(*tag);
      if (tag->kind == XmlTag::Kind::kOpen) open_.push_back(element);
      if (open_.empty()) break;
    }
    if (!in_system) return fail(ErrorKind::kBadInput, "no element `system`: not a topology file of NCCL's");
    if (reader_.is_cut() || !open_.empty())
      return fail(ErrorKind::kBadInput, "the topology file is cut short");
    finish();
    return std::move(graph_);
  }

 private:
  tl::unexpected<Error> broken(const XmlTag& tag, std::string_view what) const {
    const auto at = static_cast<std::size_t>(tag.name.data() - text_.data());
    const auto line = 1 + std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(at), '\n');
    return fail(ErrorKind::kBadInput,
                fmt::format("line {}: `{}` {}", line, printable(tag.name.substr(0, 40)), what));
  }

  std::optional<std::size_t> enclosing_pci() const {
    for (auto element = open_.rbegin(); element != open_.rend(); ++element)
      if (element->pci) return element->pci;
    return std::nullopt;
  }

  OpenElement begin(const XmlTag& tag) {
    OpenElement element{tag.name, std::nullopt, std::nullopt};
    if (tag.name == "cpu") {
      socket_ = static_cast<int>(graph_.sockets.size());
      graph_.sockets.push_back({count_of(tag, "numaid", 1 << 16).value_or(socket_), value_of(tag, "vendor")});
    } else if (tag.name == "pci") {
      element.pci = add_pci(tag);
    } else if (tag.name == "gpu") {
      element.gpu = add_gpu(tag);
    } else if (tag.name == "nvlink" && !open_.empty() && open_.back().gpu) {
      add_nvlink(graph_.gpus[*open_.back().gpu], tag);
    } else if (tag.name == "c2c" && !open_.empty() && open_.back().gpu) {
      graph_.gpus[*open_.back().gpu].c2c = true;
    } else if (tag.name == "nic") {
      if (const auto pci = enclosing_pci()) pci_[*pci].is_nic = true;
    } else if (tag.name == "net") {
      add_net(tag);
    }
    return element;
  }

  std::size_t add_pci(const XmlTag& tag) {
    PciElement pci;
    pci.address = lower(value_of(tag, "busid"));
    pci.device_class = lower(value_of(tag, "class"));
    pci.parent = enclosing_pci();
    if (pci.parent) pci_[*pci.parent].has_pci = true;
    if (!graph_.sockets.empty()) pci.up.socket = socket_;
    pci.up.placed = true;
    pci.up.link = pci.up.possible = link_of(tag);
    pci_.push_back(std::move(pci));
    return pci_.size() - 1;
  }

  std::size_t add_gpu(const XmlTag& tag) {
    GraphGpu gpu;
    const auto dev = count_of(tag, "dev", 1 << 16);
    gpu.name = fmt::format("GPU{}", dev ? static_cast<std::size_t>(*dev) : graph_.gpus.size());
    gpu.capability = count_of(tag, "sm", 1000);
    gpu.gpudirect = flag_of(tag, "gdr");
    const auto pci = enclosing_pci();
    if (pci) pci_[*pci].is_gpu = true;
    gpu_pci_.push_back(pci);
    graph_.gpus.push_back(std::move(gpu));
    return graph_.gpus.size() - 1;
  }

  static void add_nvlink(GraphGpu& gpu, const XmlTag& tag) {
    constexpr int kMostNvlinks = 1000;
    const int count = count_of(tag, "count", kMostNvlinks).value_or(0);
    // NCCL writes the class of a switch, or of a GPU, as it finds it.
    const bool to_gpu = value_of(tag, "tclass").starts_with("0x03");
    const std::string to = to_gpu ? lower(value_of(tag, "target")) : "";
    const auto known = std::ranges::find(gpu.nvlinks_to, to, &GraphNvlinks::to);
    if (known != gpu.nvlinks_to.end())
      known->count = std::min(known->count + count, kMostNvlinks);
    else
      gpu.nvlinks_to.push_back({to, count});
    gpu.nvlinks = std::min(gpu.nvlinks.value_or(0) + count, kMostNvlinks);
  }

  void add_net(const XmlTag& tag) {
    GraphPort port;
    const auto number = count_of(tag, "port", 256);
    port.name = value_of(tag, "name");
    if (number && *number > 1) port.name += fmt::format("/{}", *number);
    // Megabits a second; -1 or 0 where the plug-in does not know it.
    constexpr std::int64_t kFastestPort = 100'000'000;
    if (const auto speed = integer_of(tag, "speed"); speed && *speed > 0 && *speed <= kFastestPort)
      port.rate = BitRate::gigabits(static_cast<double>(*speed) / 1000);
    ports_.emplace_back(enclosing_pci(), std::move(port));
    sockets_of_ports_.push_back(graph_.sockets.empty() ? std::nullopt : std::optional(socket_));
  }

  // Returns the place of a device below the switches that enclose it, which it adds.
  GraphPlace place_of(std::size_t index) {
    GraphPlace place = pci_[index].up;
    if (pci_[index].parent) place.bridge = bridge_of(*pci_[index].parent);
    return place;
  }

  int bridge_of(std::size_t index) {
    // Outermost first, so that each finds the one above it. The depth of elements bounds this.
    std::vector<std::size_t> chain;
    for (std::optional<std::size_t> at = index; at && !pci_[*at].bridge; at = pci_[*at].parent)
      chain.push_back(*at);
    for (auto at = chain.rbegin(); at != chain.rend(); ++at) {
      PciElement& pci = pci_[*at];
      GraphBridge bridge{pci.address, pci.up, true, std::nullopt};
      if (pci.parent) bridge.up.bridge = pci_[*pci.parent].bridge;
      pci.bridge = static_cast<int>(graph_.bridges.size());
      graph_.bridges.push_back(std::move(bridge));
    }
    return *pci_[index].bridge;
  }

  void finish() {
    for (std::size_t i = 0; i < graph_.gpus.size(); ++i)
      if (gpu_pci_[i]) {
        graph_.gpus[i].address = pci_[*gpu_pci_[i]].address;
        graph_.gpus[i].up = place_of(*gpu_pci_[i]);
      }
    add_ports();
    // Devices of which the file has nothing but the class: a cloud's file for NCCL_TOPO_FILE.
    for (std::size_t i = 0; i < pci_.size(); ++i) {
      const PciElement& pci = pci_[i];
      if (pci.has_pci || pci.is_gpu || has_ports(pci.address)) continue;
      if (pci.device_class.starts_with("0x03")) {
        GraphGpu gpu;
        gpu.name = fmt::format("GPU{}", graph_.gpus.size());
        gpu.address = pci.address;
        gpu.up = place_of(i);
        graph_.gpus.push_back(std::move(gpu));
      } else if (pci.is_nic || pci.device_class.starts_with("0x02")) {
        GraphAdapter adapter;
        adapter.name = adapter.address = pci.address;
        adapter.up = place_of(i);
        graph_.adapters.push_back(std::move(adapter));
      }
    }
  }

  bool has_ports(std::string_view address) const {
    return std::ranges::find(graph_.adapters, address, &GraphAdapter::address) != graph_.adapters.end();
  }

  void add_ports() {
    for (std::size_t i = 0; i < ports_.size(); ++i) {
      const std::optional<std::size_t> pci = ports_[i].first;
      GraphPort& port = ports_[i].second;
      auto adapter = pci ? std::ranges::find(graph_.adapters, pci_[*pci].address, &GraphAdapter::address)
                         : graph_.adapters.end();
      if (adapter == graph_.adapters.end()) {
        GraphAdapter made;
        made.name = port.name;
        if (pci) {
          made.address = pci_[*pci].address;
          made.up = place_of(*pci);
        } else {
          // At the processor, without a place on PCI: NCCL writes so what it cannot find there.
          made.up.socket = sockets_of_ports_[i];
        }
        graph_.adapters.push_back(std::move(made));
        adapter = graph_.adapters.end() - 1;
      }
      adapter->ports.push_back(std::move(port));
    }
  }

  std::string_view text_;
  XmlReader reader_;
  NodeGraph graph_;
  int socket_ = 0;  // the last one
  std::vector<OpenElement> open_;
  std::vector<PciElement> pci_;
  std::vector<std::optional<std::size_t>> gpu_pci_;  // of the graph's GPUs
  std::vector<std::pair<std::optional<std::size_t>, GraphPort>> ports_;
  std::vector<std::optional<int>> sockets_of_ports_;
};

// Returns true if the first element has this name and a version.
bool begins_with(std::string_view text, std::string_view element) {
  constexpr std::size_t kHead = 4096;  // a licence may come first
  if (text.substr(0, kHead).find(fmt::format("<{}", element)) == text.npos) return false;
  XmlReader reader(text.substr(0, kLongestFile));
  const auto tag = reader.next();
  return tag && tag->name == element && tag->attribute("version").has_value();
}

}  // namespace

bool is_nccl_topology(std::string_view text) { return begins_with(text, "system"); }
bool is_nccl_graphs(std::string_view text) { return begins_with(text, "graphs"); }

Result<NcclGraphs> parse_nccl_graphs(std::string_view text) {
  if (text.size() > kLongestFile) return fail(ErrorKind::kBadInput, "longer than a file of graphs can be");
  if (!is_nccl_graphs(text)) return fail(ErrorKind::kBadInput, "no element `graphs`");
  constexpr int kMostDevices = 4096;
  NcclGraphs found;
  bool closed = false;
  XmlReader reader(text);
  while (const auto tag = reader.next()) {
    closed |= tag->name == "graphs" && tag->kind != XmlTag::Kind::kOpen;
    if (tag->kind == XmlTag::Kind::kClose) continue;
    found.graphs += tag->name == "graph";
    found.channels += tag->name == "channel";
    const auto device = count_of(*tag, "dev", kMostDevices);
    if (device && tag->name == "gpu") found.gpus.insert(*device);
    if (device && tag->name == "net") found.adapters.insert(*device);
  }
  if (!closed) return fail(ErrorKind::kBadInput, "the file is cut short");
  return found;
}

Result<NodeGraph> parse_nccl_topology(std::string_view text) {
  if (text.size() > kLongestFile) return fail(ErrorKind::kBadInput, "longer than a topology file can be");
  return TopologyReader(text).read();
}

}  // namespace railbed
