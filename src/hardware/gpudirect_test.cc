#include "hardware/gpudirect.h"

#include <gtest/gtest.h>

namespace railbed {
namespace {

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
  EXPECT_FALSE(gpudirect_routes(facts).dma_buf_on_old_kernel);
  facts.system.kernel.release = {"5.15.0-100-generic", "test"};
  EXPECT_TRUE(gpudirect_routes(facts).dma_buf_on_old_kernel);
  facts.system.kernel.release = {"5.4.0", "test"};
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

}  // namespace
}  // namespace railbed
