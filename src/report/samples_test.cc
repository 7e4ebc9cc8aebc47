#include "report/samples.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace railbed {
namespace {

template <class T>
Reading<T> read(T value, std::string from) {
  return Reading<T>(std::move(value), std::move(from));
}

struct Machine {
  std::string os = "Debian GNU/Linux 12 (bookworm)";
  std::string kernel = "6.1.0-28-amd64";
  std::string cpu = "Intel(R) Xeon(R) E5-2690 v4";
  int cpus = 28;
  std::uint64_t gibibytes = 128;
  int gpus = 0;
  std::string gpu = "Tesla V100-SXM2-16GB";
  PcieLink gpu_link{8, 16};
  int rails = 1;
  std::string interface = "ens%dnp0";
  std::string device = "mlx5_%d";
  std::string driver = "mlx5_core";
  PcieLink nic_link{16, 16};
  bool on_pci = true;
  int speed_mbps = 100000;
  int mtu = 9000;
  bool infiniband = false;
  Fabric fabric = Fabric::kRoce;
  Topology topology = Topology::kBackToBack;
};

std::string numbered(std::string form, int number) {
  if (const auto at = form.find("%d"); at != std::string::npos) form.replace(at, 2, std::to_string(number));
  return form;
}

// The lists of a Facts while they grow.
struct Parts {
  std::vector<PciDevice> pci;
  std::vector<NetInterface> interfaces;
  std::vector<RdmaDevice> rdma;
  std::vector<Gpu> gpus;
};

void add_pci(Parts& parts, const std::string& address, PcieLink link) {
  PciDevice device;
  device.address = address;
  device.link_now = read(link, "/sys/bus/pci/devices/" + address + "/current_link_width");
  device.link_max = device.link_now;
  device.numa_node = read(0, "/sys/bus/pci/devices/" + address + "/numa_node");
  parts.pci.push_back(device);
}

void add_rail(Parts& parts, const Machine& machine, int rail, int host) {
  NetInterface interface;
  interface.name = numbered(machine.interface, rail);
  const std::string from = "/sys/class/net/" + interface.name + "/";
  interface.mtu = read(machine.mtu, from + "mtu");
  interface.speed_mbps = read(machine.speed_mbps, from + "speed");
  interface.operational_state = read<std::string>("up", from + "operstate");
  interface.driver = read(machine.driver, from + "device/driver");
  interface.addresses =
      read(std::vector{InterfaceAddress{
               *IpAddress::parse(fmt::format("10.{}.{}.{}", rail, host / 250, host % 250 + 1)), 16}},
           "ip -j address show");
  RdmaPort port;
  port.state = read<std::string>("ACTIVE", "ports/1/state");
  port.link_layer = read<std::string>(machine.infiniband ? "InfiniBand" : "Ethernet", "ports/1/link_layer");
  port.rate = read(BitRate{machine.speed_mbps * 1e6}, "ports/1/rate");
  Gid gid;
  gid.netdev = read(interface.name, "ports/1/gid_attrs/ndevs/0");
  port.gids = read(std::vector{gid}, "ports/1/gids");
  RdmaDevice device;
  device.name = numbered(machine.device, rail);
  device.driver = interface.driver;
  device.firmware = read<std::string>("22.39.1002", "fw_ver");
  device.ports = read(std::vector{port}, "ports");
  if (machine.on_pci) {
    const std::string address = fmt::format("0000:{:02x}:00.0", 0x40 + rail);
    add_pci(parts, address, machine.nic_link);
    interface.pci_address = read(address, from + "device");
    device.pci_address = read(address, "device");
  } else {
    device.parent = read(interface.name, "parent");
  }
  parts.interfaces.push_back(interface);
  parts.rdma.push_back(device);
}

Facts make_facts(const std::string& name, const Machine& machine, int host) {
  Facts facts;
  facts.railbed = "0.1.0";
  facts.collected_at = read<std::string>("2031-05-04T10:00:01Z", "clock");
  facts.system.os.hostname = read(name, "/proc/sys/kernel/hostname");
  facts.system.os.name = read(machine.os, "/etc/os-release");
  facts.system.kernel.release = read(machine.kernel, "/proc/sys/kernel/osrelease");
  facts.system.cpu.model = read(machine.cpu, "/proc/cpuinfo");
  facts.system.cpu.online = read(machine.cpus, "/sys/devices/system/cpu/online");
  facts.system.cpu.governors = read(std::map<std::string, int>{{"performance", machine.cpus}}, "cpufreq");
  facts.system.memory.total = read(ByteCount{machine.gibibytes << 30}, "/proc/meminfo");
  Parts parts;
  for (int i = 0; i < machine.gpus; ++i) {
    Gpu gpu;
    gpu.pci_address = fmt::format("0000:{:02x}:00.0", 0x10 + i);
    gpu.model = read(machine.gpu, "/proc/driver/nvidia/gpus/" + gpu.pci_address + "/information");
    add_pci(parts, gpu.pci_address, machine.gpu_link);
    parts.gpus.push_back(gpu);
  }
  for (int rail = 0; rail < machine.rails; ++rail) add_rail(parts, machine, rail, host);
  facts.pci = read(std::move(parts.pci), "/sys/bus/pci/devices");
  facts.gpus.devices = read(std::move(parts.gpus), "/sys/bus/pci/devices");
  facts.net.interfaces = read(std::move(parts.interfaces), "/sys/class/net");
  facts.rdma.devices = read(std::move(parts.rdma), "/sys/class/infiniband");
  return facts;
}

Report make_report(const std::string& cluster, const std::vector<std::string>& nodes,
                   const Machine& machine) {
  Report report;
  report.cluster.name = cluster;
  report.railbed = "0.1.0";
  report.started_at = "2031-05-04T10:00:00Z";
  report.seconds = 42;
  for (int rail = 0; rail < machine.rails; ++rail) {
    Rail made;
    made.name = fmt::format("rail{}", rail);
    made.fabric = machine.fabric;
    made.topology = machine.topology;
    for (const auto& node : nodes) made.ports.push_back({node, numbered(machine.interface, rail), {}});
    report.cluster.rails.push_back(made);
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    Node node;
    node.name = nodes[i];
    report.cluster.nodes.push_back(node);
    report.facts[nodes[i]] = make_facts(nodes[i], machine, static_cast<int>(i));
  }
  return report;
}

void add_passes(Report& report) {
  for (const char* rule :
       {"net.mtu", "net.speed", "rdma.port-down", "gid.missing", "pcie.width", "limits.memlock"})
    for (const auto& [name, facts] : report.facts) {
      Finding finding;
      finding.rule = rule;
      finding.node = name;
      finding.status = Status::kPass;
      finding.message = "as expected";
      report.verdict.findings.push_back(finding);
    }
}

Finding& add_finding(Report& report, Status status, std::string_view rule, const std::string& node,
                     const std::string& subject, const std::string& message, Things touches) {
  Finding finding;
  finding.status = status;
  finding.rule = rule;
  finding.node = node;
  finding.subject = subject;
  finding.message = message;
  finding.touches = std::move(touches);
  report.verdict.findings.push_back(finding);
  return report.verdict.findings.back();
}

struct Speeds {
  double gigabits = 0;
  double limit = 0;
  double microseconds = 0;
  bool nominal = false;
};

Measurement make_run(Engine engine, Metric metric, const std::string& rail, const std::string& from,
                     const std::string& to) {
  Measurement run;
  run.engine = engine;
  run.metric = metric;
  run.rail = rail;
  run.from.node = from;
  run.to.node = to;
  run.mtu = engine == Engine::kTcp ? 9000 : 4096;
  run.streams = engine == Engine::kTcp ? 4 : 1;
  run.seconds = 2;
  return run;
}

void add_runs(Report& report, Engine engine, const std::string& rail, const std::string& from,
              const std::string& to, const Speeds& speeds) {
  for (const std::uint64_t size : {4096ULL, 65536ULL, 1048576ULL}) {
    const double share = size == 4096 ? 0.42 : size == 65536 ? 0.93 : 1.0;
    Measurement run = make_run(engine, Metric::kBandwidth, rail, from, to);
    run.message_bytes = size;
    const double value = speeds.gigabits * share * 1e9;
    run.summary = {200, value, value * 0.98, value * 1.015, value, value * 0.9, value * 1.03, value * 0.01, 0,
                   0,   0};
    run.ceiling.limits = {{engine == Engine::kTcp ? "wire at MTU 9000" : "wire at MTU 4096",
                           BitRate::gigabits(speeds.limit), "link speed less headers"}};
    run.ceiling.nominal = speeds.nominal;
    if (speeds.nominal) run.ceiling.note = "virtual interface";
    run.checked_bytes = size * 20000;
    run.cpu_seconds_per_gigabyte = engine == Engine::kTcp ? 0.41 : 0.02;
    for (int i = 0; i < 20; ++i) run.intervals.push_back(value * (0.96 + 0.02 * ((i * 7) % 5) / 2));
    report.measurements.push_back(run);
  }
  Measurement latency = make_run(engine, Metric::kLatency, rail, from, to);
  latency.message_bytes = 8;
  latency.streams = 1;
  const double p50 = speeds.microseconds * 1e3;
  latency.summary = {100000,   p50,       p50 * 0.99, p50 * 1.01, p50 * 1.1, p50 * 0.8,
                     p50 * 40, p50 * 0.3, p50 * 1.6,  p50 * 4,    p50 * 9};
  report.measurements.push_back(latency);
}

void measure(Report& report, const std::string& from, const std::string& to, const Speeds& tcp,
             const Speeds& rdma) {
  for (const Rail& rail : report.cluster.rails) {
    add_runs(report, Engine::kTcp, rail.name, from, to, tcp);
    add_runs(report, Engine::kRdma, rail.name, from, to, rdma);
  }
}

Machine virtual_machine() {
  Machine machine;
  machine.cpu = "QEMU Virtual CPU version 2.5+";
  machine.cpus = 1;
  machine.gibibytes = 1;
  machine.interface = "eth%d";
  machine.device = "rxe%d";
  machine.driver = "virtio_net";
  machine.on_pci = false;
  machine.speed_mbps = -1;
  machine.rails = 2;
  return machine;
}

std::vector<std::string> names(const std::string& prefix, int count, int digits) {
  std::vector<std::string> all;
  for (int i = 1; i <= count; ++i) all.push_back(fmt::format("{}{:0{}}", prefix, i, digits));
  return all;
}

void lose(Report& report, const std::string& node, const std::string& why) {
  report.facts.erase(node);
  report.unreachable.push_back({node, {ErrorKind::kUnavailable, why}});
  add_finding(report, Status::kUnknown, "node.unreachable", node, "", "no answer: " + why, {"node:" + node});
}

}  // namespace

