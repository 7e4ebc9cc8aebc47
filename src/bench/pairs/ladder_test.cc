#include "bench/pairs/ladder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace railbed {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr const char* kAdapter = "0000:1a:00.0";
constexpr const char* kGpu = "0000:1b:00.0";

template <class T>
Reading<T> reading(T value) {
  return {std::move(value), "a file"};
}

PciDevice pci(const std::string& address, const std::string& parent, PcieLink now, PcieLink most) {
  PciDevice device;
  device.address = address;
  if (!parent.empty()) device.parent = reading(parent);
  device.numa_node = reading(0);
  device.link_now = reading(now);
  device.max_payload = reading(256);
  device.link_max = reading(most);
  return device;
}

// ens6/mlx5_0, 100 Gb/s, and a GPU below one PCIe switch; everything Gen4 x16.
Facts ladder_node() {
  Facts facts;
  NetInterface interface;
  interface.name = "ens6";
  interface.speed_mbps = reading(100'000);
  interface.driver = reading<std::string>("mlx5_core");
  interface.pci_address = reading<std::string>(kAdapter);
  facts.net.interfaces = reading(std::vector{interface});
  constexpr PcieLink kWide{16, 16};
  facts.pci = reading(std::vector{
      pci("0000:17:01.0", "", kWide, kWide), pci("0000:18:00.0", "0000:17:01.0", kWide, kWide),
      pci("0000:19:00.0", "0000:18:00.0", kWide, kWide), pci("0000:19:01.0", "0000:18:00.0", kWide, kWide),
      pci(kAdapter, "0000:19:00.0", kWide, kWide), pci(kGpu, "0000:19:01.0", kWide, kWide)});
  RdmaPort port;
  port.state = reading<std::string>("ACTIVE");
  RdmaDevice device;
  device.name = "mlx5_0";
  device.driver = reading<std::string>("mlx5_core");
  device.pci_address = reading<std::string>(kAdapter);
  device.ports = reading(std::vector{port});
  facts.rdma.devices = reading(std::vector{device});
  Gpu gpu;
  gpu.pci_address = kGpu;
  facts.gpus.devices = reading(std::vector{gpu});
  facts.gpus.driver_version = reading<std::string>("580.95.05");
  return facts;
}

template <class T>
void edit(Reading<std::vector<T>>& list, const std::function<void(std::vector<T>&)>& change) {
  std::vector<T> copy = *list;
  change(copy);
  list = reading(std::move(copy));
}

PciDevice& at(std::vector<PciDevice>& devices, const std::string& address) {
  return *std::ranges::find(devices, address, &PciDevice::address);
}

Rung rung(RungKind kind, double gigabits, double wire = 98) {
  Rung rung{.kind = kind, .measurement = Measurement{}};
  Measurement& measured = *rung.measurement;
  measured.engine = kind == RungKind::kTcp    ? Engine::kTcp
                    : kind == RungKind::kNccl ? Engine::kCollective
                                              : Engine::kRdma;
  measured.mtu = kind == RungKind::kTcp ? 9000 : 4096;
  measured.streams = 4;
  measured.summary.samples = 30;
  measured.summary.median = gigabits * 1e9;
  if (wire > 0) measured.ceiling.limits = {{"wire, 100 Gb/s at MTU 4096", BitRate::gigabits(wire), "facts"}};
  return rung;
}

Ladder climbed(double tcp, double rdma, double gpu = 0, double nccl = 0, double wire = 98) {
  Ladder ladder{"gpu01", "gpu02", "rail0", {}, -1};
  ladder.rungs = {rung(RungKind::kTcp, tcp, wire), rung(RungKind::kRdma, rdma, wire),
                  rung(RungKind::kRdmaGpu, gpu, wire), rung(RungKind::kNccl, nccl, wire)};
  for (Rung& rung : ladder.rungs)
    if (rung.rate() == 0) rung = {.kind = rung.kind, .not_climbed = "no"};
  return ladder;
}

Ladder judged(Ladder ladder, const Facts& a = ladder_node(), const Facts& b = ladder_node()) {
  judge_ladder(ladder, {"gpu01", "ens6", &a, kGpu}, {"gpu02", "ens6", &b, kGpu});
  return ladder;
}

const std::vector<std::string>& loser_causes(const Ladder& ladder) {
  static const std::vector<std::string> kNone;
  return ladder.loser < 0 ? kNone : ladder.rungs[static_cast<std::size_t>(ladder.loser)].causes;
}

TEST(JudgeLadder, NoRungLosesOnAHealthyPair) {
  const Ladder ladder = judged(climbed(92, 97, 97, 95));
  EXPECT_EQ(ladder.loser, -1);
  for (const Rung& rung : ladder.rungs) EXPECT_THAT(rung.causes, IsEmpty());
  EXPECT_NEAR(*ladder.rungs[1].share, 97.0 / 98, 1e-9);
}

TEST(JudgeLadder, NamesTheRungWhereTheLossBegins) {
  EXPECT_EQ(judged(climbed(92, 50, 50, 48)).loser, 1);
  EXPECT_EQ(judged(climbed(92, 97, 50, 48)).loser, 2);
  EXPECT_EQ(judged(climbed(92, 97, 97, 48)).loser, 3);
  EXPECT_EQ(judged(climbed(92, 80, 78, 20)).loser, 3) << "the larger of two losses";
}

TEST(JudgeLadder, OtherTrafficThatMayBeAllThatIsMissingIsNoLoss) {
  Ladder ladder = climbed(92, 50, 50, 48);
  for (const double gigabits : {40.0, 20.0}) {
    for (Rung& rung : ladder.rungs)
      rung.measurement->from.other_traffic =
          OtherTraffic{1, static_cast<std::uint64_t>(gigabits * 1e9 / 8), 0, {}};
    const Ladder found = judged(ladder);
    EXPECT_EQ(found.loser, gigabits > 30 ? 3 : 1) << "NCCL's 48 Gb/s and 40 are less than nine tenths";
    EXPECT_THAT(found.rungs[1].causes.front(), HasSubstr("of other traffic"));
  }
}

TEST(JudgeLadder, TcpLosesOnlyWhereNothingIsAboveIt) {
  const Ladder slow = judged(climbed(30, 97));
  EXPECT_EQ(slow.loser, -1);
  EXPECT_THAT(slow.rungs[0].causes, Not(IsEmpty())) << "its loss is explained all the same";
  EXPECT_EQ(judged(climbed(30, 0)).loser, 0);
}

TEST(JudgeLadder, WithoutLimitsEachRungIsHeldAgainstTheOneBelow) {
  EXPECT_EQ(judged(climbed(20, 4, 0, 0, 0)).loser, 1);
  EXPECT_EQ(judged(climbed(4, 20, 0, 0, 0)).loser, -1);
  EXPECT_EQ(judged(climbed(4, 20, 0, 9, 0)).loser, -1) << "above the lowest that was left";
}

TEST(JudgeLadder, AClaimedSpeedIsNotJudged) {
  Ladder ladder = climbed(20, 30);
  for (Rung& rung : ladder.rungs)
    if (rung.measurement) rung.measurement->ceiling.nominal = true;
  EXPECT_EQ(judged(ladder).loser, -1);
  EXPECT_FALSE(judged(ladder).rungs[0].share);
}

TEST(JudgeLadder, AFailedRungHasNoShareAndNoCause) {
  Ladder ladder = climbed(92, 50);
  ladder.rungs[1].measurement->failure = Failure{"run", "no answer", ""};
  ladder = judged(ladder);
  EXPECT_EQ(ladder.loser, -1);
  EXPECT_THAT(ladder.rungs[1].causes, IsEmpty());
}

TEST(Causes, Losses) {
  Ladder ladder = climbed(92, 60);
  ladder.rungs[1].measurement->packets = 1'000'000;
  ladder.rungs[1].measurement->lost = 5000;
  EXPECT_THAT(loser_causes(judged(ladder)).front(), HasSubstr("5000 of 1000000 packets were lost"));
  ladder.rungs[1].measurement->lost = 50;
  EXPECT_THAT(loser_causes(judged(ladder)), Not(Contains(HasSubstr("lost"))));
}

TEST(Causes, PcieWidth) {
  Facts narrow = ladder_node();
  edit<PciDevice>(narrow.pci, [](auto& all) { at(all, kAdapter).link_now = reading(PcieLink{8, 4}); });
  EXPECT_THAT(
      loser_causes(judged(climbed(92, 28), ladder_node(), narrow)),
      ElementsAre("PCIe width: PCIe Gen3 x4 at 0000:1a:00.0 of gpu02 carries 28.6 Gb/s, the link 98.0 "
                  "Gb/s; it could be PCIe Gen4 x16: reseat it, or take another slot"));
  edit<PciDevice>(narrow.pci, [](auto& all) { at(all, kAdapter).link_max = reading(PcieLink{8, 4}); });
  EXPECT_THAT(loser_causes(judged(climbed(92, 28), ladder_node(), narrow)),
              ElementsAre(HasSubstr("the link 98.0 Gb/s; only a wider slot helps")));
}

TEST(Causes, PcieThatCarriesTheWireIsNone) {
  Facts narrower = ladder_node();
  edit<PciDevice>(narrower.pci, [](auto& all) { at(all, kAdapter).link_now = reading(PcieLink{16, 8}); });
  EXPECT_THAT(loser_causes(judged(climbed(92, 60), narrower, ladder_node())),
              Not(Contains(HasSubstr("PCIe"))));
}

TEST(Causes, OnePortOfALag) {
  Facts bonded = ladder_node();
  edit<NetInterface>(bonded.net.interfaces, [](auto& all) {
    all[0].bond_members = reading(std::vector<std::string>{"ens6f0", "ens6f1"});
    for (const std::string name : {"ens6f0", "ens6f1"}) {
      NetInterface port;
      port.name = name;
      port.speed_mbps = reading(100'000);
      all.push_back(port);
    }
  });
  EXPECT_THAT(loser_causes(judged(climbed(97, 97, 0, 0, 196), bonded)),
              Contains(HasSubstr("one port of a LAG")));
  EXPECT_THAT(loser_causes(judged(climbed(150, 150, 0, 0, 196), bonded)),
              Not(Contains(HasSubstr("one port of a LAG"))))
      << "faster than one port";
}

TEST(Causes, Mtu) {
  Ladder ladder = climbed(92, 60);
  ladder.rungs[1].measurement->mtu = 1024;
  EXPECT_THAT(loser_causes(judged(ladder)), Contains(HasSubstr("RDMA MTU 1024")));
  ladder = climbed(40, 97);
  ladder.rungs[0].measurement->mtu = 1500;
  EXPECT_THAT(judged(ladder).rungs[0].causes, Contains(HasSubstr("MTU 1500")));
}

TEST(Causes, Processors) {
  Ladder ladder = climbed(40, 0);
  ladder.rungs[0].measurement->cpu_seconds_per_gigabyte = 1.5;  // 5 GB/s: 7.5 of eight threads
  EXPECT_THAT(loser_causes(judged(ladder)), Contains(HasSubstr("processors: the 4 threads")));
  ladder.rungs[0].measurement->cpu_seconds_per_gigabyte = 0.5;
  EXPECT_THAT(loser_causes(judged(ladder)), Not(Contains(HasSubstr("processors"))));
}

TEST(Causes, SoftwareRdma) {
  Facts soft = ladder_node();
  edit<RdmaDevice>(soft.rdma.devices, [](auto& all) { all[0].driver = reading<std::string>("rxe"); });
  EXPECT_THAT(loser_causes(judged(climbed(20, 4, 0, 0, 0), soft)),
              Contains(HasSubstr("software RDMA: mlx5_0 of gpu01 is rxe")));
}

TEST(Causes, Congestion) {
  Ladder ladder = climbed(92, 60);
  ladder.rungs[1].measurement->counter_deltas = {{"gpu02 mlx5_0/1 np_cnp_sent", 912}};
  EXPECT_THAT(loser_causes(judged(ladder)),
              Contains(HasSubstr("congestion: gpu02 mlx5_0/1 np_cnp_sent +912")));
}

TEST(Causes, Iommu) {
  Facts translated = ladder_node();
  edit<PciDevice>(translated.pci,
                  [](auto& all) { at(all, kAdapter).iommu_type = reading<std::string>("DMA-FQ"); });
  EXPECT_THAT(loser_causes(judged(climbed(92, 60), translated)), Contains(HasSubstr("iommu=pt")));
  edit<PciDevice>(translated.pci,
                  [](auto& all) { at(all, kAdapter).iommu_type = reading<std::string>("identity"); });
  EXPECT_THAT(loser_causes(judged(climbed(92, 60), translated)), Not(Contains(HasSubstr("iommu=pt"))));
}

TEST(Causes, GpuAcrossTheProcessor) {
  Facts far = ladder_node();
  edit<PciDevice>(far.pci, [](auto& all) {
    at(all, kGpu).parent = reading<std::string>("0000:97:01.0");
    at(all, kGpu).numa_node = reading(1);
    all.push_back(pci("0000:97:01.0", "", {16, 16}, {16, 16}));
  });
  EXPECT_THAT(loser_causes(judged(climbed(92, 97, 40), far)),
              ElementsAre(HasSubstr("GPU 0000:1b:00.0 of gpu01 and its adapter have no PCIe switch in common "
                                    "(SYS)")));
  EXPECT_THAT(loser_causes(judged(climbed(92, 97, 40))), Not(Contains(HasSubstr("switch in common"))));
}

TEST(Causes, Acs) {
  Facts redirected = ladder_node();
  edit<PciDevice>(redirected.pci,
                  [](auto& all) { at(all, "0000:19:01.0").acs_control = reading<std::uint16_t>(0x1d); });
  EXPECT_THAT(loser_causes(judged(climbed(92, 97, 40), redirected)),
              ElementsAre(HasSubstr("ACS at 0000:19:01.0 of gpu01")));
}

TEST(Causes, NarrowGpu) {
  Facts narrow = ladder_node();
  edit<PciDevice>(narrow.pci, [](auto& all) { at(all, kGpu).link_now = reading(PcieLink{8, 4}); });
  EXPECT_THAT(loser_causes(judged(climbed(92, 97, 28), narrow)),
              ElementsAre(HasSubstr("PCIe width: PCIe Gen3 x4 at 0000:1b:00.0 of gpu01")));
}

TEST(Causes, RdmaThatIsStaged) {
  Ladder ladder = climbed(92, 97, 40);
  ladder.rungs[2].measurement->to = {
      "gpu02", "ens6", "", "", -1, "GPU 0000:1b:00.0, staged", "not by DMA-BUF: no"};
  ladder.rungs[2].measurement->from = {"gpu01", "ens6", "", "", -1, "GPU 0000:1b:00.0, DMA-BUF", ""};
  EXPECT_THAT(loser_causes(judged(ladder)),
              ElementsAre("gpu02 stages through host memory: not by DMA-BUF: no"));
}

Ladder with_nccl(double nccl, NcclWay way) {
  Ladder ladder = climbed(92, 97, 0, nccl);
  ladder.rungs[3].nccl = std::move(way);
  return ladder;
}

TEST(Causes, SocketFallback) {
  const NcclWay sockets{"Socket", "", {"ens6"}, {"ens6"}, {"gpu01: NCCL_IB_DISABLE=1"}};
  EXPECT_THAT(loser_causes(judged(with_nccl(30, sockets))),
              ElementsAre("NCCL fell back to sockets: gpu01: NCCL_IB_DISABLE=1"));
  Ladder ladder = with_nccl(30, sockets);
  ladder.rungs[1] = {.kind = RungKind::kRdma, .not_climbed = "no"};
  Facts without = ladder_node();
  without.rdma.devices = reading(std::vector<RdmaDevice>{});
  EXPECT_THAT(loser_causes(judged(ladder, without, without)), Not(Contains(HasSubstr("fell back"))))
      << "there is nothing to fall back from";
}

TEST(Causes, StagedThroughHostMemory) {
  EXPECT_THAT(loser_causes(judged(with_nccl(
                  40, {"IB", "off", {"mlx5_0"}, {"mlx5_0"}, {"gpu02: nvidia-peermem is not loaded"}}))),
              ElementsAre("NCCL stages everything through host memory: gpu02: nvidia-peermem is not loaded"));
  EXPECT_THAT(loser_causes(judged(with_nccl(40, {"IB", "on", {"mlx5_0"}, {"mlx5_0"}, {}}))),
              Not(Contains(HasSubstr("stages"))));
}

TEST(Causes, AnotherWayThanTheRail) {
  EXPECT_THAT(loser_causes(judged(with_nccl(40, {"IB", "on", {"mlx5_0"}, {"mlx5_3"}, {}}))),
              ElementsAre(HasSubstr("NCCL on gpu02 went through mlx5_3, not through the rail's mlx5_0: "
                                    "NCCL_IB_HCA")));
  EXPECT_THAT(loser_causes(judged(with_nccl(40, {"Socket", "", {"eth0"}, {"ens6"}, {}}))),
              Contains(HasSubstr("NCCL on gpu01 went through eth0, not through the rail's ens6: "
                                 "NCCL_SOCKET_IFNAME")));
  EXPECT_THAT(loser_causes(judged(with_nccl(40, {"IB", "on", {"mlx5_0+mlx5_1"}, {"NET/IB/0"}, {}}))),
              Not(Contains(HasSubstr("went through"))))
      << "merged with another, or without a name";
}

TEST(Causes, SaysWhenNothingExplainsIt) {
  EXPECT_THAT(loser_causes(judged(climbed(92, 60))),
              ElementsAre(HasSubstr("nothing in the facts explains it")));
  EXPECT_THAT(loser_causes(judged(with_nccl(40, {"IB", "on", {"mlx5_0"}, {"mlx5_0"}, {}}))),
              ElementsAre(HasSubstr("NCCL_IB_QPS_PER_CONNECTION")));
  Facts without = ladder_node();
  without.rdma.devices = reading(std::vector<RdmaDevice>{});
  Ladder sockets = with_nccl(30, {"Socket", "", {"ens6"}, {"ens6"}, {}});
  sockets.rungs[1] = {.kind = RungKind::kRdma, .not_climbed = "no"};
  EXPECT_THAT(loser_causes(judged(sockets, without, without)), Contains(HasSubstr("NCCL_SOCKET_NTHREADS=4")));
}

TEST(WhyNot, NamesWhatIsMissing) {
  const Facts all = ladder_node();
  Facts bare;
  const LadderEnd whole{"gpu01", "ens6", &all, kGpu};
  const LadderEnd none{"gpu02", "ens6", &bare, ""};
  EXPECT_EQ(why_no_rdma(whole, whole), "");
  EXPECT_EQ(why_no_rdma(whole, none), "gpu02 has no RDMA device");
  EXPECT_EQ(why_no_rdma(whole, {"gpu02", "eth0", &all, kGpu}), "eth0 of gpu02 has no RDMA device");
  EXPECT_EQ(why_no_gpu(whole, whole), "");
  EXPECT_EQ(why_no_gpu(whole, none), "gpu02 has no NVIDIA GPU");
  Facts without_driver = ladder_node();
  without_driver.gpus.driver_version = {};
  EXPECT_EQ(why_no_gpu(whole, {"gpu02", "ens6", &without_driver, kGpu}),
            "the NVIDIA driver is not loaded on gpu02");
}

TEST(WithGpuPaths, TheGpusOwnLinkMayBind) {
  Facts narrow = ladder_node();
  edit<PciDevice>(narrow.pci, [](auto& all) { at(all, kGpu).link_now = reading(PcieLink{8, 4}); });
  const Facts wide = ladder_node();
  Ceiling wire;
  wire.limits = {{"wire, 100 Gb/s at MTU 4096", BitRate::gigabits(98), "facts"}};
  const Ceiling all = with_gpu_paths(wire, {"gpu01", "ens6", &narrow, kGpu}, {"gpu02", "ens6", &wide, kGpu});
  ASSERT_EQ(all.limits.size(), 3U);
  EXPECT_THAT(all.limits[0].name, HasSubstr("PCIe Gen3 x4 at 0000:1b:00.0 of gpu01"));
  EXPECT_THAT(all.limits[1].name, HasSubstr("wire"));
}

}  // namespace
}  // namespace railbed
