#include "hardware/gpudirect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railbed {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// The open module on a kernel that can, one adapter whose driver takes DMA-BUF.
Facts open_module() {
  Facts facts;
  facts.gpus.open_module = {true, "test"};
  facts.system.kernel.release = {"6.8.0-87-generic", "test"};
  facts.system.kernel.config = {std::map<std::string, std::string>{{"CONFIG_PCI_P2PDMA", "y"}}, "test"};
  RdmaDevice device;
  device.name = "mlx5_0";
  device.dma_buf = {true, "test"};
  facts.rdma.devices = {{device}, "test"};
  return facts;
}

TEST(GpuDirectRoutes, DmaBufNeedsModuleKernelOptionAndDriver) {
  Facts facts = open_module();
  EXPECT_TRUE(gpudirect_routes(facts).dma_buf());
  EXPECT_FALSE(gpudirect_routes(facts).peer_memory());
  facts.system.kernel.release = {"5.4.0", "test"};
  EXPECT_TRUE(gpudirect_routes(facts).dma_buf()) << "the adapter's driver was asked: OFED brings it along";
  facts.rdma.devices = {std::vector<RdmaDevice>{}, "test"};
  EXPECT_EQ(gpudirect_routes(facts).no_dma_buf, "kernel 5.4.0 is older than 5.12");
  facts = open_module();
  facts.system.kernel.config = {std::map<std::string, std::string>{}, "test"};
  EXPECT_EQ(gpudirect_routes(facts).no_dma_buf, "the kernel is built without CONFIG_PCI_P2PDMA");
  facts = open_module();
  facts.gpus.open_module = {false, "test"};
  EXPECT_EQ(gpudirect_routes(facts).no_dma_buf, "the driver is not the open kernel module");
}

TEST(GpuDirectRoutes, WhatCudaSaysOfTheGpuCounts) {
  Facts facts = open_module();
  Gpu gpu;
  gpu.pci_address = "0000:17:00.0";
  CudaAnswer cuda;
  cuda.dma_buf = true;
  gpu.cuda = {cuda, "cuda 0000:17:00.0"};
  facts.gpus.devices = {{gpu}, "test"};
  EXPECT_TRUE(gpudirect_routes(facts).dma_buf());
  cuda.dma_buf = false;
  gpu.cuda = {cuda, "cuda 0000:17:00.0"};
  facts.gpus.devices = {{gpu}, "test"};
  EXPECT_EQ(gpudirect_routes(facts).no_dma_buf, "CUDA says that GPU 0000:17:00.0 exports no DMA-BUF");
}

TEST(GpuDirectRoutes, OneDriverThatTakesDmaBufIsEnough) {
  Facts facts = open_module();
  RdmaDevice old;
  old.name = "mlx4_0";
  old.dma_buf = {false, "test"};
  facts.rdma.devices = {{old}, "test"};
  EXPECT_EQ(gpudirect_routes(facts).no_dma_buf, "the driver of mlx4_0 does not take DMA-BUF");
  facts.rdma.devices = {{old, (*open_module().rdma.devices)[0]}, "test"};
  EXPECT_TRUE(gpudirect_routes(facts).dma_buf());
}

TEST(GpuDirectRoutes, LoadedIsNotRegistered) {
  Facts facts;
  EXPECT_EQ(gpudirect_routes(facts).no_peer_memory, "nvidia-peermem is not loaded");
  facts.gpus.peer_memory = {"580.95.05", "test"};
  EXPECT_TRUE(gpudirect_routes(facts).peer_memory());  // where the kernel has no such list
  facts.rdma.peer_memory_clients = {std::vector<std::string>{}, "test"};
  EXPECT_EQ(gpudirect_routes(facts).no_peer_memory,
            "nvidia-peermem is loaded and not registered with the RDMA core");
  facts.rdma.peer_memory_clients = {std::vector<std::string>{"nv_mem_nc"}, "test"};
  EXPECT_TRUE(gpudirect_routes(facts).peer_memory());
}

TEST(GpuDirectRoutes, AClientCountsWhicheverModuleItIsOf) {
  Facts facts;
  facts.rdma.peer_memory_clients = {std::vector<std::string>{"nv_mem"}, "test"};
  EXPECT_TRUE(gpudirect_routes(facts).peer_memory()) << "nv_peer_mem is not called nvidia-peermem";
}

// A node without a route: one GPU of this model, the proprietary module, an adapter on mlx5.
Facts without_route(const std::string& model, const std::string& os, const std::string& kernel) {
  Facts facts;
  Gpu gpu;
  gpu.pci_address = "0000:17:00.0";
  gpu.model = {model, "test"};
  facts.gpus.devices = {{gpu}, "test"};
  facts.gpus.open_module = {false, "test"};
  facts.system.os.id = {os, "test"};
  facts.system.kernel.release = {kernel, "test"};
  RdmaDevice device;
  device.name = "rdma0";
  device.driver = {"mlx5_core", "test"};
  device.pci_address = {"0000:18:00.0", "test"};
  facts.rdma.devices = {{device}, "test"};
  return facts;
}