Report healthy_pair() {
  Machine machine;
  machine.gpus = 4;
  machine.rails = 2;
  Report report = make_report("lab", {"gpu01", "gpu02"}, machine);
  measure(report, "gpu01", "gpu02", {61.2, 99.1, 18.4}, {96.4, 98.0, 1.74});
  add_passes(report);
  return report;
}

Report emulated_pair() {
  Report report = make_report("emulated", {"vm1", "vm2"}, virtual_machine());
  report.cluster.rails.pop_back();
  measure(report, "vm1", "vm2", {1.31, 10, 212, true}, {0.44, 10, 388, true});
  add_passes(report);
  add_finding(report, Status::kWarn, "cpu.governor", "vm1", "", "the CPU frequency cannot be controlled", {})
      .remedy.text = "Nothing to do on a virtual machine.";
  return report;
}

Report broken_pair() {
  Machine machine;
  machine.gpus = 2;
  machine.rails = 2;
  Report report = make_report("lab", {"gpu01", "gpu02"}, machine);
  Finding& down = add_finding(report, Status::kFail, "net.down", "gpu02", "ens1np0",
                              "ens1np0 is down (administratively)", {"netdev:ens1np0", "rail:rail1"});
  down.expected = "up";
  down.observed = "down";
  down.evidence = "/sys/class/net/ens1np0/flags";
  down.remedy = {"Bring the interface up, and make it come up at boot.", {"ip link set ens1np0 up"}};
  add_finding(report, Status::kFail, "rdma.port-down", "gpu02", "mlx5_1/1", "mlx5_1/1 is DOWN (Disabled)",
              {"rdma:mlx5_1/1"})
      .caused_by = 0;
  add_finding(report, Status::kFail, "gid.missing", "gpu02", "mlx5_1/1", "mlx5_1/1 has no RoCE v2 GID",
              {"rdma:mlx5_1/1"})
      .caused_by = 0;
  add_finding(report, Status::kFail, "measured.failed", "", "rail1", "rail1 could not be measured",
              {"rail:rail1"})
      .caused_by = 0;
  Finding& governor = add_finding(report, Status::kWarn, "cpu.governor", "gpu01", "",
                                  "the CPU governor is powersave on 28 of 28 CPUs", {"cpu"});
  governor.remedy = {"Set it to performance; latency under load roughly halves.",
                     {"cpupower frequency-set -g performance"}};
  governor.expected = "performance";
  governor.observed = "powersave";
  governor.evidence = "/sys/devices/system/cpu/cpufreq/policy0/scaling_governor";
  add_finding(report, Status::kUnknown, "limits.memlock", "gpu01", "slurmd",
              "could not read the memlock limit of slurmd: Permission denied", {})
      .evidence = "/proc/812/limits";
  add_runs(report, Engine::kTcp, "rail0", "gpu01", "gpu02", {61.2, 99.1, 18.4});
  add_runs(report, Engine::kRdma, "rail0", "gpu01", "gpu02", {96.4, 98.0, 1.74});
  for (const Engine engine : {Engine::kTcp, Engine::kRdma}) {
    Measurement failed = make_run(engine, Metric::kBandwidth, "rail1", "gpu01", "gpu02");
    failed.failure =
        Failure{"connect", engine == Engine::kTcp ? "no route to host" : "the port of gpu02 is DOWN",
                "bring ens1np0 of gpu02 up"};
    report.measurements.push_back(failed);
  }
  add_passes(report);
  return report;
}

