#include "hardware/gpu_product.h"

#include <algorithm>
#include <string>

#include "base/text.h"

namespace railbed {
namespace {

using enum GpuArchitecture;
using enum GpuMarket;

constexpr NvlinkWay kNoLink = NvlinkWay::kNone;
constexpr NvlinkWay kBridged = NvlinkWay::kBridge;
constexpr NvlinkWay kOnBoard = NvlinkWay::kBoard;
constexpr NvlinkWay kSwitched = NvlinkWay::kSwitch;
constexpr int kNever = 0;

constexpr GpuProduct kProducts[] = {
    {"K10", kKepler, 30, kDataCentre, 8, 225, kNoLink, 0, kNever, false},
    {"K20", kKepler, 35, kDataCentre, 5, 225, kNoLink, 0, kNever, false},
    {"K20X", kKepler, 35, kDataCentre, 6, 235, kNoLink, 0, kNever, false},
    {"K40", kKepler, 35, kDataCentre, 12, 235, kNoLink, 0, kNever, false},
    {"K80", kKepler, 37, kDataCentre, 24, 300, kNoLink, 0, kNever, false},
    {"M4", kMaxwell, 52, kDataCentre, 4, 75, kNoLink, 0, kNever, false},
    {"M40", kMaxwell, 52, kDataCentre, 0, 250, kNoLink, 0, kNever, false},
    {"M60", kMaxwell, 52, kDataCentre, 16, 300, kNoLink, 0, 16, false},
    {"P4", kPascal, 61, kDataCentre, 8, 75, kNoLink, 0, 16, false},
    {"P40", kPascal, 61, kDataCentre, 24, 250, kNoLink, 0, 16, false},
    {"P100", kPascal, 60, kDataCentre, 16, 250, kNoLink, 0, 16, false},
    {"P100-SXM2", kPascal, 60, kDataCentre, 16, 300, kOnBoard, 0, 16, false},
    {"V100", kVolta, 70, kDataCentre, 0, 250, kNoLink, 0, 19, false},
    {"V100-SXM2", kVolta, 70, kDataCentre, 0, 300, kOnBoard, 0, 19, false},
    {"V100-PCIE-16GB", kVolta, 70, kDataCentre, 16, 250, kNoLink, 0, 19, false},
    {"V100-PCIE-32GB", kVolta, 70, kDataCentre, 32, 250, kNoLink, 0, 19, false},
    {"V100-SXM2-16GB", kVolta, 70, kDataCentre, 16, 300, kOnBoard, 0, 19, false},
    {"V100-SXM2-32GB", kVolta, 70, kDataCentre, 32, 300, kOnBoard, 0, 19, false},
    {"V100S", kVolta, 70, kDataCentre, 32, 250, kNoLink, 0, 19, false},
    {"V100-SXM3", kVolta, 70, kDataCentre, 32, 350, kSwitched, 0, 19, false},
    {"T4", kTuring, 75, kDataCentre, 16, 70, kNoLink, 0, kVgpuStill, false},
    {"Quadro RTX", kTuring, 75, kWorkstation, 0, 0, kBridged, 0, 19, true},
    {"A100", kAmpere, 80, kDataCentre, 0, 300, kBridged, 7, kVgpuStill, false},
    {"A100-SXM", kAmpere, 80, kDataCentre, 0, 400, kSwitched, 7, kVgpuStill, true},
    {"A100-PCIE-40GB", kAmpere, 80, kDataCentre, 40, 250, kBridged, 7, kVgpuStill, false},
    {"A100 80GB PCIe", kAmpere, 80, kDataCentre, 80, 300, kBridged, 7, kVgpuStill, false},
    {"A100-SXM4-40GB", kAmpere, 80, kDataCentre, 40, 400, kSwitched, 7, kVgpuStill, false},
    {"A100-SXM4-80GB", kAmpere, 80, kDataCentre, 80, 400, kSwitched, 7, kVgpuStill, false},
    {"A100X", kAmpere, 80, kDataCentre, 80, 300, kBridged, 7, kVgpuStill, false},
    {"A800", kAmpere, 80, kDataCentre, 0, 300, kBridged, 7, kVgpuStill, false},
    {"A800 80GB PCIe", kAmpere, 80, kDataCentre, 80, 300, kBridged, 7, kVgpuStill, false},
    {"A800-SXM", kAmpere, 80, kDataCentre, 80, 400, kSwitched, 7, kVgpuStill, true},
    {"A30X", kAmpere, 80, kDataCentre, 24, 230, kBridged, 4, kVgpuStill, false},
    {"A30", kAmpere, 80, kDataCentre, 24, 165, kBridged, 4, kVgpuStill, false},
    {"A2", kAmpere, 86, kDataCentre, 16, 60, kNoLink, 0, kVgpuStill, false},
    {"A10", kAmpere, 86, kDataCentre, 24, 150, kNoLink, 0, kVgpuStill, false},
    {"A16", kAmpere, 86, kDataCentre, 64, 250, kNoLink, 0, kVgpuStill, false},
    {"A40", kAmpere, 86, kDataCentre, 48, 300, kBridged, 0, kVgpuStill, false},
    {"RTX A6000", kAmpere, 86, kWorkstation, 48, 300, kBridged, 0, kVgpuStill, false},
    {"RTX A", kAmpere, 86, kWorkstation, 0, 0, kBridged, 0, kVgpuStill, true},
    {"L4", kAda, 89, kDataCentre, 24, 72, kNoLink, 0, kVgpuStill, false},
    {"L20", kAda, 89, kDataCentre, 48, 275, kNoLink, 0, kVgpuStill, false},
    {"L40", kAda, 89, kDataCentre, 48, 300, kNoLink, 0, kVgpuStill, false},
    {"L40S", kAda, 89, kDataCentre, 48, 350, kNoLink, 0, kVgpuStill, false},
    {"RTX 2000 Ada", kAda, 89, kWorkstation, 16, 70, kNoLink, 0, kNever, false},
    {"RTX 4000 Ada", kAda, 89, kWorkstation, 20, 130, kNoLink, 0, kNever, false},
    {"RTX 4000 SFF Ada", kAda, 89, kWorkstation, 20, 70, kNoLink, 0, kNever, false},
    {"RTX 5000 Ada", kAda, 89, kWorkstation, 32, 250, kNoLink, 0, kVgpuStill, false},
    {"RTX 6000 Ada", kAda, 89, kWorkstation, 48, 300, kNoLink, 0, kVgpuStill, false},
    {"H100", kHopper, 90, kDataCentre, 80, 350, kBridged, 7, kVgpuStill, false},
    {"H100 NVL", kHopper, 90, kDataCentre, 94, 400, kBridged, 7, kVgpuStill, false},
    {"H100 80GB HBM3", kHopper, 90, kDataCentre, 80, 700, kSwitched, 7, kVgpuStill, false},
    {"H800", kHopper, 90, kDataCentre, 80, 700, kSwitched, 7, kVgpuStill, false},
    {"H800 PCIe", kHopper, 90, kDataCentre, 80, 350, kBridged, 7, kVgpuStill, false},
    {"H20", kHopper, 90, kDataCentre, 96, 400, kSwitched, 7, kVgpuStill, false},
    {"H200", kHopper, 90, kDataCentre, 141, 700, kSwitched, 7, kVgpuStill, false},
    {"H200 NVL", kHopper, 90, kDataCentre, 141, 600, kBridged, 7, kVgpuStill, false},
    {"GH200", kHopper, 90, kDataCentre, 96, 0, kNoLink, 7, kVgpuStill, false},
    {"B200", kBlackwell, 100, kDataCentre, 180, 1000, kSwitched, 7, kVgpuStill, false},
    {"GB200", kBlackwell, 100, kDataCentre, 186, 1200, kSwitched, 7, kNever, false},
    {"B300", kBlackwell, 103, kDataCentre, 268, 1100, kSwitched, 7, kVgpuStill, false},
    {"GB300", kBlackwell, 103, kDataCentre, 277, 1400, kSwitched, 7, kNever, false},
    {"RTX PRO 6000", kBlackwell, 120, kWorkstation, 96, 600, kNoLink, 4, kVgpuStill, false},
    {"RTX PRO", kBlackwell, 120, kWorkstation, 0, 0, kNoLink, 0, kNever, false},
    {"GB10", kBlackwell, 121, kUnified, 128, 140, kNoLink, 0, kNever, false},
    {"GTX 9", kMaxwell, 52, kGeForce, 0, 0, kNoLink, 0, kNever, true},
    {"GTX 10", kPascal, 61, kGeForce, 0, 0, kNoLink, 0, kNever, true},
    {"GTX 16", kTuring, 75, kGeForce, 0, 0, kNoLink, 0, kNever, true},
    {"RTX 20", kTuring, 75, kGeForce, 0, 0, kNoLink, 0, kNever, true},
    {"RTX 2080 Ti", kTuring, 75, kGeForce, 11, 250, kBridged, 0, kNever, false},
    {"RTX 3090", kAmpere, 86, kGeForce, 24, 350, kBridged, 0, kNever, false},
    {"RTX 3090 Ti", kAmpere, 86, kGeForce, 24, 450, kBridged, 0, kNever, false},
    {"RTX 4080", kAda, 89, kGeForce, 16, 320, kNoLink, 0, kNever, false},
    {"RTX 4090", kAda, 89, kGeForce, 24, 450, kNoLink, 0, kNever, false},
    {"RTX 5080", kBlackwell, 120, kGeForce, 16, 360, kNoLink, 0, kNever, false},
    {"RTX 5090", kBlackwell, 120, kGeForce, 32, 575, kNoLink, 0, kNever, false},
    {"RTX 30", kAmpere, 86, kGeForce, 0, 0, kNoLink, 0, kNever, true},
    {"RTX 40", kAda, 89, kGeForce, 0, 0, kNoLink, 0, kNever, true},
    {"RTX 50", kBlackwell, 120, kGeForce, 0, 0, kNoLink, 0, kNever, true},
};

// pci.ids (github.com/pciutils/pciids), by the names of the chips: GK, GM, GP, GV, TU, GA, AD, GH, GB.
struct NumbersOfChips {
  PciNumbers numbers;
  GpuArchitecture architecture;
};
constexpr NumbersOfChips kNumbers[] = {
    {{0x0fc0, 0x0fff}, kKepler},    {{0x1001, 0x103f}, kKepler},    {{0x1180, 0x11ff}, kKepler},
    {{0x1280, 0x12ff}, kKepler},    {{0x1340, 0x14ff}, kMaxwell},   {{0x15c2, 0x15ff}, kPascal},
    {{0x1600, 0x16ff}, kMaxwell},   {{0x1725, 0x172f}, kPascal},    {{0x174d, 0x17ff}, kMaxwell},
    {{0x1b00, 0x1d7f}, kPascal},    {{0x1d80, 0x1dff}, kVolta},     {{0x1e00, 0x1fff}, kTuring},
    {{0x2080, 0x20ff}, kAmpere},    {{0x2180, 0x21ff}, kTuring},    {{0x2200, 0x22ff}, kAmpere},
    {{0x2300, 0x23ff}, kHopper},    {{0x2400, 0x25ff}, kAmpere},    {{0x2600, 0x28ff}, kAda},
    {{0x2900, 0x2f7f}, kBlackwell}, {{0x3180, 0x33ff}, kBlackwell},
};

struct TwoForms {
  std::string_view line;
  std::string_view board;
};
constexpr TwoForms kTwoForms[] = {
    {"P100", "P100-SXM2"}, {"V100", "V100-SXM2"}, {"A100", "A100-SXM4"},
    {"A800", "A800-SXM4"}, {"H100", "H100 SXM"},  {"H800", "H800 SXM"},
};
// Words of names, in small letters.
constexpr std::string_view kCardWords[] = {"pcie", "nvl", "cnx", "fhhl", "v100s", "a100x", "a30x"};
constexpr std::string_view kBoardWords[] = {"sxm", "hgx", "dgx", "hbm3", "nvlink"};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

}  // namespace

bool names_gpu(std::string_view model, std::string_view name, bool series) {
  for (std::size_t at = model.find(name); at != std::string_view::npos; at = model.find(name, at + 1)) {
    const char before = at == 0 ? ' ' : model[at - 1];
    const std::size_t end = at + name.size();
    const char after = end < model.size() ? model[end] : ' ';
    if (!is_letter(before) && !is_digit(before) && (series || !is_digit(after))) return true;
  }
  return false;
}

bool GpuProduct::has_tensor_cores() const {
  // A GTX 16 is Turing without them (Turing tuning guide; GTX 1660 data sheet).
  return architecture >= kVolta && name != "GTX 16";
}

std::span<const GpuProduct> gpu_products() { return kProducts; }

bool is_of_another_maker(std::string_view model) {
  constexpr std::string_view kMakers[] = {"amd",    "ati",   "radeon", "instinct", "intel",  "arc",   "gaudi",
                                          "habana", "apple", "google", "tpu",      "huawei", "ascend"};
  const std::string small = lower(model);
  return std::ranges::any_of(words(small), [&](std::string_view word) {
    return std::ranges::find(kMakers, word) != std::end(kMakers);
  });
}

const GpuProduct* find_gpu_product(std::string_view model) {
  if (is_of_another_maker(model)) return nullptr;
  const std::string small = lower(model);
  const GpuProduct* best = nullptr;
  for (const GpuProduct& row : kProducts)
    if ((best == nullptr || row.name.size() > best->name.size()) &&
        names_gpu(small, lower(row.name), row.series))
      best = &row;
  return best;
}

std::optional<GpuArchitecture> gpu_architecture(std::uint16_t pci_device) {
  for (const NumbersOfChips& row : kNumbers)
    if (row.numbers.hold(pci_device)) return row.architecture;
  return std::nullopt;
}

bool is_gpu_called(std::string_view model, std::string_view name) {
  const GpuProduct* const product = find_gpu_product(name);
  return names_gpu(lower(model), lower(name), product != nullptr && product->series && is_digit(name.back()));
}

GpuForm gpu_form(std::string_view model) {
  const std::string small = lower(model);
  bool card = false;
  for (const std::string_view word : kCardWords)
    card = card || (names_gpu(small, word) && !(word == "nvl" && small.find("nvlink") != std::string::npos));
  bool board = false;
  for (const std::string_view word : kBoardWords) board = board || names_gpu(small, word, true);
  if (card == board) return GpuForm::kUnsaid;
  return card ? GpuForm::kCard : GpuForm::kBoard;
}

std::vector<std::string> gpu_forms(std::string_view model) {
  const std::string small = lower(model);
  for (const TwoForms& row : kTwoForms)
    if (names_gpu(small, lower(row.line))) return {std::string(row.board), std::string(row.line) + " PCIe"};
  return {};
}

CudaSupport cuda_support(const GpuProduct& product) {
  switch (product.architecture) {
    case kKepler:
      return product.capability < 35 ? CudaSupport{"6.0", "10.2", 331, 470}
                                     : CudaSupport{"6.0", "11.8", 331, 470};
    case kMaxwell:
      return {"6.5", "12.9", 340, 580};
    case kPascal:
      return {"8.0", "12.9", 367, 580};
    case kVolta:
      return {"9.0", "12.9", 384, 580};
    case kTuring:
      return {"10.0", "", 410, 0};
    case kAmpere:
      return product.capability == 80 ? CudaSupport{"11.0", "", 450, 0} : CudaSupport{"11.1", "", 455, 0};
    case kAda:
    case kHopper:
      return {"11.8", "", 520, 0};
    case kBlackwell:
      return product.capability == 100 || product.capability == 120 ? CudaSupport{"12.8", "", 570, 0}
                                                                    : CudaSupport{"12.9", "", 575, 0};
  }
  return {"", "", 0, 0};
}

}  // namespace railbed
