#include "hardware/xid.h"

#include <algorithm>

namespace railbed {
namespace {

// docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html: the immediate action for Ampere and later.
constexpr std::string_view kCatalog = "NVIDIA Xid catalog, immediate action";
constexpr std::string_view kCatalogText = "NVIDIA Xid catalog, trigger conditions";
constexpr std::string_view kNoAction = "NVIDIA Xid catalog names it without an action; the action is ours";
// docs.nvidia.com/deploy/a100-gpu-mem-error-mgmt: a failed row remap is a reason to return the GPU.
constexpr std::string_view kMemory = "NVIDIA GPU Memory Error Management";

using enum XidAction;

constexpr Xid kXids[] = {
    {8, 8, kApplication, "the GPU stopped working on a program", kCatalog},
    {11, 11, kApplication, "a broken command stream", kCatalog},
    {13, 13, kApplication, "a kernel faulted: out of bounds, or an illegal instruction", kCatalog},
    {14, 14, kInformation, "an error injected for a test", kCatalog},
    {25, 25, kApplication, "an illegal command stream", kCatalog},
    {31, 31, kApplication, "a program touched GPU memory that is not mapped", kCatalog},
    {32, 32, kApplication, "a broken command stream; seldom the PCIe link", kCatalog},
    {37, 38, kInformation, "the driver's firmware reports a fault", kCatalog},
    {39, 41, kApplication, "a copy engine faulted", kCatalog},
    {43, 43, kInformation, "a program failed and its work was ended; the GPU is well", kCatalog},
    {44, 44, kInformation, "a fault while switching between programs", kCatalog},
    {45, 45, kInformation, "a program was ended and its work removed: Ctrl-C, a kill, or after another Xid",
     kCatalog},
    {46, 46, kReset, "the GPU stopped working", kCatalog},
    {48, 48, kReset, "uncorrectable memory error (double bit ECC)", kCatalog},
    {49, 49, kInformation, "not used since Ampere", kCatalog},
    {54, 54, kIsolate, "the GPU's auxiliary power cable is not connected", kCatalog},
    {60, 60, kApplication, "the video or security processor faulted", kCatalog},
    {62, 62, kReset, "the GPU's power management controller halted", kCatalog},
    {63, 63, kInformation, "a bad memory row is remapped; a reset makes it final", kCatalog},
    {64, 64, kIsolate, "a bad memory row could not be remapped", kMemory},
    {66, 67, kInformation, "the driver touched a register that it may not", kCatalog},
    {68, 68, kApplication, "a video decoder faulted", kCatalog},
    {69, 69, kApplication, "a program sent an invalid class of command", kCatalog},
    {70, 72, kApplication, "a copy engine faulted", kCatalog},
    {74, 74, kReset, "an NVLink failed, here or at its other end", kCatalogText},
    {75, 77, kApplication, "a copy engine faulted", kCatalog},
    {78, 78, kApplication, "a virtual GPU did not start: guest and host driver do not fit", kCatalog},
    {79, 79, kReboot, "the GPU has fallen off the PCIe bus", kCatalog},
    {80, 80, kApplication, "data arrived damaged at the GPU", kCatalog},
    {82, 82, kApplication, "the JPEG engine faulted", kCatalog},
    {83, 84, kApplication, "a video decoder faulted", kCatalog},
    {85, 85, kApplication, "a copy engine faulted", kCatalog},
    {86, 86, kApplication, "the optical flow engine faulted", kCatalog},
    {88, 89, kApplication, "a video decoder faulted", kCatalog},
    {91, 91, kInformation, "reserved", kCatalog},
    {92, 92, kInformation, "many single bit memory errors, corrected", kCatalog},
    {93, 93, kInformation, "the write limit of the GPU's InfoROM is reached", kCatalog},
    {94, 94, kApplication, "an uncorrectable memory error, kept to the program that met it", kCatalog},
    {95, 95, kReset, "an uncorrectable memory error that may have reached several programs", kCatalog},
    {96, 98, kApplication, "a video decoder faulted", kCatalog},
    {99, 105, kApplication, "the JPEG engine faulted", kCatalog},
    {106, 107, kInformation, "a test message of the board's controller", kCatalog},
    {108, 108, kInformation, "an address over NVLink could not be translated", kCatalog},
    {109, 109, kReset, "switching between programs took too long", kCatalog},
    {110, 110, kReset, "a security fault: unless hardware was changed, the hardware fails", kCatalog},
    {119, 119, kReset, "the GPU's system processor (GSP) did not answer in time", kCatalog},
    {120, 120, kReset, "the GPU's system processor (GSP) failed", kCatalog},
    {121, 121, kInformation, "corrected errors on the link to the Grace processor", kCatalog},
    {122, 125, kInformation, "the GPU's flash memory could not be read or written", kCatalog},
    {126, 135, kApplication, "a copy engine faulted", kCatalog},
    {136, 136, kReset, "an NVLink did not train", kCatalog},
    {137, 137, kApplication, "a program made an illegal access over NVLink", kCatalogText},
    {139, 139, kApplication, "the optical flow engine faulted", kCatalog},
    {140, 140, kReset, "uncorrectable memory errors whose pages could not be set aside", kCatalog},
    {141, 141, kInformation, "a fault on CUDA's fast path", kCatalog},
    {142, 142, kApplication, "the video encoder faulted", kNoAction},
    {143, 143, kReset, "the GPU did not initialise", kCatalog},
    {144, 150, kInformation,
     "an NVLink 5 error that is not fatal; where something is to be done, Xid 154 follows and says it",
     kCatalog},
    {151, 151, kReboot, "the keys of confidential computing could not be changed", kCatalog},
    {152, 153, kInformation, "the deep learning accelerator of a system on chip faulted", kCatalog},
    {154, 154, kDriverSays, "the driver says what has to be done about an error before it", kCatalogText},
    {155, 155, kReset, "an NVLink was taken down on purpose, or by software", kCatalog},
    {156, 156, kReset, "a part of the GPU is retired; the reset makes it final", kCatalog},
    {157, 157, kIsolate, "a part of the GPU should be retired and no spare is left: it will fail again",
     kCatalogText},
    {158, 158, kReset, "the GPU did not answer in time", kCatalog},
    {159, 159, kApplication, "a fault on the link to the Grace processor", kCatalog},
    {160, 161, kInformation, "a memory channel is retired, or could not be", kCatalog},
    {162, 165, kInformation, "the power smoothing hardware changed state or wears out", kCatalogText},
    {166, 166, kInformation, "NVLink traffic before encryption was set up", kCatalogText},
    {167, 167, kReset, "the PCIe link did not answer in time", kNoAction},
    {168, 168, kInformation, "bad memory in a protected region: switch ECC on", kCatalogText},
    {169, 169, kReset, "the GPU's security processor halted", kNoAction},
    {170, 170, kInformation, "an interrupt of confidential computing over NVLink", kCatalogText},
    {171, 172, kInformation, "says where the memory error of an Xid 48 was", kCatalogText},
};

// open-gpu-kernel-modules, ctrl_dev_nvswitch.h: thousands by unit.
constexpr std::string_view kUnits[] = {"host interface",
                                       "port, ingress",
                                       "port, egress",
                                       "port, request state",
                                       "port, tag state",
                                       "port, routing",
                                       "port",
                                       "NVLink control",
                                       "NVLink interface",
                                       "NVLink transaction layer",
                                       "NVLink data link layer",
                                       "crossbar stream",
                                       "NVLink microcontroller (minion)",
                                       "crossbar",
                                       "port, source tracking",
                                       "NVLink interface, per link",
                                       "system processor (SOE)",
                                       "optical cages",
                                       "temperature of optical modules",
                                       "port, multicast state",
                                       "port, reduction state"};
constexpr int kFirstSxid = 10000;

// Fabric Manager user guide, "Always Fatal NVSwitch SXid Errors", and 10003 of its notable ones.
constexpr std::string_view kGuide = "NVIDIA Fabric Manager user guide, SXid errors";
constexpr bool is_always_fatal(int code) {
  return code == 10003 || code == 12020 || code == 22003 || code == 22011 || (code >= 23001 && code <= 23017);
}

constexpr bool demands_repair(XidAction action) {
  return action == kReboot || action == kReset || action == kIsolate;
}

}  // namespace

std::string_view advice(XidAction action) {
  switch (action) {
    case kReboot:
      return "Drain the node and restart it; when it returns, the GPU's power supply, its seat, its PCIe link or the GPU itself is bad.";
    case kReset:
      return "Let nobody use the GPU and reset it; when it returns, ask the vendor.";
    case kIsolate:
      return "Take the GPU out of use and have it looked at or replaced.";
    case kApplication:
      return "Start the program again; when several programs or only this GPU show it, test the GPU.";
    case kInformation:
      return "Nothing to do by itself; look at what comes with it.";
    case kDriverSays:
      return "Do what the message says.";
  }
  return {};
}

std::span<const Xid> xids() { return kXids; }

const Xid* find_xid(int code) {
  const auto found =
      std::ranges::find_if(kXids, [&](const Xid& xid) { return code >= xid.first && code <= xid.last; });
  return found == std::end(kXids) ? nullptr : &*found;
}

// The trigger conditions of NVIDIA's Xid catalog: memory, link and power faults are hardware; an access
// outside of a program's memory is the program. Actions decide about the rest: the catalog asks for a reset or a
// restart where the GPU or its driver failed.
XidOrigin origin_of_xid(int code) {
  const auto is_one_of = [&](std::initializer_list<int> codes) {
    return std::ranges::find(codes, code) != codes.end();
  };
  if (is_one_of({13, 31, 43, 137})) return XidOrigin::kProgram;
  if (is_one_of({48, 54, 63, 64, 74, 92, 94, 95, 110, 121, 136, 140, 156, 157, 160, 161, 171, 172}))
    return XidOrigin::kHardware;
  if (is_one_of({14, 45, 49, 91, 106, 107, 155})) return XidOrigin::kNobody;
  if (code == 109) return XidOrigin::kEither;  // a program that hangs the GPU's channels, or the GPU
  const Xid* row = find_xid(code);
  if (row == nullptr) return XidOrigin::kEither;
  return demands_repair(row->action) ? XidOrigin::kNode : XidOrigin::kEither;
}

bool is_gpu_failure(int code, std::string_view line) {
  if (code == 94) return true;
  if (code == 154) return demands_repair(action_of_xid_154(line).value_or(kInformation));
  const Xid* row = find_xid(code);
  const XidOrigin origin = origin_of_xid(code);
  return row != nullptr && demands_repair(row->action) &&
         (origin == XidOrigin::kHardware || origin == XidOrigin::kNode);
}

std::optional<XidAction> action_of_xid_154(std::string_view text) {
  const auto mark = text.rfind(" to 0x");
  if (mark == text.npos) return std::nullopt;
  const auto says = text.substr(mark);
  // Newer drivers have other names for the same actions.
  constexpr std::pair<std::string_view, XidAction> kWords[] = {
      {"Node Reboot", kReboot}, {"OS Reboot", kReboot}, {"GPU Reset", kReset},   {"PF FLR", kReset},
      {"Drain and", kReset},    {"Drain P2P", kReset},  {"(None)", kInformation}};
  for (const auto& [words, action] : kWords)
    if (says.find(words) != says.npos) return action;
  return std::nullopt;
}

std::optional<Sxid> find_sxid(int code) {
  const int unit = (code - kFirstSxid) / 1000;
  if (code < kFirstSxid || unit >= static_cast<int>(std::size(kUnits))) return std::nullopt;
  return Sxid{kUnits[unit], is_always_fatal(code), kGuide};
}

}  // namespace railbed