Report dense_pair() {
  Machine machine;
  machine.gpus = 8;
  machine.gpu = "NVIDIA H100 80GB HBM3";
  machine.gpu_link = {32, 16};
  machine.cpu = "Intel(R) Xeon(R) Platinum 8480C";
  machine.cpus = 224;
  machine.gibibytes = 2048;
  machine.rails = 8;
  machine.nic_link = {32, 16};
  machine.speed_mbps = 400000;
  machine.topology = Topology::kSwitch;
  Report report = make_report("dense", {"dgx01", "dgx02"}, machine);
  measure(report, "dgx01", "dgx02", {180, 396, 14}, {389, 392.1, 1.9});
  add_passes(report);
  return report;
}

Report infiniband_three() {
  Machine machine;
  machine.gpus = 2;
  machine.gpu = "Tesla P40";
  machine.interface = "ib%d";
  machine.infiniband = true;
  machine.fabric = Fabric::kInfiniband;
  machine.topology = Topology::kSwitch;
  machine.mtu = 2044;
  Report report = make_report("r730", {"r730a", "r730b", "r730c"}, machine);
  Finding& mode = add_finding(report, Status::kWarn, "ib.ipoib-mode", "r730b", "ib0",
                              "ib0 runs datagram mode with MTU 2044", {"netdev:ib0", "rail:rail0"});
  mode.remedy = {"Use connected mode where the adapter has it.",
                 {"ip link set ib0 type ipoib mode connected"}};
  measure(report, "r730a", "r730b", {22.8, 96, 24}, {94.9, 97.4, 1.1});
  measure(report, "r730b", "r730c", {23.1, 96, 25}, {95.2, 97.4, 1.1});
  add_passes(report);
  return report;
}

