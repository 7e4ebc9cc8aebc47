// Parses the matrices of `nvidia-smi topo`. Drivers 3xx name the columns of adapters by device (mlx5_0) and end with
// "CPU Affinity"; later ones name them NIC0 with a legend below, and add "NUMA Affinity" (since 450) and "GPU NUMA ID"
// (since 530). Cells of wide matrices may run into one another, so each cell that is used is checked.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "host/support/nvidia_smi.h"
#include "host/support/texts.h"
#include "nvidia/gpu_answers.h"

namespace railbed {
namespace {

using Row = std::vector<std::string_view>;

struct Matrix {
  std::vector<int> gpus;  // of the columns, which are the first ones
  int trailing = 0;       // columns behind the devices: affinities
  int numa_from_end = 0;  // place of "NUMA Affinity" among these, counted from the end; 0: none
  std::vector<std::pair<int, Row>>
      rows;  // by GPU: the cells of the columns `gpus`, then the last `trailing` words
};

std::optional<int> gpu_number(std::string_view word) {
  constexpr std::string_view kGpu = "GPU";
  return word.starts_with(kGpu) && is_digits(word.substr(kGpu.size()))
             ? parse_number<int>(word.substr(kGpu.size()))
             : std::nullopt;
}

bool is_topology_head(std::string_view line) {
  const auto columns = words(line);
  return !columns.empty() && gpu_number(columns.front()) == 0 && !(columns.size() > 1 && columns[1] == "X");
}

void read_columns(std::string_view line, Matrix& matrix) {
  for (const auto word : words(line)) {
    const auto gpu = gpu_number(word);
    if (!gpu || matrix.gpus.size() >= kMostGpus) break;
    matrix.gpus.push_back(*gpu);
  }
  constexpr std::string_view kAffinities[] = {"CPU Affinity", "NUMA Affinity", "GPU NUMA ID"};
  for (const auto name : kAffinities) {
    if (line.find(name) == line.npos) continue;
    ++matrix.trailing;
    if (matrix.numa_from_end > 0) ++matrix.numa_from_end;
    if (name == "NUMA Affinity") matrix.numa_from_end = 1;
  }
}

// Adds the row of a GPU if its cells are whole: one for each column, with "X" where it meets itself.
void read_row(const Row& parts, Matrix& matrix) {
  const auto gpu = gpu_number(parts.front());
  const std::size_t columns = matrix.gpus.size();
  if (!gpu || parts.size() < 1 + columns + static_cast<std::size_t>(matrix.trailing)) return;
  Row cells(parts.begin() + 1, parts.begin() + 1 + static_cast<std::ptrdiff_t>(columns));
  for (std::size_t i = 0; i < columns; ++i)
    if ((matrix.gpus[i] == *gpu) != (cells[i] == "X")) return;
  cells.insert(cells.end(), parts.end() - matrix.trailing, parts.end());
  matrix.rows.emplace_back(*gpu, std::move(cells));
}

Matrix matrix_in(std::string_view text) {
  Matrix matrix;
  for (const auto line : lines(text)) {
    const Row parts = words(line);
    if (parts.empty()) continue;
    if (matrix.gpus.empty()) {
      if (is_topology_head(line)) read_columns(line, matrix);
    } else if (parts.front() == "Legend:" || matrix.rows.size() >= kMostGpus) {
      break;
    } else {
      read_row(parts, matrix);
    }
  }
  return matrix;
}

bool is_nvlink(std::string_view cell) { return cell.starts_with("NV") && is_digits(cell.substr(2)); }
bool is_pci(std::string_view cell) {
  constexpr std::string_view kWays[] = {"PIX", "PXB", "PHB", "NODE", "SYS", "SOC"};
  return std::ranges::find(kWays, cell) != std::end(kWays);
}

// Returns NVML's words for a status (nvmlGpuP2PStatus_t); empty if it is none.
std::string_view status_text(std::string_view cell) {
  constexpr std::pair<std::string_view, std::string_view> kStatuses[] = {{"OK", "ok"},
                                                                         {"CNS", "chipset not supported"},
                                                                         {"GNS", "gpu not supported"},
                                                                         {"TNS", "topology not supported"},
                                                                         {"DR", "disabled by regkey"},
                                                                         {"NS", "not supported"},
                                                                         {"U", "unknown"}};
  for (const auto& [theirs, ours] : kStatuses)
    if (cell == theirs) return ours;
  return {};
}

// Calls use(from, to, cell) for each two GPUs with an address.
template <class Use>
void each_pair(const Matrix& matrix, const GpuAddresses& addresses, Use&& use) {
  for (const auto& [gpu, cells] : matrix.rows) {
    const auto from = addresses.find(gpu);
    if (from == addresses.end()) continue;
    for (std::size_t i = 0; i < matrix.gpus.size(); ++i)
      if (const auto to = addresses.find(matrix.gpus[i]); to != addresses.end() && matrix.gpus[i] != gpu)
        use(from->second, to->second, cells[i]);
  }
}

// A GPU without any NVLink in its row has none that is up. One with some may have no direct one to another GPU.
void read_ways(const Matrix& matrix, const GpuAddresses& addresses, bool has_nvlinks, NvmlPeers& peers) {
  std::map<std::string, bool> linked;
  each_pair(matrix, addresses, [&](const std::string& from, const std::string&, std::string_view cell) {
    linked[from] = linked[from] || !is_pci(cell);
  });
  each_pair(matrix, addresses, [&](const std::string& from, const std::string& to, std::string_view cell) {
    if (is_nvlink(cell)) peers[from][to].nvlink = "ok";
    if (has_nvlinks && !linked[from]) peers[from][to].nvlink = fmt::format("no NVLink is up, only {}", cell);
  });
}

void add_numa_nodes(const Matrix& matrix, const GpuAddresses& addresses, ReportTree& report) {
  if (matrix.numa_from_end == 0) return;
  for (const auto& [gpu, cells] : matrix.rows) {
    const auto address = addresses.find(gpu);
    const auto node = cells[cells.size() - static_cast<std::size_t>(matrix.numa_from_end)];
    // "N/A" where there is one node, "0-1" where none is nearer.
    if (address != addresses.end() && is_digits(node))
      report.line("/sys/bus/pci/devices/" + address->second + "/numa_node", node);
  }
}

}  // namespace

bool is_nvidia_topology(std::string_view text) {
  const auto head = lines(text.substr(0, 64 << 10));
  return !head.empty() && is_topology_head(head.front()) && !matrix_in(text).rows.empty();
}

void add_nvidia_topology(const TopologyTexts& texts, const GpuAddresses& addresses, ReportTree& report) {
  NvmlPeers peers;
  const Matrix ways = matrix_in(texts.ways);
  read_ways(ways, addresses, texts.has_nvlinks, peers);
  add_numa_nodes(ways, addresses, report);
  const auto add = [&](std::string_view text, std::string NvmlPeer::*status) {
    each_pair(matrix_in(text), addresses,
              [&](const std::string& from, const std::string& to, std::string_view cell) {
                if (const auto found = status_text(cell); !found.empty()) peers[from][to].*status = found;
              });
  };
  add(texts.read, &NvmlPeer::read);
  add(texts.nvlink, &NvmlPeer::nvlink);
  const bool any = std::ranges::any_of(peers, [](const auto& row) {
    return std::ranges::any_of(
        row.second, [](const auto& to) { return !to.second.read.empty() || !to.second.nvlink.empty(); });
  });
  if (any) report.call("nvml p2p", json::dump(json::encode(peers)));
  const bool is_given = !texts.ways.empty() || !texts.read.empty() || !texts.nvlink.empty();
  if (is_given && addresses.empty())
    report.leave_out(
        "`nvidia-smi topo`: it names GPUs by number, and nothing here states their PCI addresses; add the output of "
        "nvidia-smi or nvidia-smi -q of the same machine");
}

}  // namespace railbed
