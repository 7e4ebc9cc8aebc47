#include "monitor/metrics/node_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "campaign/look/gather.h"
#include "host/host.h"
#include "host/open.h"

namespace railbed {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string kMachines = RAILBED_SOURCE_DIR "/tests/machines/";

NodeState state_of(const std::string& machine, const std::string& tree, const std::string& node) {
  Sources sources;
  sources.cluster = kMachines + machine + "/cluster.yaml";
  sources.root = kMachines + machine + "/" + tree;
  sources.only = node;
  auto evidence = gather_evidence(sources, {}, {});
  EXPECT_TRUE(evidence) << evidence.error().text;
  NodeState state;
  state.look = std::make_shared<const NodeLook>(judge_node(std::move(*evidence)));
  const auto host = open_root(sources.root);
  EXPECT_TRUE(host);
  state.counts = std::make_shared<const Counts>(collect_counts(**host, state.look->facts.rdma));
  return state;
}

std::string healthy() { return node_metrics(state_of("h100-cx7", "gpu01.tree", "gpu01")); }

TEST(NodeMetrics, PortsByTheNamesOfNodeExporter) {
  const std::string text = healthy();
  for (const char* line :
       {"node_infiniband_state_id{device=\"mlx5_0\",port=\"1\"} 4\n",
        "node_infiniband_physical_state_id{device=\"mlx5_0\",port=\"1\"} 5\n",
        "node_infiniband_rate_bytes_per_second{device=\"mlx5_0\",port=\"1\"} 50000000000\n",
        "node_infiniband_port_data_received_bytes_total{device=\"mlx5_0\",port=\"1\"} 4096\n",
        "railbed_hw_counter_total{device=\"mlx5_0\",port=\"1\",counter=\"roce_slow_restart\"} 0\n",
        "node_infiniband_roce_slow_restart_used_total{device=\"mlx5_0\",port=\"1\"} 0\n",
        "node_network_mtu_bytes{device=\"ens11np0\"} 9000\n"})
    EXPECT_THAT(text, HasSubstr(line));
}

TEST(NodeMetrics, RailsBesideWhatTheyShouldBe) {
  const std::string text = healthy();
  for (
      const char* line :
      {"railbed_rail_info{rail=\"rail0\",device=\"mlx5_0\",port=\"1\",interface=\"ens11np0\",peer=\"gpu02\"} 1\n",
       "railbed_port_rate_expected_bytes_per_second{device=\"mlx5_0\",port=\"1\"} 50000000000\n",
       "railbed_interface_mtu_expected_bytes{device=\"ens11np0\"} 9000\n"})
    EXPECT_THAT(text, HasSubstr(line));
}

TEST(NodeMetrics, ASoundNodeShowsNoFinding) {
  const std::string text = healthy();
  EXPECT_THAT(text, Not(HasSubstr("railbed_finding{"))) << "nor one about a node that nobody asked";
  EXPECT_THAT(text, HasSubstr("railbed_findings{status=\"fail\"} 0\n"));
}

Finding finding(std::string_view rule, const std::string& subject, Status status) {
  Finding finding;
  finding.rule = rule;
  finding.subject = subject;
  finding.status = status;
  return finding;
}

LogEvent event(LogKind kind, int code, const std::string& subject, std::uint64_t count) {
  LogEvent event;
  event.kind = kind;
  event.code = code;
  event.subject = subject;
  event.count = count;
  return event;
}

TEST(NodeMetrics, OnlyRootsAreFindings) {
  NodeState state;
  auto look = std::make_shared<NodeLook>();
  look->findings = {finding("rdma.port-down", "mlx5_0/1", Status::kFail),
                    finding("rdma.rate", "mlx5_0/1", Status::kFail),
                    finding("cpu.governor", "CPU \"0\"\n", Status::kWarn),
                    finding("cpu.governor", "CPU \"0\"\n", Status::kFail)};
  look->findings[1].caused_by = 0;
  state.look = look;
  state.since[{"rdma.port-down", "mlx5_0/1"}] = 1767225600;
  const std::string text = node_metrics(state);
  EXPECT_THAT(text,
              HasSubstr("railbed_finding{rule=\"rdma.port-down\",subject=\"mlx5_0/1\",status=\"fail\"} 1\n"));
  EXPECT_THAT(
      text,
      HasSubstr("railbed_finding_since_seconds{rule=\"rdma.port-down\",subject=\"mlx5_0/1\"} 1767225600\n"));
  EXPECT_THAT(text, Not(HasSubstr("railbed_finding_flapping{")));
  NodeEvent flapping;
  flapping.status = Status::kFail;
  flapping.flaps = 7;
  flapping.flapping_since = UtcTime{1767225000};
  state.flapping[{"net.carrier", "ens6"}] = flapping;
  EXPECT_THAT(
      node_metrics(state),
      AllOf(HasSubstr("railbed_finding_flapping{rule=\"net.carrier\",subject=\"ens6\",status=\"fail\"} 7\n"),
            HasSubstr("railbed_finding_flapping_since_seconds{rule=\"net.carrier\",subject=\"ens6\"} "
                      "1767225000\n")));
  EXPECT_THAT(text, Not(HasSubstr("rdma.rate")));
  EXPECT_THAT(text, HasSubstr("rule=\"cpu.governor\",subject=\"CPU \\\"0\\\""));
  EXPECT_THAT(text, Not(HasSubstr("\",status=\"warn\"} 1\n")));
}

TEST(NodeMetrics, PausesByEachDriversWords) {
  NodeState state;
  auto counts = std::make_shared<Counts>();
  const auto add = [&](const std::string& name, std::map<std::string, std::uint64_t> driver) {
    InterfaceCounts& interface_counts = counts->interfaces.emplace_back();
    interface_counts.link.name = name;
    interface_counts.driver = std::move(driver);
  };
  add("mlx5", {{"rx_prio3_pause", 7},
               {"tx_prio3_pause_duration", 2'500'000},
               {"rx_global_pause", 2},
               {"rx_prio3_discards", 5},
               {"tx_pause_storm_error_events", 1},
               {"rx_pcs_symbol_err_phy", 9},
               {"rx_64_bytes_phy", 1000},
               {"rx_prio33_pause", 1}});
  add("mlx4", {{"tx_pause_prio_3", 8}});
  add("bnxt", {{"rx_pfc_ena_frames_pri3", 9}});
  add("ice", {{"tx_priority_3_xoff.nic", 10}});
  state.counts = counts;
  const std::string text = node_metrics(state);
  const std::string frames = "railbed_pause_frames_total{device=";
  for (const std::string& line :
       {frames + R"("mlx5",priority="3",direction="received"} 7)",
        frames + R"("mlx5",priority="all",direction="received"} 2)",
        frames + R"("mlx4",priority="3",direction="transmitted"} 8)",
        frames + R"("bnxt",priority="3",direction="received"} 9)",
        frames + R"("ice",priority="3",direction="transmitted"} 10)",
        std::string(R"(railbed_pause_seconds_total{device="mlx5",priority="3",direction="transmitted"} 2.5)"),
        std::string(R"(railbed_priority_discards_total{device="mlx5",priority="3",direction="received"} 5)"),
        std::string(R"(railbed_pause_storms_total{device="mlx5",direction="transmitted",kind="error"} 1)"),
        std::string(R"(railbed_phy_counter_total{device="mlx5",counter="rx_pcs_symbol_err_phy"} 9)")})
    EXPECT_THAT(text, HasSubstr(line + "\n"));
  EXPECT_THAT(text, Not(HasSubstr("bytes_phy")));
  EXPECT_THAT(text, Not(HasSubstr("prio33")));
}

TEST(NodeMetrics, GpusByTheNamesOfDcgmExporter) {
  NodeState state;
  NvmlGpu gpu;
  gpu.name = {"NVIDIA H200", "nvml"};
  gpu.uuid = {"GPU-1", "nvml"};
  gpu.temperature = {41, "nvml"};
  gpu.memory = {std::uint64_t{2} << 30, "nvml"};
  gpu.memory_used = {std::uint64_t{1} << 30, "nvml"};
  gpu.memory_free = {std::uint64_t{768} << 20, "nvml"};
  gpu.energy = {std::uint64_t{1234567}, "nvml"};
  gpu.nvlinks = {NvmlLinks{{"00", {true, 26562, {{"crc", 2}}}}, {"01", {true, 26562, {{"crc", 3}}}}}, "nvml"};
  GpuReadings gpus;
  gpus.emplace("0000:1b:00.0", Reading<NvmlGpu>(gpu, "nvml"));
  gpus.emplace("0000:2b:00.0", Reading<NvmlGpu>(Miss{Missing::kTimeout, "it hangs"}, "nvml"));
  state.gpus = std::make_shared<const GpuReadings>(std::move(gpus));
  GpuActivity activity;
  activity.tensor = {.25, "nvmlGpmMetricsGet"};
  activity.pcie_sent = {2.5e9, "NVML_FI_DEV_PCIE_COUNT_TX_BYTES"};
  activity.nvlink_sent = {Miss{Missing::kUnsupported, "no NVLink"}, "nvml"};
  state.activity = std::make_shared<const GpuActivities>(GpuActivities{{"0000:1b:00.0", activity}});
  const std::string text = node_metrics(state);
  const std::string labels =
      R"({gpu="0",UUID="GPU-1",pci_bus_id="00000000:1B:00.0",device="nvidia0",modelName="NVIDIA H200",Hostname=""})";
  EXPECT_THAT(text, HasSubstr("DCGM_FI_DEV_GPU_TEMP" + labels + " 41\n"));
  EXPECT_THAT(text, HasSubstr("DCGM_FI_DEV_FB_USED" + labels + " 1024\n"));
  EXPECT_THAT(text, HasSubstr("DCGM_FI_DEV_FB_FREE" + labels + " 768\n"));
  EXPECT_THAT(text, HasSubstr("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION" + labels + " 1234567\n"));
  EXPECT_THAT(text, HasSubstr("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE" + labels + " 0.25\n"));
  EXPECT_THAT(text, HasSubstr("DCGM_FI_PROF_PCIE_TX_BYTES" + labels + " 2500000000\n"));
  EXPECT_THAT(text, HasSubstr("DCGM_FI_DEV_PCIE_TX_THROUGHPUT" + labels + " 2500000\n"));
  EXPECT_THAT(text, Not(HasSubstr("NVLINK_TX_BYTES")));
  EXPECT_THAT(text, Not(HasSubstr("DCGM_FI_PROF_SM_ACTIVE")));
  EXPECT_THAT(text, HasSubstr("DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL" + labels + " 5\n"));
  EXPECT_THAT(text, Not(HasSubstr("DCGM_FI_DEV_POWER_USAGE"))) << "what the GPU does not say is not zero";
  EXPECT_THAT(text, HasSubstr("railbed_gpu_answers{pci_bus_id=\"00000000:2B:00.0\"} 0\n"));
}

TEST(NodeMetrics, TheJobOfAGpuByTheNamesOfDcgmExporter) {
  NodeState state;
  NvmlGpu gpu;
  gpu.temperature = {41, "nvml"};
  gpu.pcie_replays = {7, "nvml"};
  GpuReadings gpus;
  for (const char* address : {"0000:1b:00.0", "0000:2b:00.0", "0000:3b:00.0", "0000:4b:00.0"})
    gpus.emplace(address, Reading<NvmlGpu>(gpu, "nvml"));
  state.gpus = std::make_shared<const GpuReadings>(std::move(gpus));
  GpuJobs jobs;
  jobs["0000:1b:00.0"] = {{.hpc_job = "417", .user = "alice", .processes = 1}};
  jobs["0000:2b:00.0"] = {
      {.user = "0", .pod = "train-0", .name_space = "ml", .container = "torch", .processes = 2}};
  jobs["0000:3b:00.0"] = {{.hpc_job = "417", .user = "alice", .processes = 2},
                          {.user = "b\"ob\n", .processes = 1}};
  state.jobs = std::make_shared<const GpuJobs>(std::move(jobs));
  const std::string text = node_metrics(state);
  EXPECT_THAT(text, HasSubstr(R"(device="nvidia0",modelName="",Hostname="",hpc_job="417"} 41)"));
  EXPECT_THAT(text, ContainsRegex(R"(DCGM_FI_DEV_PCIE_REPLAY_COUNTER\{gpu="0".*Hostname=""\} 7)"))
      << "a counter goes on when its job ends";
  EXPECT_THAT(text, HasSubstr(R"(Hostname="",pod="train-0",namespace="ml",container="torch"} 41)"));
  EXPECT_THAT(text, HasSubstr(R"(device="nvidia2",modelName="",Hostname=""} 41)")) << "two jobs share it";
  EXPECT_THAT(text, HasSubstr(R"(device="nvidia3",modelName="",Hostname=""} 41)")) << "nobody has it";
  EXPECT_THAT(
      text,
      HasSubstr(
          R"(railbed_gpu_processes{pci_bus_id="00000000:3B:00.0",hpc_job="417",user="alice",pod="",namespace="",container=""} 2)"));
  EXPECT_THAT(text, HasSubstr(R"(user="b\"ob ",pod="")"));
}

TEST(NodeMetrics, WhatIsSeenOverTime) {
  Watched watched;
  watched.work.jobs = {
      JobSpell{.job = {.hpc_job = "417", .user = "alice"}, .since = 1000, .until = 1780, .readings = 14},
      JobSpell{.job = {.user = "bob"}, .since = 1000, .until = 1780, .readings = 14, .unread = "mlx5_0/1"}};
  WatchedLink& link = watched.links["ens1"];
  link.carrier = true;
  link.speed_mbps = 400'000;
  link.bit_errors = 3e-8;
  link.lost = LostBlocks{.count = 20, .seconds = 600, .share = 0.25};
  link.optics = Optics{
      .celsius = 40,
      .alarms = {},
      .volts = 3.25,
      .lanes = {{.number = 1, .receive = 0.5, .send = 1.0, .bias = 7.5}, {.number = 2, .receive = 0.0}},
      .receive = {.low_alarm = 0.1}};
  auto look = std::make_shared<NodeLook>();
  look->watched = std::make_shared<const Watched>(std::move(watched));
  NodeState state;
  state.look = look;
  state.gpus = std::make_shared<const GpuReadings>(GpuReadings{{"0000:1b:00.0", {NvmlGpu(), "nvml"}}});
  const std::string text = node_metrics(state);
  for (const char* line :
       {R"(railbed_job_spin_seconds{hpc_job="417",user="alice",pod="",namespace="",container=""} 780)",
        R"(railbed_optics_power_dbm{device="ens1",lane="1",direction="receive"} -3.01)",
        R"(railbed_optics_power_dbm{device="ens1",lane="1",direction="transmit"} 0)",
        R"(railbed_optics_power_dbm{device="ens1",lane="2",direction="receive"} -40)",
        R"(railbed_optics_power_limit_dbm{device="ens1",direction="receive",limit="low alarm"} -10)",
        R"(railbed_optics_bias_milliamperes{device="ens1",lane="1"} 7.5)",
        R"(railbed_fec_lost_block_ratio{device="ens1"} 0.25)", R"(railbed_optics_volts{device="ens1"} 3.25)",
        R"(railbed_fec_bit_error_ratio{device="ens1"} 3)",
        R"(railbed_fec_bit_error_limit_ratio{device="ens1"} 0.00024)"})
    EXPECT_THAT(text, HasSubstr(line));
  EXPECT_THAT(text, Not(HasSubstr("bob"))) << "what is unread is not quiet";
}

TEST(NodeMetrics, ErrorCorrectionThatADriverDoesNotReportHasNoSeries) {
  auto look = std::make_shared<NodeLook>();
  NetInterface port;
  port.name = "ens1";
  port.fec = {FecState{.configured = {FecMode::kRs, FecMode::kBaseR},
                       .active = FecMode::kBaseR,
                       .corrected_blocks = FecCounter{256, {255, 1}},
                       .uncorrectable_blocks = FecCounter{0, {}}},
              "fec ens1"};
  NetInterface other;
  other.name = "eno1";
  other.fec = {Miss{Missing::kUnsupported, "Operation not supported"}, "fec eno1"};
  look->facts.net.interfaces = {std::vector<NetInterface>{port, other}, "/sys/class/net"};
  NodeState state;
  state.look = look;
  const std::string text = node_metrics(state);
  for (const char* line : {R"(railbed_fec_info{device="ens1",active="BaseR",configured="RS,BaseR"} 1)",
                           R"(railbed_fec_blocks_total{device="ens1",result="corrected"} 256)",
                           R"(railbed_fec_blocks_total{device="ens1",result="uncorrectable"} 0)",
                           R"(railbed_fec_lane_blocks_total{device="ens1",lane="0",result="corrected"} 255)",
                           R"(railbed_fec_lane_blocks_total{device="ens1",lane="1",result="corrected"} 1)"})
    EXPECT_THAT(text, HasSubstr(line));
  EXPECT_THAT(text, Not(HasSubstr("railbed_fec_corrected_bits_total{")));
  EXPECT_THAT(text, Not(HasSubstr("eno1")));
}

TEST(NodeMetrics, XidsAreCountedAndProcessesAreNoSeries) {
  NodeState state;
  auto look = std::make_shared<NodeLook>();
  KernelLog log;
  log.events = {event(LogKind::kXid, 79, "0000:1b:00.0", 3), event(LogKind::kOutOfMemory, 0, "mallory1", 1),
                event(LogKind::kOutOfMemory, 0, "mallory2", 1)};
  look->facts.kernel_log = {std::move(log), "/dev/kmsg"};
  state.look = look;
  const std::string text = node_metrics(state);
  EXPECT_THAT(text, HasSubstr(R"(railbed_xid_total{pci_bus_id="00000000:1B:00.0",xid="79"} 3)"));
  EXPECT_THAT(text, HasSubstr(R"(railbed_kernel_log_events_total{kind="out-of-memory",subject=""} 2)"));
  EXPECT_THAT(text, Not(HasSubstr("mallory")));
}

TEST(NodeMetrics, BeforeTheFirstLookThereIsOnlyItsOwnHealth) {
  NodeState state;
  state.collectors.push_back({"look", false, 12.5});
  const std::string text = node_metrics(state);
  EXPECT_THAT(text, HasSubstr("railbed_look_success 0\n"));
  EXPECT_THAT(text, HasSubstr("railbed_collector_duration_seconds{collector=\"look\"} 12.5\n"));
  EXPECT_THAT(text, Not(HasSubstr("node_")));
}

}  // namespace
}  // namespace railbed