Report switched_eight() {
  Machine machine;
  machine.gpus = 4;
  machine.gpu = "NVIDIA A100-SXM4-40GB";
  machine.rails = 2;
  machine.topology = Topology::kSwitch;
  Report report = make_report("octet", names("node", 8, 1), machine);
  lose(report, "node6", "ssh: connect to host node6 port 22: No route to host");
  add_finding(report, Status::kFail, "net.speed", "node3", "ens1np0", "ens1np0 runs at 10 Gb/s, not 100",
              {"netdev:ens1np0", "rail:rail1"});
  for (int i = 1; i < 8; i += 2)
    measure(report, fmt::format("node{}", i), fmt::format("node{}", i + 1), {58.0 + i, 99.1, 18},
            {95.0 + 0.2 * i, 98, 1.8});
  add_passes(report);
  return report;
}

Report fleet(int nodes) {
  Machine machine;
  machine.gpus = 8;
  machine.gpu = "NVIDIA H100 80GB HBM3";
  machine.rails = 4;
  machine.speed_mbps = 400000;
  machine.topology = Topology::kSwitch;
  const auto all = names("gpu", nodes, 4);
  Report report = make_report("pod", all, machine);
  for (int i = 5; i <= nodes; i += 29)
    lose(report, all[static_cast<std::size_t>(i) - 1], "ssh: connection timed out");
  for (int i = 9; i <= nodes; i += 13)
    add_finding(report, Status::kFail, "net.speed", all[static_cast<std::size_t>(i) - 1], "ens2np0",
                "ens2np0 runs at 200 Gb/s, not 400", {"netdev:ens2np0", "rail:rail2"});
  for (int i = 3; i <= nodes; i += 17)
    add_finding(report, Status::kWarn, "cpu.governor", all[static_cast<std::size_t>(i) - 1], "",
                "the CPU governor is powersave", {});
  for (int i = 1; i < nodes; i += 2)
    measure(report, all[static_cast<std::size_t>(i) - 1], all[static_cast<std::size_t>(i)],
            {150.0 + i % 7, 396, 15}, {380.0 + i % 11, 392.1, 2});
  add_passes(report);
  return report;
}