// The same with ConnectX-3 and a driver of this version; empty: a driver without a version.
Facts with_mlx4(const std::string& kernel, const std::string& driver_version) {
  Facts facts = without_route("Tesla V100-PCIE-16GB", "ubuntu", kernel);
  RdmaDevice device = (*facts.rdma.devices)[0];
  device.driver = {"mlx4_core", "test"};
  facts.rdma.devices = {{device}, "test"};
  if (!driver_version.empty()) facts.rdma.driver_version = {driver_version, "test"};
  return facts;
}

TEST(GpuDirectRoutes, UnreachableMemoryClosesBothWhateverIsLoaded) {
  Facts facts = without_route("NVIDIA GB10", "ubuntu", "6.14.0-1013-nvidia");
  facts.gpus.open_module = {true, "test"};
  EXPECT_EQ(gpudirect_routes(facts).no_dma_buf, "GB10 has no GPUDirect RDMA") << "CUDA was not asked";
  EXPECT_EQ(gpudirect_routes(facts).no_peer_memory, "GB10 has no GPUDirect RDMA");
  EXPECT_FALSE(gpudirect_remedy(facts).possible);
  facts = without_route("NVIDIA of tomorrow", "rhel", "6.12.0");
  Gpu gpu = (*facts.gpus.devices)[0];
  CudaAnswer cuda;
  cuda.gpudirect_rdma = false;
  gpu.cuda = {cuda, "test"};
  facts.gpus.devices = {{gpu}, "test"};
  EXPECT_EQ(gpudirect_routes(facts).no_dma_buf, "CUDA says that GPU 0000:17:00.0 has no GPUDirect RDMA");
}

TEST(GpuDirectRoutes, TheKernelsMlx4ReachesNoGpu) {
  for (const char* version : {"", "4.0-0"}) {
    Facts facts = with_mlx4("5.15.0-164-generic", version);
    facts.gpus.peer_memory = {"580.126.09",
                              "test"};  // Ubuntu's RDMA core takes the module, mlx4_ib does not ask it
    facts.rdma.peer_memory_clients = {std::vector<std::string>{"nv_mem"}, "test"};
    EXPECT_FALSE(gpudirect_routes(facts).any());
    EXPECT_FALSE(gpudirect_remedy(facts).possible);
    EXPECT_THAT(why_adapter_cannot(facts, *find_nic(0x1007)), HasSubstr("ends with kernel 5.4"));
    EXPECT_EQ(why_adapter_cannot(facts, *find_nic(0x1017)), "");
  }
  EXPECT_THAT(why_adapter_cannot(with_mlx4("4.18.0-305.el8.x86_64", ""), *find_nic(0x1003)),
              HasSubstr("it takes MLNX_OFED 4.9 LTS"));
}

TEST(GpuDirectRoutes, Mlx4OfOfed49TakesNvidiaPeermem) {
  Facts facts = with_mlx4("5.4.0-42-generic", "4.9-7.1.0");
  EXPECT_EQ(why_adapter_cannot(facts, *find_nic(0x1007)), "");
  EXPECT_EQ(gpudirect_routes(facts).no_dma_buf, "mlx4 takes no DMA-BUF");
  EXPECT_THAT(gpudirect_remedy(facts).commands, Contains(HasSubstr("peerdirect_support=1")));
  facts.rdma.peer_memory_clients = {std::vector<std::string>{"nv_mem"}, "test"};
  EXPECT_TRUE(gpudirect_routes(facts).peer_memory());
}

TEST(PeerMemory, IsInOfedAndInSomeKernelsOfUbuntu) {
  const auto api = [](const char* os, const char* kernel) {
    return peer_memory_api(without_route("Tesla T4", os, kernel));
  };
  EXPECT_EQ(api("rhel", "6.12.0-124.8.1.el10_1.x86_64"), PeerMemoryApi::kNo);
  EXPECT_EQ(api("debian", "6.1.0-41-amd64"), PeerMemoryApi::kNo);
  EXPECT_EQ(api("ubuntu", "4.15.0-20-generic"), PeerMemoryApi::kNo);
  EXPECT_EQ(api("ubuntu", "5.8.0-63-generic"), PeerMemoryApi::kUnknown);
  EXPECT_EQ(api("ubuntu", "5.4.0-42-generic"), PeerMemoryApi::kUnknown);
  EXPECT_EQ(api("ubuntu", "5.15.0-164-generic"), PeerMemoryApi::kYes);
  EXPECT_EQ(api("ubuntu", "6.8.0-87-generic"), PeerMemoryApi::kNo);
  EXPECT_EQ(api("ubuntu", "6.8.0-1040-nvidia"), PeerMemoryApi::kYes);
  EXPECT_EQ(api("ubuntu", "6.14.0-1013-nvidia"), PeerMemoryApi::kUnknown);
  EXPECT_EQ(api("opensuse", "6.4.0"), PeerMemoryApi::kUnknown);
  Facts ofed = without_route("Tesla T4", "rhel", "6.12.0");
  ofed.system.kernel.loaded_modules = {std::vector<std::string>{"mlx_compat"}, "test"};
  EXPECT_EQ(peer_memory_api(ofed), PeerMemoryApi::kYes);
  ofed = without_route("Tesla T4", "rhel", "6.12.0");
  ofed.rdma.driver_version = {"24.10-0.7.0", "test"};
  EXPECT_EQ(peer_memory_api(ofed), PeerMemoryApi::kYes);
  ofed.rdma.driver_version = {"5.0-0", "test"};  // the kernel's own mlx5_core called itself so
  EXPECT_EQ(peer_memory_api(ofed), PeerMemoryApi::kNo);
}

