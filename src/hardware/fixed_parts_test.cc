#include "hardware/fixed_parts.h"

#include <gtest/gtest.h>

#include "facts/facts.h"

namespace railbed {
namespace {

Facts named(std::string maker, std::string product) {
  Facts facts;
  facts.system.firmware.maker = Reading<std::string>(std::move(maker), "test");
  facts.system.firmware.product = Reading<std::string>(std::move(product), "test");
  return facts;
}

Facts with_gpu(std::string model) {
  Facts facts;
  Gpu gpu;
  gpu.model = Reading<std::string>(std::move(model), "test");
  facts.gpus.devices = Reading<std::vector<Gpu>>({gpu}, "test");
  return facts;
}

TEST(FixedParts, RentedAndVirtualMachinesAreFixed) {
  EXPECT_EQ(fixed_parts_of(named("QEMU", "Standard PC (Q35 + ICH9, 2009)")).freedom, PartsFreedom::kFixed);
  EXPECT_EQ(fixed_parts_of(named("Google", "Google Compute Engine")).freedom, PartsFreedom::kFixed);
  EXPECT_EQ(fixed_parts_of(named("Microsoft Corporation", "Virtual Machine")).freedom, PartsFreedom::kFixed);
  EXPECT_EQ(fixed_parts_of(named("VMware, Inc.", "VMware7,1")).freedom, PartsFreedom::kFixed);
  EXPECT_EQ(fixed_parts_of(named("Xen", "HVM domU")).freedom, PartsFreedom::kFixed);
  Facts guest;
  guest.system.cpu.clocksource = Reading<std::string>("kvm-clock", "test");
  EXPECT_EQ(fixed_parts_of(guest).freedom, PartsFreedom::kFixed);
}

TEST(FixedParts, ServersAreFree) {
  EXPECT_EQ(fixed_parts_of(named("Dell Inc.", "PowerEdge R730")).freedom, PartsFreedom::kFree);
  EXPECT_EQ(fixed_parts_of(named("Xenon Systems", "DEVCUBE")).freedom, PartsFreedom::kFree);
  EXPECT_EQ(fixed_parts_of(with_gpu("NVIDIA GeForce RTX 4090")).freedom, PartsFreedom::kFree);
  EXPECT_EQ(fixed_parts_of(with_gpu("Tesla V100-PCIE-16GB")).freedom, PartsFreedom::kFree);
  EXPECT_EQ(fixed_parts_of(Facts{}).freedom, PartsFreedom::kFree);
}

TEST(FixedParts, SystemsThatAreSoldWhole) {
  EXPECT_EQ(fixed_parts_of(with_gpu("NVIDIA GB200")).freedom, PartsFreedom::kFixed);
  EXPECT_EQ(fixed_parts_of(with_gpu("NVIDIA GeForce RTX 4090 Laptop GPU")).freedom, PartsFreedom::kFixed);
  EXPECT_EQ(fixed_parts_of(named("NVIDIA", "DGXH100")).freedom, PartsFreedom::kFixed);
  EXPECT_EQ(fixed_parts_of(with_gpu("NVIDIA H100 80GB HBM3")).freedom, PartsFreedom::kNoSlots);
  EXPECT_EQ(fixed_parts_of(with_gpu("NVIDIA H100 PCIe")).freedom, PartsFreedom::kFree);
}

// A guest sees the virtual function alone; on the host its physical one is there, too.
TEST(FixedParts, ALentFunctionIsAGuests) {
  PciDevice lent;
  lent.address = "0000:00:05.0";
  lent.vendor = Reading<std::uint16_t>(std::uint16_t{0x15b3}, "test");
  lent.device = Reading<std::uint16_t>(std::uint16_t{0x101e}, "test");
  lent.class_code = Reading<std::uint32_t>(0x020000u, "test");
  Facts facts;
  facts.pci = Reading<std::vector<PciDevice>>({lent}, "test");
  EXPECT_EQ(fixed_parts_of(facts).freedom, PartsFreedom::kFixed);
  lent.physical_function = Reading<std::string>("0000:00:04.0", "test");
  facts.pci = Reading<std::vector<PciDevice>>({lent}, "test");
  EXPECT_EQ(fixed_parts_of(facts).freedom, PartsFreedom::kFree);
}

}  // namespace
}  // namespace railbed