namespace {

BmcFacts bmc_of(const std::string& node, const std::string& address) {
  BmcFacts bmc{.node = node, .address = address};
  bmc.power = read(PowerState::kOn, "Get Chassis Status");
  bmc.sensors = read(std::vector{BmcSensor{.name = "CPU1 Temp", .severity = BmcSeverity::kNominal},
                                 BmcSensor{.name = "FAN1", .severity = BmcSeverity::kNominal}},
                     "ipmi-sensors");
  return bmc;
}

BmcFacts silent_bmc(const std::string& node, const std::string& address) {
  BmcFacts bmc{.node = node, .error = "no answer within 3 s", .address = address};
  bmc.power = {Miss{Missing::kTimeout, "no answer within 3 s"}, "ipmipower at " + address};
  return bmc;
}

void add_management_interface(Facts& facts, const std::string& address) {
  NetInterface interface;
  interface.name = "eno1";
  interface.addresses =
      read(std::vector{InterfaceAddress{*IpAddress::parse(address), 22}}, "ip -j address show");
  auto interfaces = facts.net.interfaces.value_or({});
  interfaces.push_back(interface);
  facts.net.interfaces = read(std::move(interfaces), "/sys/class/net");
  facts.net.default_routes = read(std::vector<std::string>{"eno1"}, "ip -j route show default");
}

}  // namespace

Report managed(int nodes) {
  Report report = nodes == 2 ? healthy_pair() : fleet(nodes);
  int number = 0;
  for (Node& node : report.cluster.nodes) {
    const std::string place = fmt::format("{}.{}", number / 250, number % 250 + 1);
    node.bmc = "10.3." + place;
    if (const auto facts = report.facts.find(node.name); facts != report.facts.end())
      add_management_interface(facts->second, "10.2." + place);
    report.bmcs[node.name] =
        number % 16 == 1 ? silent_bmc(node.name, *node.bmc) : bmc_of(node.name, *node.bmc);
    ++number;
  }
  BmcFacts& hot = report.bmcs.at(report.cluster.nodes.front().name);
  hot.sensors = read(std::vector{BmcSensor{.name = "CPU1 Temp",
                                           .severity = BmcSeverity::kCritical,
                                           .reading = 97.0,
                                           .units = "C",
                                           .state = "At or above (>=) upper critical"}},
                     "ipmi-sensors");
  add_finding(report, Status::kFail, "bmc.sensors", hot.node, "sensors",
              "sensors of " + hot.node + " are out of range: CPU1 Temp 97 C", {"bmc"});
  return report;
}

