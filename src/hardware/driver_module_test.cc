#include "hardware/driver_module.h"

#include <gtest/gtest.h>

#include "facts/facts.h"

namespace railbed {
namespace {

// A machine with one GPU of this number on PCI; 0: PCI was not read.
Facts with_gpu(std::uint16_t number, std::string model = "") {
  Facts facts;
  Gpu gpu;
  gpu.pci_address = "0000:17:00.0";
  if (!model.empty()) gpu.model = {std::move(model), "test"};
  facts.gpus.devices = {{gpu}, "test"};
  PciDevice device;
  device.address = gpu.pci_address;
  device.device = {number, "test"};
  if (number != 0) facts.pci = {{device}, "test"};
  return facts;
}

std::string only(const Facts& facts) {
  const auto generation = generation_of(facts, facts.gpus.devices->front());
  if (!generation) return "unknown";
  return generation->only ? std::string(name_of(*generation->only)) : "both";
}

// Numbers of pci.ids; GK210 to GB110.
TEST(DriverModule, TheNumberOnPciDecidesWithoutADriver) {
  const std::pair<std::uint16_t, std::string_view> kCards[] = {
      {0x102d, "proprietary"},                                             // K80
      {0x13f2, "proprietary"}, {0x17fd, "proprietary"},                    // M60, M40
      {0x15f8, "proprietary"}, {0x1bb3, "proprietary"},                    // P100, P4
      {0x1db4, "proprietary"}, {0x1df6, "proprietary"},                    // V100, V100S
      {0x1eb8, "both"},        {0x20b2, "both"},        {0x2235, "both"},  // T4, A100, A40
      {0x26b9, "both"},        {0x2330, "both"},        {0x2335, "both"},  // L40S, H100, H200
      {0x2342, "open"},        {0x2348, "open"},                           // GH200
      {0x2901, "open"},        {0x2941, "open"},        {0x3182, "open"},  // B200, GB200, B300
      {0x31c2, "open"},        {0x2b85, "open"},        {0x2bb5, "open"},  // GB300, RTX 5090, RTX PRO 6000
      {0x2e12, "open"},                                                    // GB10
      {0x0abc, "unknown"},     {0x3021, "unknown"}};  // nothing; a chip that is newer than the table
  for (const auto& [number, expected] : kCards)
    EXPECT_EQ(only(with_gpu(number)), expected) << std::hex << number;
}

TEST(DriverModule, ElseTheName) {
  EXPECT_EQ(only(with_gpu(0, "Tesla V100-SXM2-16GB")), "proprietary");
  EXPECT_EQ(only(with_gpu(0, "NVIDIA H100 80GB HBM3")), "both");
  EXPECT_EQ(only(with_gpu(0, "NVIDIA GH200 480GB")), "open");
  EXPECT_EQ(only(with_gpu(0, "NVIDIA GB10")), "open");
  EXPECT_EQ(only(with_gpu(0, "NVIDIA Graphics Device")), "unknown");
  EXPECT_EQ(only(with_gpu(0)), "unknown");
  // The number counts more than a name.
  EXPECT_EQ(only(with_gpu(0x2901, "NVIDIA H100 PCIe")), "open");
}

TEST(DriverModule, EveryProductOfTheTableAgreesWithItsArchitecture) {
  for (const GpuProduct& product : gpu_products()) {
    const auto kind = only_module(product);
    EXPECT_EQ(kind == ModuleKind::kProprietary, product.capability < 75) << product.name;
    EXPECT_EQ(kind == ModuleKind::kOpen, product.capability >= 100 || product.name == "GH200")
        << product.name;
  }
}

LogEvent load_at(LogKind kind, double when, std::string text = "") {
  LogEvent event;
  event.kind = kind;
  event.first = event.last = when;
  event.text = std::move(text);
  return event;
}

TEST(DriverModule, TheLoadedOneIsTheDriversOwnWordElseTheLastInTheLog) {
  Facts facts = with_gpu(0x2e12);
  EXPECT_FALSE(loaded_module(facts));
  KernelLog log;
  log.events = {load_at(LogKind::kOpenModuleLoaded, 100),
                load_at(LogKind::kClosedModuleLoaded, 200,
                        "NVRM: loading NVIDIA UNIX aarch64 Kernel Module  580.95.05  Tue")};
  facts.kernel_log = {log, "dmesg"};
  ASSERT_TRUE(loaded_module(facts));
  EXPECT_EQ(loaded_module(facts)->kind, ModuleKind::kProprietary);
  EXPECT_EQ(loaded_module(facts)->from, "dmesg");
  EXPECT_EQ(module_version(facts), "580.95.05");
  // Two loads at one moment, or at unknown ones: nobody knows which was the last.
  log.events[0].last = 200;
  facts.kernel_log = {log, "dmesg"};
  EXPECT_FALSE(loaded_module(facts));
  EXPECT_EQ(module_version(facts), "");
  facts.gpus.open_module = {true, "/proc/driver/nvidia/version"};
  EXPECT_EQ(loaded_module(facts)->kind, ModuleKind::kOpen);
}

TEST(DriverModule, TheOneOnTheDiskIsUnknownWithoutItsLicense) {
  Facts facts = with_gpu(0x2e12);
  EXPECT_FALSE(module_on_disk(facts));
  facts.gpus.open_on_disk = {false, "modinfo nvidia"};
  EXPECT_EQ(module_on_disk(facts)->kind, ModuleKind::kProprietary);
}

}  // namespace
}  // namespace railbed
