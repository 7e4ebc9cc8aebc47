// nvidia-smi topo, nvlink -s and -L: outputs that name GPUs by number.
#include <gtest/gtest.h>

#include "base/json.h"
#include "host/support/nvidia_smi.h"
#include "host/support/outputs.h"
#include "host/support/pasted.h"
#include "host/support/support.h"
#include "host/support/texts.h"
#include "host/testing/report_host.h"
#include "nvidia/gpu_answers.h"

namespace railbed {
namespace {

const GpuAddresses kTwo = {{0, "0000:17:00.0"}, {1, "0000:65:00.0"}};
constexpr const char* kLegend =
    "\nLegend:\n\n  X    = Self\n  NV#  = Connection traversing a bonded set of # NVLinks\n";

NvmlPeers peers_of(const TopologyTexts& texts, const GpuAddresses& addresses = kTwo) {
  ReportTree report;
  add_nvidia_topology(texts, addresses, report);
  return json::read<NvmlPeers>(host_of(std::move(report))->call("nvml p2p").value_or("{}"))
      .value_or(NvmlPeers{});
}

std::string node_of(Host& host, const std::string& address) {
  return host.read_line("/sys/bus/pci/devices/" + address + "/numa_node").value_or("");
}

// The header of drivers since 530, underlined as on a terminal; adapters by number.
TEST(NvidiaTopology, ShowsNvlinksAndNumaNodes) {
  const std::string text = without_colours(
      "\x1b[4m\tGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m\n"
      "GPU0\t X \tNV18\tPIX\t0-47,96-143\t0\t\tN/A\nGPU1\tNV18\t X \tSYS\t48-95,144-191\t1\t\tN/A\n"
      "NIC0\tPIX\tSYS\t X \t\t\t\t\n" +
      std::string(kLegend) + "\nNIC Legend:\n\n  NIC0: mlx5_0\n");
  EXPECT_TRUE(is_nvidia_topology(text));
  ReportTree report;
  add_nvidia_topology({.ways = text, .has_nvlinks = true}, kTwo, report);
  const auto host = host_of(std::move(report));
  EXPECT_EQ(node_of(*host, "0000:17:00.0"), "0");
  EXPECT_EQ(node_of(*host, "0000:65:00.0"), "1");
  const auto peers = json::read<NvmlPeers>(host->call("nvml p2p").value_or(""));
  ASSERT_TRUE(peers);
  EXPECT_EQ(peers->at("0000:17:00.0").at("0000:65:00.0").nvlink, "ok");
  EXPECT_EQ(peers->at("0000:17:00.0").at("0000:65:00.0").read, "")
      << "-m does not show whether reading is allowed";
}

TEST(NvidiaTopology, OlderOnesNameAdaptersByDeviceAndHaveNoNumaColumn) {
  const auto peers =
      peers_of({.ways = "        GPU0    GPU1    mlx5_0  CPU Affinity\nGPU0     X      NV2     PIX     0-23\n"
                        "GPU1    NV2      X      PHB     0-23\nmlx5_0  PIX     PHB      X\n",
                .has_nvlinks = true});
  EXPECT_EQ(peers.at("0000:65:00.0").at("0000:17:00.0").nvlink, "ok");
}

TEST(NvidiaTopology, CellsThatRunTogetherAreNotTakenForOthers) {
  ReportTree report;
  add_nvidia_topology(
      {.ways = "\tGPU0\tGPU1\tNIC0\tNIC1\tCPU Affinity\tNUMA Affinity\nGPU0 X NV18 NODENODE 0-3 0-1\n"
               "GPU1 NV18 X NODE PIX 4-7 1\n",
       .has_nvlinks = true},
      kTwo, report);
  const auto host = host_of(std::move(report));
  EXPECT_EQ(node_of(*host, "0000:17:00.0"), "") << "of two nodes none is the GPU's";
  EXPECT_EQ(node_of(*host, "0000:65:00.0"), "1");
  const auto peers =
      peers_of({.ways = "\tGPU0\tGPU1\tCPU Affinity\nGPU0\tX\tNV1\nGPU1\tNV18X\t4-7\n", .has_nvlinks = true});
  EXPECT_TRUE(peers.empty()) << "rows that are not whole";
}

TEST(NvidiaTopology, NoNvlinkIsStatedOnlyByAnOutputThatWouldShowIt) {
  const std::string text = "\tGPU0\tGPU1\tCPU Affinity\nGPU0\tX\tSYS\t0-3\nGPU1\tSYS\tX\t4-7\n";
  EXPECT_EQ(peers_of({.ways = text, .has_nvlinks = true}).at("0000:17:00.0").at("0000:65:00.0").nvlink,
            "no NVLink is up, only SYS");
  EXPECT_TRUE(peers_of({.ways = text}).empty()) << "topo -mp shows no NVLink";
  const GpuAddresses three = {{0, "0000:06:00.0"}, {1, "0000:07:00.0"}, {2, "0000:0a:00.0"}};
  const auto cube =
      peers_of({.ways = "\tGPU0\tGPU1\tGPU2\nGPU0\tX\tNV1\tSYS\nGPU1\tNV1\tX\tNV1\nGPU2\tSYS\tNV1\tX\n",
                .has_nvlinks = true},
               three);
  EXPECT_FALSE(cube.at("0000:06:00.0").contains("0000:0a:00.0")) << "not each two GPUs of a cube are wired";
}

TEST(NvidiaTopology, PeersOfBothKindsAreWhatNvmlAnswers) {
  const auto peers = peers_of({.ways = {},
                               .read = " \tGPU0\tGPU1\t\n GPU0\tX\tOK\t\n GPU1\tCNS\tX\t\n\nLegend:\n",
                               .nvlink = " \tGPU0\tGPU1\t\n GPU0\tX\tNS\t\n GPU1\tOK\tX\t\n"});
  EXPECT_EQ(peers.at("0000:17:00.0").at("0000:65:00.0").read, "ok");
  EXPECT_EQ(peers.at("0000:17:00.0").at("0000:65:00.0").nvlink, "not supported");
  EXPECT_EQ(peers.at("0000:65:00.0").at("0000:17:00.0").read, "chipset not supported");
}

constexpr const char* kTable =
    "+-----------------------------------------------------------------------------+\n"
    "| NVIDIA-SMI 570.86.15    Driver Version: 570.86.15    CUDA Version: 12.8     |\n"
    "|-------------------------------+----------------------+----------------------+\n"
    "|   0  NVIDIA H100 80G...  On   | 00000000:17:00.0 Off |                    0 |\n"
    "| N/A   34C    P0    70W / 700W |      4MiB / 81559MiB |      0%      Default |\n"
    "|                               |                      |             Disabled |\n"
    "+-------------------------------+----------------------+----------------------+\n"
    "|   1  NVIDIA H100 80G...  On   | 00000000:65:00.0 Off |                    0 |\n"
    "+-------------------------------+----------------------+----------------------+\n";
constexpr const char* kLinks =
    "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-a)\n\t Link 0: 26.562 GB/s\n\t Link 1: <inactive>\n"
    "GPU 1: NVIDIA H100 80GB HBM3 (UUID: GPU-b)\n\t Link 0: 26.562 GB/s\n";

Sent sent_of(std::initializer_list<std::pair<std::string, std::string>> files) {
  Sent sent;
  for (const auto& [name, text] : files) sent.files[name] = {text, 0};
  return sent;
}

TEST(NvidiaLinks, JoinTheTableByNumber) {
  auto reports = reports_of(sent_of({{"a.txt", kTable}, {"b.txt", kLinks}}), "x");
  ASSERT_TRUE(reports) << reports.error().text;
  const auto host = host_of(std::move(reports->nodes.front().tree));
  const auto gpu = json::read<NvmlGpu>(host->call("nvml 0000:17:00.0").value_or(""));
  ASSERT_TRUE(gpu);
  EXPECT_EQ(gpu->uuid.value_or(""), "GPU-a");
  EXPECT_EQ(gpu->name.value_or(""), "NVIDIA H100 80GB HBM3") << "the table cuts it";
  ASSERT_TRUE(gpu->nvlinks);
  EXPECT_FALSE(gpu->nvlinks->at("01").active);
}

TEST(NvidiaLinks, WithoutAnAddressTheReasonIsStated) {
  auto reports = reports_of(sent_of({{"links.txt", kLinks}, {"hostname.txt", "gpu01\n"}}), "x");
  ASSERT_TRUE(reports);
  ASSERT_EQ(reports->unread.size(), 1U);
  EXPECT_NE(reports->unread[0].why.find("PCI addresses"), std::string::npos);
  const auto alone = reports_of(sent_of({{"links.txt", kLinks}}), "x");
  ASSERT_FALSE(alone);
  EXPECT_NE(alone.error().text.find("PCI addresses"), std::string::npos) << alone.error().text;
}

TEST(NvidiaLinks, TheOrderGivesNumbersOnlyIfNoGpuIsMissing) {
  const std::string head = "==============NVSMI LOG==============\n\nAttached GPUs : ";
  EXPECT_EQ(find_gpu_addresses(head + "1\nGPU 00000000:17:00.0\n    Product Name : A\n"),
            (GpuAddresses{{0, "0000:17:00.0"}}));
  EXPECT_TRUE(find_gpu_addresses(head + "2\nGPU 00000000:17:00.0\n    Product Name : A\n").empty());
  EXPECT_EQ(find_gpu_addresses(kTable), kTwo);
}

TEST(NvidiaTopology, IsRecognisedByItsContent) {
  const auto command = [](const std::string& text) {
    const auto outputs = outputs_in("paste", text).value_or(std::vector<Output>());
    return outputs.size() == 1 ? command_of(outputs[0]) : "";
  };
  EXPECT_EQ(command("\x1b[4m\tGPU0\tCPU Affinity\x1b[0m\nGPU0\tX\t0-3\n"), "nvidia-smi topo");
  EXPECT_EQ(command(" \tGPU0\tGPU1\n GPU0\tX\tOK\n GPU1\tOK\tX\n\nLegend:\n  CNS  = Chipset not supported\n"),
            "nvidia-smi topo -p2p");
  EXPECT_EQ(command(kLinks), "nvidia-smi nvlink -s");
  EXPECT_EQ(command("GPU 0: NVIDIA A (UUID: GPU-a)\n"), "nvidia-smi -L");
}

TEST(Outputs, LoseTheirColours) {
  EXPECT_EQ(without_colours("a\x1b[4mb\x1b[0;31mc"), "abc");
  EXPECT_EQ(without_colours("a\x1b[12"), "a");
  EXPECT_EQ(without_colours("\x1b[mx\x1b["), "x");
}

}  // namespace
}  // namespace railbed