Report hostile() {
  // A finding only points to its rule's id: these stay.
  static const std::string attack =
      "\"'><script>document.title='owned'</script><img src=x "
      "onerror=alert(1)>&amp;\x01\xff\033[31m</style></svg>-->";
  static const std::string wide =
      "WWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWW漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字\xE2\x80\xAE";
  Machine machine;
  machine.os = attack;
  machine.kernel = wide;
  machine.cpu = attack + wide;
  machine.gpus = 2;
  machine.gpu = wide + attack;
  machine.interface = attack + "%d";
  machine.device = wide + "%d";
  machine.driver = attack;
  Report report = make_report(attack, {"a" + attack, wide}, machine);
  report.cluster.rails.front().name = attack;
  report.started_at = attack;
  report.railbed = attack;
  Finding& finding =
      add_finding(report, Status::kFail, attack, "a" + attack, attack, attack, {"netdev:" + attack + "0"});
  finding.expected = finding.observed = finding.evidence = finding.remedy.text = attack + wide;
  finding.remedy.commands = {command("echo {}", attack), command("echo {}", wide)};
  add_finding(report, Status::kWarn, wide, wide, wide, wide, {}).caused_by = 0;
  measure(report, "a" + attack, wide, {10, 0.0 / 1.0, 5}, {1e300, 1, -4});
  report.measurements.front().ceiling.limits.front().name = attack;
  report.measurements.front().counter_deltas[attack] = -5;
  report.measurements.back().failure = Failure{attack, attack + wide, attack};
  report.unreachable.push_back({attack, {ErrorKind::kUnavailable, attack}});
  report.runs = hostile_runs(attack);
  for (Node& node : report.cluster.nodes) {
    node.ssh = attack;
    node.bmc = attack;
    BmcFacts& bmc = report.bmcs[node.name] = bmc_of(attack, attack);
    bmc.sensors = read(
        std::vector{BmcSensor{.name = attack, .severity = BmcSeverity::kCritical, .state = wide + attack}},
        attack);
  }
  report.bmcs.begin()->second.error = attack;
  add_passes(report);
  return report;
}

const std::vector<Sample>& all_samples() {
  static const std::vector<Sample> kSamples{{"healthy-pair", healthy_pair()},
                                            {"emulated-pair", emulated_pair()},
                                            {"broken-pair", broken_pair()},
                                            {"dense-pair", dense_pair()},
                                            {"infiniband-three", infiniband_three()},
                                            {"switched-eight", switched_eight()},
                                            {"fleet-32", fleet(32)},
                                            {"fleet-1000", fleet(1000)},
                                            {"managed-pair", managed(2)},
                                            {"managed-12", managed(12)},
                                            {"managed-64", managed(64)},
                                            {"measured-pair", measured_pair()},
                                            {"runs-only", runs_only()},
                                            {"hostile", hostile()}};
  return kSamples;
}

namespace {

// Writes the pages that the browser test opens; RAILBED_SAMPLES names the folder.
TEST(Samples, AreWrittenForTheBrowser) {
  const char* wanted = std::getenv("RAILBED_SAMPLES");
  const std::filesystem::path folder = wanted != nullptr ? wanted : testing::TempDir();
  for (const auto& [name, report] : all_samples()) {
    const std::string page = render_html(report);
    std::ofstream file(folder / (name + ".html"), std::ios::binary);
    file << page;
    file.close();
    EXPECT_TRUE(file) << folder;
    EXPECT_GT(page.size(), 5000U) << name;
  }
}

}  // namespace
}  // namespace railbed
