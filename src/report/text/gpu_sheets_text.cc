#include "report/text/gpu_sheets_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <span>

#include "base/text.h"
#include "report/text/hostlist.h"

namespace railbed {
namespace {

constexpr std::size_t kSheetLabelWidth = 23;
constexpr std::size_t kSheetWidth = 19;  // three of them and the label fit in 80 columns
constexpr std::size_t kSheetsBeside = 3;
constexpr std::string_view kNotPublished = "not published";
constexpr std::string_view kDense =
    "Rates are dense (without sparsity), TFLOP/s (INT8: TOP/s), with 32-bit sums.\n";

template <class Number>
std::string sheet_number(const std::optional<Number>& number, std::string_view unit = "") {
  if (!number) return std::string(kNotPublished);
  if (*number == Number{}) return "none";
  return fmt::format("{:.5g}{}", static_cast<double>(*number), unit);
}

std::string sheet_count(const std::optional<int>& count) {
  return count ? std::to_string(*count) : std::string(kNotPublished);
}

std::string nvlink_text(const GpuSheet& sheet) {
  if (sheet.nvlink_generation == 0) return sheet.nvlink;
  return fmt::format("{}, {:g} GB/s", sheet.nvlink_generation, sheet.nvlink_bandwidth);
}

std::string pcie_text(const GpuSheet& sheet) {
  if (!sheet.pcie_generation) return std::string(kNotPublished);
  return fmt::format("{}.0{}", *sheet.pcie_generation,
                     sheet.pcie_lanes ? fmt::format(" x{}", *sheet.pcie_lanes) : "");
}

std::string toolkits_text(const GpuSheet& sheet, std::string_view first) {
  return sheet.last_toolkit.empty() ? fmt::format("from {}", first)
                                    : fmt::format("{} to {}", first, sheet.last_toolkit);
}

std::string drivers_text(const GpuSheet& sheet) {
  return sheet.last_driver == 0 ? fmt::format("from {}", sheet.first_driver)
                                : fmt::format("{} to {}", sheet.first_driver, sheet.last_driver);
}

struct SheetRow {
  std::string_view label;
  std::string (*text)(const GpuSheet& sheet);
};
constexpr SheetRow kSheetRows[] = {
    {"Architecture", [](const GpuSheet& sheet) { return sheet.architecture; }},
    {"Compute capability", [](const GpuSheet& sheet) { return sheet.capability; }},
    {"Form", [](const GpuSheet& sheet) { return sheet.form; }},
    {"Multiprocessors", [](const GpuSheet& sheet) { return sheet_count(sheet.multiprocessors); }},
    {"CUDA cores", [](const GpuSheet& sheet) { return sheet_count(sheet.cores); }},
    {"FP64", [](const GpuSheet& sheet) { return sheet_number(sheet.fp64); }},
    {"FP64 tensor", [](const GpuSheet& sheet) { return sheet_number(sheet.fp64_tensor); }},
    {"FP32", [](const GpuSheet& sheet) { return sheet_number(sheet.fp32); }},
    {"TF32 tensor", [](const GpuSheet& sheet) { return sheet_number(sheet.tf32); }},
    {"BF16", [](const GpuSheet& sheet) { return sheet_number(sheet.bf16); }},
    {"FP16", [](const GpuSheet& sheet) { return sheet_number(sheet.fp16); }},
    {"FP8", [](const GpuSheet& sheet) { return sheet_number(sheet.fp8); }},
    {"FP4", [](const GpuSheet& sheet) { return sheet_number(sheet.fp4); }},
    {"INT8", [](const GpuSheet& sheet) { return sheet_number(sheet.int8); }},
    {"Memory",
     [](const GpuSheet& sheet) { return fmt::format("{} GB {}", sheet.memory_gb, sheet.memory_kind); }},
    {"Memory bus", [](const GpuSheet& sheet) { return sheet_number(sheet.memory_bus, " bit"); }},
    {"Memory bandwidth",
     [](const GpuSheet& sheet) { return fmt::format("{:g} GB/s", sheet.memory_bandwidth); }},
    {"ECC", [](const GpuSheet& sheet) { return std::string(sheet.ecc ? "on as shipped" : "not known"); }},
    {"NVLink", nvlink_text},
    {"PCIe", pcie_text},
    {"BAR1",
     [](const GpuSheet& sheet) { return std::string(sheet.whole_bar1 ? "all its memory" : "not known"); }},
    {"Watts", [](const GpuSheet& sheet) { return sheet_number(sheet.watts); }},
    {"NVENC", [](const GpuSheet& sheet) { return sheet_number(sheet.nvenc); }},
    {"NVDEC", [](const GpuSheet& sheet) { return sheet_number(sheet.nvdec); }},
    {"NVJPEG", [](const GpuSheet& sheet) { return sheet_number(sheet.nvjpeg); }},
    {"MIG instances", [](const GpuSheet& sheet) { return sheet_number(std::optional(sheet.mig)); }},
    {"Driver branches", drivers_text},
    {"CUDA toolkits", [](const GpuSheet& sheet) { return toolkits_text(sheet, sheet.first_toolkit); }},
    {"NCCL built for CUDA",
     [](const GpuSheet& sheet) { return toolkits_text(sheet, sheet.first_nccl_toolkit()); }},
};

void trim_end(std::string& line) { line.erase(line.find_last_not_of(' ') + 1); }

std::string sheet_line(std::string_view label, std::span<const GpuSheet> sheets,
                       const std::function<std::string(const GpuSheet&)>& text) {
  std::string line = fmt::format("{:<{}}", label, kSheetLabelWidth);
  for (const GpuSheet& sheet : sheets) line += fmt::format("{:<{}}", text(sheet), kSheetWidth);
  trim_end(line);
  return line + '\n';
}

std::string sheet_block(std::span<const GpuSheet> sheets) {
  std::string text = sheet_line("", sheets, [](const GpuSheet& sheet) { return sheet.name; });
  for (const SheetRow& row : kSheetRows) text += sheet_line(row.label, sheets, row.text);
  for (std::size_t row = 0; row < sheets.front().technologies.size(); ++row)
    text += sheet_line(sheets.front().technologies[row].technology, sheets, [row](const GpuSheet& sheet) {
      return std::string(
          enum_names(TechnologySupport{})[static_cast<std::size_t>(sheet.technologies[row].support)]);
    });
  return text;
}

}  // namespace

std::string gpu_list_text(const std::vector<GpuSheet>& sheets) {
  std::string text = fmt::format("{:<18}{:<10}{:>4}{:>9}{:>8}{:>8}{:>8}{:>7}{:>6}\n", "", "", "", "memory",
                                 "GB/s", "FP32", "FP16", "FP8", "watts");
  for (const GpuSheet& sheet : sheets) {
    const auto rate = [](const std::optional<double>& number) {
      return !number ? std::string("?") : *number == 0 ? std::string("-") : fmt::format("{:.5g}", *number);
    };
    text += fmt::format("{:<18}{:<10}{:>4}{:>6} GB{:>8}{:>8}{:>8}{:>7}{:>6}\n", sheet.name,
                        sheet.architecture, sheet.capability, sheet.memory_gb,
                        fmt::format("{:g}", sheet.memory_bandwidth), rate(sheet.fp32), rate(sheet.fp16),
                        rate(sheet.fp8), sheet.watts ? std::to_string(*sheet.watts) : "?");
  }
  return text + "\n" + std::string(kDense) +
         "-: it has no such unit; ?: not published. The rest: railbed advise gpus MODEL\n";
}

std::string gpu_sheets_text(const std::vector<GpuSheet>& sheets) {
  std::string text;
  for (const GpuSheet& sheet : sheets)
    if (!sheet.nodes.empty())
      text += printable(fmt::format("{}: {}", sheet.name, listed_hosts(sheet.nodes))) + "\n";
  if (!text.empty()) text += '\n';
  for (std::size_t first = 0; first < sheets.size(); first += kSheetsBeside)
    text +=
        sheet_block(std::span(sheets).subspan(first, std::min(kSheetsBeside, sheets.size() - first))) + "\n";
  text += kDense;
  text +=
      "NVLink: its generation, and all links in both directions. Technologies: eight\n"
      "GPUs beside a ConnectX-7 and an NVMe drive; `railbed advise matrix` says why.\n"
      "\nSources (NVENC, NVDEC, NVJPEG: NVIDIA's Video Encode and Decode Support Matrix)\n";
  for (const GpuSheet& sheet : sheets) {
    text += fmt::format("  {}\n", sheet.name);
    for (const std::string& source : sheet.sources) text += fmt::format("    {}\n", source);
  }
  return text;
}

}  // namespace railbed