TEST(GpuDirectRemedy, LoadsNvidiaPeermemOnlyWhereTheRdmaCoreTakesIt) {
  const auto commands = [](const char* model, const char* os, const char* kernel) {
    return gpudirect_remedy(without_route(model, os, kernel)).commands;
  };
  const auto loads = Contains("modprobe nvidia-peermem");
  EXPECT_THAT(commands("Tesla V100-PCIE-16GB", "ubuntu", "5.15.0-164-generic"), loads);
  EXPECT_THAT(commands("Tesla V100-PCIE-16GB", "ubuntu", "6.8.0-87-generic"), Not(loads));
  EXPECT_THAT(commands("Tesla V100-PCIE-16GB", "rhel", "5.14.0-570.el9.x86_64"), Not(loads));
  EXPECT_THAT(commands("Tesla T4", "rhel", "6.12.0-124.8.1.el10_1.x86_64"),
              ElementsAre("modinfo -F license nvidia"));
  EXPECT_THAT(commands("NVIDIA H100 PCIe", "debian", "5.10.0-30-amd64"),
              ElementsAre(HasSubstr("CONFIG_PCI_P2PDMA")));
}

TEST(GpuDirectRemedy, BeforeTuringWantsOfed) {
  const Facts facts = without_route("Tesla V100-PCIE-16GB", "rhel", "5.14.0-570.el9.x86_64");
  const GpuDirectRow& row = gpudirect_remedy(facts);
  EXPECT_THAT(std::string(row.text), HasSubstr("DOCA-OFED"));
  EXPECT_THAT(std::string(row.text), Not(HasSubstr("open kernel module")));
}

TEST(GpuDirectRemedy, AsksWhereItCannotBeTold) {
  const Facts facts = without_route("Tesla V100-PCIE-16GB", "ubuntu", "5.4.0-42-generic");
  const GpuDirectRow& row = gpudirect_remedy(facts);
  EXPECT_THAT(row.commands, ElementsAre(HasSubstr("/proc/kallsyms")));
}

TEST(GpuDirectRemedy, ReloadsWhatIsLoadedAndNotRegistered) {
  Facts facts = without_route("Tesla T4", "ubuntu", "5.15.0-164-generic");
  facts.gpus.peer_memory = {"580.95.05", "test"};
  facts.rdma.peer_memory_clients = {std::vector<std::string>{}, "test"};
  EXPECT_THAT(gpudirect_remedy(facts).commands,
              ElementsAre("modprobe -r nvidia-peermem", "modprobe nvidia-peermem"));
}

TEST(GpuDirectRemedy, AnAdapterThatRefusesIsNoOldKernel) {
  Facts facts = without_route("Tesla T4", "rhel", "6.12.0-124.8.1.el10_1.x86_64");
  facts.gpus.open_module = {true, "test"};
  RdmaDevice device = (*facts.rdma.devices)[0];
  device.dma_buf = {false, "test"};
  facts.rdma.devices = {{device}, "test"};
  EXPECT_FALSE(gpudirect_remedy(facts).possible);
  facts.system.kernel.release = {"4.18.0-553.el8_10.x86_64", "test"};
  EXPECT_THAT(gpudirect_remedy(facts).commands, ElementsAre(HasSubstr("CONFIG_PCI_P2PDMA")));
}

TEST(GpuDirectTable, EveryRowHasASourceAndSomethingToDoOrAReason) {
  for (const GpuDirectRow& row : gpudirect_table()) {
    EXPECT_FALSE(row.source.empty()) << row.text;
    EXPECT_EQ(row.possible, !row.commands.empty()) << row.text;
  }
  const GpuDirectRow& last = gpudirect_table().back();
  EXPECT_FALSE(last.gpu || last.adapter || last.api || last.kernel) << "some row must fit every node";
}

}  // namespace
}  // namespace railbed
