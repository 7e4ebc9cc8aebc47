// Reads the table that nvidia-smi prints without options. A GPU has two or three rows of three cells (drivers 4xx
// to 6xx):
//   |   0  NVIDIA H100 80GB HBM3          On  |   00000000:19:00.0 Off |                    0 |
//   | N/A   34C    P0             70W /  700W |       4MiB / 81559MiB  |      0%      Default |
//   |                                         |                        |             Disabled |
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "base/text.h"
#include "host/support/nvidia_smi.h"
#include "host/support/texts.h"

namespace railbed {
namespace {

using Cells = std::array<std::vector<std::string_view>, 3>;  // the words of each

std::optional<Cells> cells_of(std::string_view line) {
  const auto parts = split(trim(line), '|');
  if (parts.size() != 5 || !parts.front().empty() || !parts.back().empty()) return std::nullopt;
  return Cells{words(parts[1]), words(parts[2]), words(parts[3])};
}

// Returns the words [from, to) with one space between them.
std::string spaced(const std::vector<std::string_view>& parts, std::size_t from, std::size_t to) {
  std::string text;
  for (std::size_t i = from; i < to; ++i) text.append(text.empty() ? "" : " ").append(parts[i]);
  return text;
}

// Adds "70W" as "70 W"; "N/A" and "ERR!" as they are.
void add_measured(SmiValues& values, const char* name, std::string_view text, std::string_view unit) {
  std::string value(text);
  if (text.ends_with(unit)) value.insert(value.size() - unit.size(), " ");
  values.emplace(name, std::move(value));
}

// Adds "70W / 700W", whose slash may stand against its neighbours, from the words at `first`.
void add_pair(SmiValues& values, const char* left, const char* right,
              const std::vector<std::string_view>& parts, std::size_t first, std::string_view unit) {
  const std::string text = spaced(parts, std::min(first, parts.size()), parts.size());
  const auto pair = key_value(text, '/');
  // "N/A / N/A"
  if (!pair || text.starts_with("N/A")) return;
  add_measured(values, left, pair->first, unit);
  add_measured(values, right, pair->second, unit);
}

std::string spelled(std::string_view word) {
  if (word == "On") return "Enabled";
  if (word == "Off") return "Disabled";
  if (word == "E.") return "Exclusive_Process";
  return std::string(word);
}

void read_first_row(const Cells& cells, SmiValues& values) {
  const auto& name = cells[0];
  // Drivers cut long names: "Tesla V100-SXM2...".
  std::string product = spaced(name, 1, name.size() - 1);
  if (!product.ends_with("...")) values.emplace("Product Name", std::move(product));
  // On Windows, the column is the driver's model: WDDM, TCC or MCDM.
  const bool states_mode = name.back() == "On" || name.back() == "Off";
  values.emplace("Persistence Mode", states_mode ? spelled(name.back()) : "N/A");
  if (cells[2].empty()) return;
  const auto errors = cells[2].front();
  // "Off" where ECC is off, "On" where it is on and MIG hides the count.
  values.emplace("ECC Mode/Current", errors == "Off" || errors == "On" || errors == "N/A" ? spelled(errors)
                                     : is_digits(errors)                                  ? "Enabled"
                                                         : std::string(errors));
  if (is_digits(errors)) values.emplace("ECC Errors/Volatile/Double Bit/Total", std::string(errors));
}

void read_second_row(const Cells& cells, SmiValues& values) {
  const auto& state = cells[0];
  if (state.size() < 4) return;
  add_measured(values, "Fan Speed", state[0], "%");
  add_measured(values, "Temperature/GPU Current Temp", state[1], "C");
  add_pair(values, "GPU Power Readings/Average Power Draw", "GPU Power Readings/Current Power Limit", state,
           3, "W");
  add_pair(values, "FB Memory Usage/Used", "FB Memory Usage/Total", cells[1], 0, "MiB");
  if (cells[2].empty()) return;
  add_measured(values, "Utilization/GPU", cells[2][0], "%");
  if (cells[2].size() > 1) values.emplace("Compute Mode", spelled(cells[2][1]));
}

void read_third_row(const Cells& cells, SmiValues& values) {
  if (!cells[0].empty() || cells[2].empty()) return;
  values.emplace("MIG Mode/Current", std::string(cells[2].front()));
}

void read_head(std::string_view line, SmiValues& head) {
  for (const char* name : {"Driver Version", "KMD Version", "CUDA Version", "CUDA UMD Version"}) {
    const auto at = line.find(std::string(name) + ": ");
    if (at == line.npos) continue;
    const auto value = words(line.substr(at + std::string_view(name).size() + 1));
    if (!value.empty()) head.emplace(name, std::string(value.front()));
  }
}

// Returns the PCI address in a GPU's first row; empty if the row is another.
std::string address_in(const Cells& cells) {
  const bool fits = cells[0].size() >= 3 && is_digits(cells[0].front()) && !cells[1].empty();
  return fits && !full_pci_address(cells[1].front()).empty() ? std::string(cells[1].front()) : "";
}

// Returns the name of a GPU in a first row without a PCI address: "Orin (nvgpu)" of a Jetson; empty for another row.
std::string unplaced_name(const Cells& cells) {
  const bool fits = cells[0].size() >= 3 && is_digits(cells[0].front()) && !cells[1].empty() &&
                    cells[1].front() == "N/A" && cells[0].back() == "N/A";
  return fits ? spaced(cells[0], 1, cells[0].size() - 1) : "";
}

}  // namespace

bool is_nvidia_smi_table(std::string_view text) {
  constexpr std::size_t kHead = 64 << 10;
  return text.substr(0, kHead).find("| NVIDIA-SMI ") != text.npos;
}

SmiOutput read_nvidia_smi_table(std::string_view text) {
  SmiOutput output;
  int row = 0;
  for (const auto line : lines(text)) {
    if (line.find("| NVIDIA-SMI ") != line.npos) read_head(line, output.head);
    const auto cells = cells_of(line);
    if (!cells) {
      row = 0;
      continue;
    }
    if (std::string address = address_in(*cells); !address.empty() && output.gpus.size() < kMostGpus) {
      output.gpus.emplace_back(std::move(address), SmiValues());
      output.gpus.back().second.emplace(kSmiIndex, std::string((*cells)[0].front()));
      read_first_row(*cells, output.gpus.back().second);
      row = 1;
    } else if (std::string name = unplaced_name(*cells);
               !name.empty() && output.without_address.size() < kMostGpus) {
      output.without_address.push_back(std::move(name));
      row = 0;
    } else if (row == 1) {
      read_second_row(*cells, output.gpus.back().second);
      row = 2;
    } else if (row == 2) {
      read_third_row(*cells, output.gpus.back().second);
      row = 0;
    }
  }
  return output;
}

}  // namespace railbed
