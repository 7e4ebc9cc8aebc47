#include "hardware/technology.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "facts/facts.h"
#include "hardware/gpu_model.h"
#include "hardware/gpu_product.h"
#include "hardware/gpu_speed.h"
#include "hardware/nic.h"
#include "hardware/processor.h"

namespace railbed {
namespace {

using ::testing::HasSubstr;
using Support = TechnologySupport;

TechnologyCell cell_of(const TechnologyStack& stack, std::string_view technology) {
  for (const TechnologyCell& cell : technology_cells(stack))
    if (cell.technology == technology) return cell;
  ADD_FAILURE() << "no row " << technology;
  return {};
}

Support support_of(const std::string& gpu, std::string_view technology) {
  return cell_of({.gpu = gpu, .adapters = {"ConnectX-6"}, .os = "ubuntu 24.04"}, technology).support;
}

// The lab of the InfiniBand guide: T4 in two servers of Broadwell with RHEL 10.1, P4 in one of Ivy Bridge
// with RHEL 9; ConnectX-4 everywhere, no NVMe.
const TechnologyStack kT4Lab = {.gpu = "Tesla T4",
                                .adapters = {"ConnectX-4"},
                                .os = "rhel 10.1",
                                .processor = "Intel(R) Xeon(R) CPU E5-2690 v4 @ 2.60GHz",
                                .nvme = false};
const TechnologyStack kP4Lab = {.gpu = "Tesla P4",
                                .adapters = {"ConnectX-4"},
                                .os = "rhel 9.6",
                                .processor = "Intel(R) Xeon(R) CPU E5-2697 v2 @ 2.70GHz",
                                .nvme = false};

struct GuideRow {
  std::string_view technology;
  Support guide_t4;
  Support guide_p4;
  // railbed's result if it differs from the guide's
  std::optional<Support> t4 = {};
  std::optional<Support> p4 = {};
};

// The guide's "NVIDIA Tool Test Matrix". docs/how-to/from-the-infiniband-guide.md says why railbed differs.
const GuideRow kGuide[] = {
    {"RDMA", Support::kYes, Support::kYes},
    {"GPUDirect RDMA", Support::kYes, Support::kYes, {}, Support::kLimited},
    {"GPUDirect Storage", Support::kUnknown, Support::kUnknown, Support::kLimited, Support::kLimited},
    {"MIG", Support::kNo, Support::kNo},
    {"Time-slicing", Support::kYes, Support::kYes},
    {"vGPU", Support::kYes, Support::kYes, {}, Support::kLimited},
    {"DCGM", Support::kYes, Support::kYes},
    {"DCGM exporter", Support::kYes, Support::kYes, {}, Support::kLimited},
    {"Merlin", Support::kYes, Support::kYes, {}, Support::kLimited},
    {"TensorRT", Support::kYes, Support::kYes, {}, Support::kLimited},
    {"CUDA", Support::kYes, Support::kYes, {}, Support::kLimited},
    {"Container Toolkit", Support::kYes, Support::kYes},
    {"GPU Operator", Support::kYes, Support::kYes, Support::kLimited, Support::kLimited},
    {"Fabric Manager", Support::kNo, Support::kNo},
    {"NVLink", Support::kNo, Support::kNo},
    {"NIM", Support::kLimited, Support::kLimited, {}, Support::kNo},
    {"Mixed precision", Support::kYes, Support::kLimited},
    {"NCCL", Support::kYes, Support::kYes, {}, Support::kLimited},
    {"GPU peer to peer", Support::kUnknown, Support::kUnknown},
};

TEST(Technology, OfTheGuidesLabIsWhatTheGuideSaysButForWhatItGotWrong) {
  for (const GuideRow& row : kGuide) {
    EXPECT_EQ(cell_of(kT4Lab, row.technology).support, row.t4.value_or(row.guide_t4)) << row.technology;
    EXPECT_EQ(cell_of(kP4Lab, row.technology).support, row.p4.value_or(row.guide_p4)) << row.technology;
  }
  EXPECT_EQ(technology_names().size(), std::size(kGuide) + 3)
      << "the guide has no rows for the system, MPS and confidential computing";
}

TEST(Technology, MpsAndConfidentialComputingFollowTheProduct) {
  const auto support = [](const char* gpu, std::string_view row) {
    return cell_of(TechnologyStack{.gpu = gpu}, row).support;
  };
  EXPECT_EQ(support("P40", "MPS"), Support::kLimited);
  EXPECT_EQ(support("V100-SXM2", "MPS"), Support::kYes);
  EXPECT_EQ(support("A100", "Confidential computing"), Support::kNo);
  EXPECT_EQ(support("H100 PCIe", "Confidential computing"), Support::kYes);
  EXPECT_EQ(support("GH200", "Confidential computing"), Support::kUnknown);
  EXPECT_EQ(support("RTX PRO 6000", "Confidential computing"), Support::kLimited);
  EXPECT_EQ(support("RTX 5090", "Confidential computing"), Support::kNo);
}

TEST(Technology, TellsWhyTheGuidesPascalCardsAreAtTheirEnd) {
  EXPECT_THAT(cell_of(kP4Lab, "CUDA").reason, HasSubstr("8.0 to 12.9"));
  EXPECT_THAT(cell_of(kP4Lab, "CUDA").reason, HasSubstr("branch 580 is the last"));
  EXPECT_THAT(cell_of(kP4Lab, "TensorRT").reason, HasSubstr("8.6 is the last with Pascal"));
  EXPECT_THAT(cell_of(kP4Lab, "vGPU").reason, HasSubstr("vGPU 16"));
  EXPECT_THAT(cell_of(kP4Lab, "GPUDirect RDMA").reason, HasSubstr("DOCA 2.9 LTS is the last for ConnectX-4"));
  EXPECT_THAT(cell_of(kP4Lab, "Mixed precision").reason, HasSubstr("fast INT8"));
  EXPECT_THAT(cell_of(kP4Lab, "Operating system").reason, HasSubstr("rhel 10 will not run"));
  EXPECT_THAT(cell_of(kT4Lab, "Mixed precision").reason, HasSubstr("FP16, INT8"));
}

TEST(Technology, ConnectX3DoesRdmaWhereItsDriverIs) {
  TechnologyStack stack{.gpu = "T4", .adapters = {"ConnectX-3"}, .os = "rhel 9"};
  EXPECT_EQ(cell_of(stack, "RDMA").support, Support::kYes);
  EXPECT_THAT(cell_of(stack, "RDMA").reason, HasSubstr("RoCE v1"));
  EXPECT_EQ(cell_of(stack, "GPUDirect RDMA").support, Support::kNo);
  stack.os = "rhel 10.1";
  EXPECT_EQ(cell_of(stack, "RDMA").support, Support::kNo);
  EXPECT_THAT(cell_of(stack, "Operating system").reason, HasSubstr("no longer drives ConnectX-3"));
}

TEST(Technology, Rhel10AsksForHaswell) {
  TechnologyStack stack = kP4Lab;
  stack.os = "rhel 10";
  EXPECT_EQ(cell_of(stack, "Operating system").support, Support::kNo);
  EXPECT_THAT(cell_of(stack, "Operating system").reason, HasSubstr("Ivy Bridge knows x86-64-v2"));
  EXPECT_EQ(x86_level("Intel(R) Xeon(R) CPU E5-2699 v4 @ 2.20GHz"), 3);
  EXPECT_EQ(x86_level("Intel(R) Xeon(R) CPU E5-2670 0 @ 2.60GHz"), 2);
  EXPECT_EQ(x86_level("Intel(R) Xeon(R) Platinum 8480C"), 4);
  EXPECT_EQ(x86_level("Neoverse-V2"), std::nullopt);
}

TEST(Technology, AProcessorsFlagsGoBeforeItsName) {
  Facts facts;
  const auto system_cell = [&](int level) {
    facts.system.cpu.x86_level = {level, "/proc/cpuinfo"};
    const TechnologyStack stack{
        .gpu = "T4", .adapters = {}, .os = "rhel 10", .processor = "QEMU Virtual CPU"};
    for (const TechnologyCell& cell : technology_cells(stack, &facts))
      if (cell.technology == "Operating system") return cell;
    return TechnologyCell{};
  };
  EXPECT_EQ(system_cell(2).support, Support::kNo);
  EXPECT_THAT(system_cell(2).reason, HasSubstr("this processor knows x86-64-v2"));
  EXPECT_EQ(system_cell(3).support, Support::kYes);
}

TEST(Technology, ConnectX3AgesWithTheSystem) {
  TechnologyStack stack{.gpu = "T4", .adapters = {"ConnectX-3"}, .os = "rhel 9.6"};
  EXPECT_EQ(cell_of(stack, "Operating system").support, Support::kLimited);
  EXPECT_THAT(cell_of(stack, "Operating system").reason, HasSubstr("no longer maintains it"));
  stack.os = "almalinux 10.0";  // gave it its PCI ids back
  EXPECT_EQ(cell_of(stack, "RDMA").support, Support::kYes);
  stack.os = "rhel 8.10";
  EXPECT_EQ(cell_of(stack, "Operating system").support, Support::kYes);
}

TEST(Technology, FollowsTheGenerations) {
  EXPECT_EQ(support_of("NVIDIA A100-SXM4-80GB", "MIG"), Support::kYes);
  EXPECT_EQ(support_of("NVIDIA A100-SXM4-80GB", "Fabric Manager"), Support::kYes);
  EXPECT_EQ(support_of("NVIDIA H100 PCIe", "Fabric Manager"), Support::kNo);
  EXPECT_EQ(support_of("Tesla V100-SXM2-16GB", "NVLink"), Support::kYes);
  EXPECT_EQ(support_of("Tesla V100-PCIE-16GB", "NVLink"), Support::kNo);
  EXPECT_EQ(support_of("Tesla V100-PCIE-16GB", "TensorRT"), Support::kLimited);
  EXPECT_EQ(support_of("NVIDIA GB10", "GPUDirect RDMA"), Support::kNo);
  EXPECT_EQ(support_of("NVIDIA GeForce RTX 3070", "GPUDirect RDMA"), Support::kNo);
  EXPECT_EQ(support_of("Tesla K20m", "DCGM"), Support::kNo);
  EXPECT_EQ(support_of("Tesla K80", "DCGM"), Support::kYes);
  EXPECT_EQ(cell_of({.gpu = "K80", .adapters = {}, .os = "rhel 10"}, "NCCL").support, Support::kNo);
  EXPECT_EQ(cell_of({.gpu = "H100", .adapters = {}, .os = ""}, "GPU peer to peer").support,
            Support::kUnknown);
}

TEST(Technology, EveryCellHasAReasonAndASource) {
  for (const GpuProduct& product : gpu_products())
    for (const char* os : {"rhel 8", "rhel 9", "rhel 10", "ubuntu 22.04", "debian 12", ""})
      for (const char* nic : {"ConnectX-3", "ConnectX-4", "ConnectX-7", "BlueField-3", ""})
        for (const TechnologyCell& cell :
             technology_cells({.gpu = std::string(product.name), .adapters = {nic}, .os = os})) {
          EXPECT_NE(cell.reason, "") << product.name << cell.technology;
          EXPECT_NE(cell.source, "") << product.name << cell.technology;
          EXPECT_EQ(cell.support == Support::kUnknown, !cell.to_tell.empty())
              << product.name << cell.technology;
        }
}

TEST(GpuProduct, AModelIsCalledByAWord) {
  EXPECT_TRUE(is_gpu_called("Tesla P4", "P4"));
  EXPECT_FALSE(is_gpu_called("Tesla P40", "P4"));
  EXPECT_FALSE(is_gpu_called("NVIDIA A100-SXM4-80GB", "A10"));
  EXPECT_TRUE(is_gpu_called("Tesla V100-PCIE-16GB", "v100"));
  EXPECT_TRUE(is_gpu_called("NVIDIA GeForce RTX 4090", "RTX 40"));
  EXPECT_FALSE(is_gpu_called("Tesla T4", "T400"));
}

// A card that one table knows by its short name must not be a stranger to the others.
TEST(GpuProduct, EveryTableKnowsTheCardsOfTheGuides) {
  for (const char* name : {"P4", "Tesla P4", "P40", "T4", "V100", "GB10"}) {
    EXPECT_NE(find_gpu_product(name), nullptr) << name;
    EXPECT_NE(find_gpu_model(name), nullptr) << name;
    EXPECT_NE(find_gpu_speed(name), nullptr) << name;
  }
}

TEST(GpuProduct, NamesAreWords) {
  EXPECT_EQ(find_gpu_product("Tesla P40")->name, "P40");
  EXPECT_EQ(find_gpu_product("Tesla P4")->name, "P4");
  EXPECT_EQ(find_gpu_product("Tesla K20Xm")->name, "K20X");
  EXPECT_EQ(find_gpu_product("NVIDIA GB200")->name, "GB200");
  EXPECT_EQ(find_gpu_product("NVIDIA RTX 4000 Ada Generation")->market, GpuMarket::kWorkstation);
  EXPECT_EQ(find_gpu_product("NVIDIA GeForce RTX 4090")->market, GpuMarket::kGeForce);
  EXPECT_EQ(find_gpu_product("NVIDIA T400"), nullptr);
  EXPECT_EQ(find_gpu_product(""), nullptr);
}

// Two tables judge GPUDirect and must agree.
TEST(GpuProduct, AgreesWithTheTableOfGpuDirect) {
  for (const GpuModel& model : gpu_models()) {
    if (model.name == "GeForce") continue;
    const GpuProduct* product = find_gpu_product(model.name);
    ASSERT_NE(product, nullptr) << model.name;
    EXPECT_EQ(product->architecture < GpuArchitecture::kTuring, model.gpudirect == GpuDirect::kPeerMemory)
        << model.name;
    EXPECT_EQ(product->nvlink == NvlinkWay::kSwitch, model.nvswitch) << model.name;
  }
}

TEST(NicNamed, AsPeopleWriteIt) {
  EXPECT_EQ(find_nic_named("CX-4")->name, "ConnectX-4");
  EXPECT_EQ(find_nic_named("Mellanox ConnectX-4 Lx EN")->name, "ConnectX-4 Lx");
  EXPECT_EQ(find_nic_named("connectx-3 pro")->name, "ConnectX-3 Pro");
  EXPECT_EQ(find_nic_named("e1000"), nullptr);
}

TEST(GpuForm, IsWhatTheNameStates) {
  for (const char* const card :
       {"V100 PCIe", "Tesla V100-PCIE-16GB", "NVIDIA H100 NVL", "V100S", "H800 PCIe", "A100X"})
    EXPECT_EQ(gpu_form(card), GpuForm::kCard) << card;
  for (const char* const board :
       {"V100-SXM2-16GB", "NVIDIA A800-SXM4-80GB", "NVIDIA H100 80GB HBM3", "V100 NVLink"})
    EXPECT_EQ(gpu_form(board), GpuForm::kBoard) << board;
  for (const char* const open : {"V100", "H100", "GB200 NVL72", "A100-SXM4 PCIe", "NVIDIA H800", ""})
    EXPECT_EQ(gpu_form(open), GpuForm::kUnsaid) << open;
  EXPECT_EQ(gpu_forms("Tesla V100"), (std::vector<std::string>{"V100-SXM2", "V100 PCIe"}));
  EXPECT_TRUE(gpu_forms("H200").empty());
  EXPECT_TRUE(gpu_forms("P1000").empty());
  for (const GpuProduct& product : gpu_products())
    for (const std::string& form : gpu_forms(product.name)) {
      EXPECT_NE(find_gpu_product(form), nullptr) << form;
      EXPECT_NE(gpu_form(form), GpuForm::kUnsaid) << form;
    }
}

TEST(GpuProduct, KnowsTheExportModels) {
  for (const char* const name :
       {"NVIDIA A800-SXM4-80GB", "NVIDIA A800 80GB PCIe", "NVIDIA H800", "NVIDIA H800 PCIe"})
    ASSERT_NE(find_gpu_product(name), nullptr) << name;
  EXPECT_EQ(find_gpu_product("NVIDIA A800-SXM4-80GB")->nvlink, NvlinkWay::kSwitch);
  EXPECT_EQ(find_gpu_product("NVIDIA H800 PCIe")->nvlink, NvlinkWay::kBridge);
}

}  // namespace
}  // namespace railbed
