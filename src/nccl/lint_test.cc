#include "nccl/lint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "nccl/choice.h"
#include "nccl/settings.h"

namespace railbed::nccl {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

template <class T>
Reading<T> have(T value) {
  return {std::move(value), "test"};
}

Gid gid(int index, std::string_view address, std::string type) {
  return {index, have(*IpAddress::parse(address)), have(std::move(type)), have(std::string("ens1"))};
}

RdmaDevice roce(std::string name, std::string pci, std::string state = "ACTIVE") {
  RdmaPort port;
  port.state = have(std::move(state));
  port.link_layer = have(std::string("Ethernet"));
  port.rate = have(BitRate::gigabits(200));
  port.gids = have(std::vector<Gid>{gid(0, "fe80::1", "IB/RoCE v1"), gid(1, "fe80::1", "RoCE v2"),
                                    gid(2, "10.2.0.1", "IB/RoCE v1"), gid(3, "10.2.0.1", "RoCE v2")});
  RdmaDevice device;
  device.name = std::move(name);
  device.pci_address = have(std::move(pci));
  device.ports = have(std::vector<RdmaPort>{port});
  return device;
}

NetInterface interface(std::string name, std::string_view address) {
  NetInterface interface;
  interface.name = std::move(name);
  interface.operational_state = have(std::string("up"));
  interface.carrier = have(true);
  interface.addresses = have(std::vector<InterfaceAddress>{{*IpAddress::parse(address), 24}});
  return interface;
}

// A node with two RoCE ports of one card, another card whose name has mlx5_1 as a prefix, and two interfaces.
Facts node(const std::vector<NcclVariable>& variables) {
  Facts facts;
  facts.rdma.devices =
      have(std::vector<RdmaDevice>{roce("mlx5_0", "0000:17:00.0"), roce("mlx5_1", "0000:17:00.1"),
                                   roce("mlx5_10", "0000:65:00.0", "DOWN")});
  facts.net.interfaces =
      have(std::vector<NetInterface>{interface("lo", "127.0.0.1"), interface("ens1", "10.1.0.1"),
                                     interface("ens10", "10.3.0.1"), interface("docker0", "172.17.0.1")});
  facts.nccl.system_file = have(variables);
  return facts;
}

std::vector<std::string> ids(const std::vector<Complaint>& complaints) {
  std::vector<std::string> found;
  for (const Complaint& complaint : complaints) found.push_back(complaint.id);
  return found;
}

Expectation at(int major, int minor, int patch) {
  Expectation expected;
  expected.version = Version{major, minor, patch};
  return expected;
}

std::vector<std::string> lint_of(std::string name, std::string value, Expectation expected = {}) {
  return ids(lint(node({{std::move(name), std::move(value), "/etc/nccl.conf:1"}}), expected));
}

TEST(Lint, HealthyNodeHasNothing) {
  EXPECT_THAT(ids(lint(node({}), {})), IsEmpty());
  EXPECT_THAT(ids(lint(node({{"NCCL_IB_HCA", "=mlx5_0,mlx5_1", "/etc/nccl.conf:1"},
                             {"NCCL_SOCKET_IFNAME", "=ens1", "/etc/nccl.conf:2"},
                             {"NCCL_IB_TC", "104", "/etc/nccl.conf:3"},
                             {"NCCL_NET_GDR_LEVEL", "PXB", "/etc/nccl.conf:4"},
                             {"NCCL_IB_TIMEOUT", "22", "/etc/nccl.conf:5"},
                             {"NCCL_DEBUG", "warn", "/etc/nccl.conf:6"}}),
                       {.version = Version{2, 28, 9}, .traffic_class = 106, .separate_rails = true})),
              IsEmpty());
}

struct Row {
  const char* name;
  const char* value;
  const char* id;
};

class EachLint : public testing::TestWithParam<Row> {};

TEST_P(EachLint, IsSaid) {
  EXPECT_THAT(lint_of(GetParam().name, GetParam().value), ElementsAre(GetParam().id));
}

constexpr Row kRows[] = {
    {"NCCL_SOCKET_INAME", "ens1", "unknown"},
    {"NCCL_BLOCKING_WAIT", "1", "not-nccl"},
    {"NCCL_LL_THRESHOLD", "0", "removed"},
    {"NCCL_MAX_NCHANNELS", "8", "deprecated"},
    {"NCCL_IB_MERGE_NICS", "true", "not-a-number"},
    {"NCCL_IB_RETRY_CNT", "8", "out-of-range"},
    {"NCCL_IB_QPS_PER_CONNECTION", "500", "out-of-range"},
    {"NCCL_SOCKET_FAMILY", "AF_INTE6", "unknown-word"},
    {"NCCL_NET_GDR_LEVEL", "3", "level-integer"},
    {"NCCL_NET_GDR_LEVEL", "pix", "unknown-word"},
    {"NCCL_ALGO", "Rings", "unknown-word"},
    {"NCCL_PROTO", "^LL128", "forced-choice"},
    {"NCCL_IB_SL", "\"1\"", "quoted"},
    {"NCCL_IB_HCA", "=mlx5_7", "no-such-device"},
    {"NCCL_IB_HCA", "=mlx5_0:2", "no-such-device"},
    {"NCCL_IB_HCA", "=mlx5_0,mlx5_10", "port-down"},
    {"NCCL_IB_HCA", "^mlx5", "nothing-left"},
    {"NCCL_SOCKET_IFNAME", "ens1", "prefix"},
    {"NCCL_SOCKET_IFNAME", "ib0", "no-interface"},
    {"NCCL_SOCKET_IFNAME", "=ens1,ens7", "no-such-interface"},
    {"NCCL_SOCKET_IFNAME", "=lo", "loopback"},
    {"NCCL_SOCKET_IFNAME", "docker", "local-interface"},
    {"NCCL_IB_GID_INDEX", "3", "gid-pinned"},
    {"NCCL_IB_ADDR_RANGE", "10.2.0.0", "bad-range"},
    {"NCCL_IB_ADDR_RANGE", "fd00::/64", "bad-range"},
    {"NCCL_CONF_FILE", "/etc/other.conf", "conf-in-conf"},
    {"NCCL_IB_DISABLE", "1", "rdma-off"},
    {"NCCL_NET", "Socket", "rdma-off"},
    {"NCCL_DEBUG", "INFO", "debug-on"},
    {"NCCL_P2P_DISABLE", "1", "path-off"},
    {"NCCL_IB_TC", "107", "ecn-bits"},
    {"NCCL_IB_TIMEOUT", "5", "timeout"},
};

INSTANTIATE_TEST_SUITE_P(Rows, EachLint, testing::ValuesIn(kRows));

TEST(Lint, GidPinnedToLinkLocalEmptyOrV1) {
  // Only an empty entry fails for certain: the others reach peers of their kind on one Ethernet segment.
  for (const auto& [index, severity] : {std::pair{"0", Severity::kWarning},
                                        {"1", Severity::kWarning},
                                        {"2", Severity::kWarning},
                                        {"7", Severity::kError}}) {
    const auto complaints = lint(node({{"NCCL_IB_GID_INDEX", index, "/etc/nccl.conf:1"}}), {});
    EXPECT_THAT(ids(complaints), ElementsAre("gid-wrong", "gid-wrong")) << index;
    EXPECT_EQ(complaints[0].severity, severity) << index;
    EXPECT_THAT(complaints[0].message, testing::HasSubstr("is entry 3 now")) << index;
    EXPECT_THAT(complaints[0].remedy, testing::HasSubstr("NCCL_IB_ADDR_RANGE")) << index;
  }
  // Before 2.21 NCCL has no other way to choose.
  const auto old = lint(node({{"NCCL_IB_GID_INDEX", "0", "/etc/nccl.conf:1"}}), at(2, 20, 5));
  EXPECT_THAT(old.front().remedy, testing::StartsWith("Write 3"));
}

TEST(Lint, AnyNumberButZeroDisables) {
  for (const char* value : {"1", "2", "-1", "0x1"})
    EXPECT_THAT(lint_of("NCCL_IB_DISABLE", value), testing::Contains("rdma-off")) << value;
  EXPECT_THAT(lint_of("NCCL_IB_DISABLE", "0"), IsEmpty());
  EXPECT_THAT(lint_of("NCCL_IB_DISABLE", "true"), ElementsAre("not-a-number"));  // strtoll: 0
}

TEST(Lint, NamesInNcclsOwnFilesAreTakenToTheLetter) {
  EXPECT_THAT(lint_of("export NCCL_IB_SL", "1"), ElementsAre("not-a-shell"));
  EXPECT_THAT(lint_of("NCCL_IB_SL ", " 1"), ElementsAre("not-a-shell"));
}

TEST(Lint, ServicesAndLoginsDisagree) {
  Facts facts = node({{"NCCL_IB_SL", "1", "/etc/nccl.conf:1"}});
  NcclService slurmd{"slurmd", have(std::vector<NcclVariable>{{"NCCL_IB_SL", "2", "slurmd.service"},
                                                              {"NCCL_IB_SL", "1", "/etc/default/slurmd:1"}})};
  facts.nccl.services = {slurmd};
  EXPECT_THAT(ids(lint(facts, {})), IsEmpty()) << "the file comes after the unit's own lines";
  facts.nccl.services[0].variables = have(std::vector<NcclVariable>{{"NCCL_IB_SL", "2", "slurmd.service"}});
  EXPECT_THAT(ids(lint(facts, {})), ElementsAre("contexts-differ"));
  facts.nccl.services[0].variables = have(std::vector<NcclVariable>{{"NCCL_IB_SSL", "2", "slurmd.service"}});
  EXPECT_THAT(ids(lint(facts, {})), ElementsAre("unknown"));
}

TEST(Lint, TakesTheInstalledVersionUnlessOneIsExpected) {
  Facts facts = node({{"NCCL_IB_ADDR_FAMILY", "AF_INET", "/etc/nccl.conf:1"}});
  facts.nccl.library = have(NcclFile{"/usr/lib64/libnccl.so.2.20.5", "2.20.5"});
  EXPECT_THAT(ids(lint(facts, {})), ElementsAre("too-new"));
  EXPECT_THAT(ids(lint(facts, at(2, 28, 9))), IsEmpty());
  EXPECT_EQ(predict(facts, {}).ports[0].gid_index, 0);
}

TEST(Lint, EveryIdIsListed) {
  for (const Row& row : kRows)
    EXPECT_NE(std::ranges::find(complaint_ids(), row.id), complaint_ids().end()) << row.id;
}

TEST(Lint, GidRangeWithoutAnAddress) {
  EXPECT_THAT(lint_of("NCCL_IB_ADDR_RANGE", "10.9.0.0/16"), ElementsAre("no-gid-in-range"));
  EXPECT_THAT(lint_of("NCCL_IB_ADDR_RANGE", "10.2.0.0/16"), IsEmpty());
}

TEST(Lint, GidRangeIsForThePortsThatNcclTakes) {
  Facts facts = node({{"NCCL_IB_ADDR_RANGE", "10.2.0.0/16", "/etc/nccl.conf:1"}});
  RdmaDevice storage = roce("mlx5_8", "0000:81:00.0");
  RdmaPort port = storage.ports->front();
  port.gids = have(std::vector<Gid>{gid(0, "172.20.0.1", "RoCE v2")});
  storage.ports = have(std::vector<RdmaPort>{port});
  facts.rdma.devices = have(std::vector<RdmaDevice>{roce("mlx5_0", "0000:17:00.0"), storage});
  EXPECT_THAT(ids(lint(facts, {})), ElementsAre("no-gid-in-range"));
  facts.nccl.system_file =
      have(std::vector<NcclVariable>{{"NCCL_IB_ADDR_RANGE", "10.2.0.0/16", "/etc/nccl.conf:1"},
                                     {"NCCL_IB_HCA", "=mlx5_0", "/etc/nccl.conf:2"}});
  EXPECT_THAT(ids(lint(facts, {})), IsEmpty());
}

TEST(Lint, PrefixOfHca) {
  const auto complaints = lint(node({{"NCCL_IB_HCA", "mlx5_0,mlx5_1", "/etc/nccl.conf:1"}}), {});
  ASSERT_FALSE(complaints.empty());
  EXPECT_EQ(complaints[0].id, "prefix");
  EXPECT_THAT(complaints[0].message, HasSubstr("mlx5_1 matches mlx5_1, mlx5_10"));
  EXPECT_THAT(complaints[0].remedy, HasSubstr("=mlx5_0,mlx5_1"));
}

TEST(Lint, Versions) {
  EXPECT_THAT(lint_of("NCCL_IB_ADDR_FAMILY", "AF_INET", at(2, 20, 5)), ElementsAre("too-new"));
  EXPECT_THAT(lint_of("NCCL_IB_ADDR_FAMILY", "AF_INET", at(2, 21, 5)), IsEmpty());
  EXPECT_THAT(lint_of("NCCL_WORK_FIFO_DEPTH", "1024", at(2, 21, 5)), IsEmpty());
  EXPECT_THAT(lint_of("NCCL_WORK_FIFO_DEPTH", "1024", at(2, 22, 3)), ElementsAre("removed"));
  EXPECT_THAT(lint_of("NCCL_IB_GID_INDEX", "3", at(2, 20, 5)), IsEmpty());
}

TEST(Lint, TrafficClassAndRails) {
  EXPECT_THAT(ids(lint(node({}), {.version = {}, .traffic_class = 104, .separate_rails = false})),
              ElementsAre("traffic-class"));
  EXPECT_THAT(lint_of("NCCL_IB_TC", "96", {.version = {}, .traffic_class = 104, .separate_rails = false}),
              ElementsAre("traffic-class"));
  EXPECT_THAT(lint_of("NCCL_CROSS_NIC", "1", {.version = {}, .traffic_class = {}, .separate_rails = true}),
              ElementsAre("crosses-rails"));
  EXPECT_THAT(lint_of("NCCL_CROSS_NIC", "1"), IsEmpty());
}

TEST(Lint, SetTwice) {
  Facts facts = node({{"NCCL_IB_SL", "1", "/etc/nccl.conf:1"}});
  facts.nccl.environment = have(std::vector<NcclVariable>{{"NCCL_IB_SL", "2", "environment"}});
  const auto complaints = lint(facts, {});
  ASSERT_THAT(ids(complaints), ElementsAre("set-twice"));
  EXPECT_EQ(complaints[0].value, "2");
  EXPECT_THAT(complaints[0].message, HasSubstr("/etc/nccl.conf:1"));
}

TEST(Lint, ForcedRdmaWithoutAPort) {
  Facts facts = node({{"NCCL_NET", "IB", "/etc/nccl.conf:1"}});
  facts.rdma.devices = have(std::vector<RdmaDevice>{});
  EXPECT_THAT(ids(lint(facts, {})), ElementsAre("no-rdma"));
}

TEST(Settings, FilesLetTheFirstWinShellsTheLast) {
  Nccl nccl;
  nccl.system_file =
      have(std::vector<NcclVariable>{{"A", "1", "/etc/nccl.conf:1"}, {"A", "2", "/etc/nccl.conf:2"}});
  EXPECT_EQ(Settings(nccl).value("A"), "1");
  nccl.profile = have(
      std::vector<NcclVariable>{{"A", "3", "/etc/profile.d/a.sh:1"}, {"A", "4", "/etc/profile.d/a.sh:2"}});
  EXPECT_EQ(Settings(nccl).value("A"), "4");
}

TEST(Choice, PortsGidsAndFusing) {
  const Choices choices = predict(node({}), Version{2, 28, 9});
  EXPECT_EQ(choices.network, "IB");
  ASSERT_EQ(choices.ports.size(), 3u);
  EXPECT_EQ(choices.ports[0].device, "mlx5_0");
  EXPECT_EQ(choices.ports[0].gid_index, 3);
  EXPECT_EQ(choices.ports[0].gid, "10.2.0.1");
  EXPECT_FALSE(choices.ports[2].used);
  ASSERT_EQ(choices.nics.size(), 1u);
  EXPECT_EQ(choices.nics[0].name, "mlx5_0+mlx5_1");
  EXPECT_EQ(choices.nics[0].rate, BitRate::gigabits(400));
  EXPECT_THAT(choices.interfaces, ElementsAre("ens1", "ens10"));
}

TEST(Choice, OlderVersions) {
  const Choices choices = predict(node({}), Version{2, 19, 3});
  EXPECT_EQ(choices.ports[0].gid_index, 0);
  EXPECT_EQ(choices.nics.size(), 2u);
}

TEST(Choice, Sockets) {
  const Choices off = predict(node({{"NCCL_IB_DISABLE", "1", "environment"}}), {});
  EXPECT_EQ(off.network, "Socket");
  EXPECT_THAT(off.network_why, HasSubstr("NCCL_IB_DISABLE"));
  const Choices none = predict(node({{"NCCL_SOCKET_IFNAME", "ib0", "environment"}}), {});
  EXPECT_THAT(none.interfaces, IsEmpty());
}

TEST(Choice, NoRdmaWithoutLibibverbs) {
  Facts facts = node({});
  facts.rdma.verbs_library = have(std::string());
  EXPECT_EQ(predict(facts, {}).network, "Socket");
  EXPECT_THAT(predict(facts, {}).network_why, HasSubstr("libibverbs"));
}

TEST(Choice, GpuDirectByDistance) {
  Facts facts = node({});
  const auto pci = [](std::string address, std::string parent) {
    PciDevice device;
    device.address = std::move(address);
    if (!parent.empty()) device.parent = have(parent);
    device.numa_node = have(0);
    return device;
  };
  facts.pci = have(std::vector<PciDevice>{
      pci("0000:00:01.0", ""), pci("0000:15:00.0", "0000:00:01.0"), pci("0000:16:00.0", "0000:15:00.0"),
      pci("0000:16:01.0", "0000:15:00.0"), pci("0000:17:00.0", "0000:16:00.0"),
      pci("0000:18:00.0", "0000:16:01.0"), pci("0000:00:02.0", ""), pci("0000:40:00.0", "0000:00:02.0")});
  Gpu near, far;
  near.pci_address = "0000:18:00.0";
  far.pci_address = "0000:40:00.0";
  facts.gpus.devices = have(std::vector<Gpu>{near, far});
  EXPECT_FALSE(predict(facts, {}).pairs.at(0).gpudirect);  // no route
  facts.gpus.peer_memory = have(std::string("1.0"));
  Choices choices = predict(facts, {});
  ASSERT_EQ(choices.pairs.size(), 2u);
  EXPECT_EQ(choices.pairs[0].path, "PIX");
  EXPECT_TRUE(choices.pairs[0].gpudirect);
  EXPECT_EQ(choices.pairs[1].path, "PHB");
  EXPECT_FALSE(choices.pairs[1].gpudirect);
  EXPECT_THAT(choices.pairs[1].why, HasSubstr("NCCL_NET_GDR_LEVEL=PHB would go direct by peermem"));
  facts.nccl.environment = have(std::vector<NcclVariable>{{"NCCL_NET_GDR_LEVEL", "PHB", "environment"}});
  EXPECT_TRUE(predict(facts, {}).pairs[1].gpudirect);
  EXPECT_EQ(predict(facts, {}).pairs[0].blocked_by, "");
  facts.nccl.environment = have(std::vector<NcclVariable>{{"NCCL_NET_GDR_LEVEL", "LOC", "environment"}});
  EXPECT_EQ(predict(facts, {}).pairs[0].blocked_by, "NCCL_NET_GDR_LEVEL");
  EXPECT_EQ(predict(facts, {}).pairs[1].blocked_by, "") << "too far in any case";
  // On NVLink-C2C the path through the processor is P2C, the default limit since 2.27.3.
  far.model = have(std::string("NVIDIA GH200 480GB"));
  facts.gpus.devices = have(std::vector<Gpu>{near, far});
  facts.nccl.environment = have(std::vector<NcclVariable>{});
  EXPECT_TRUE(predict(facts, Version{2, 28, 9}).pairs[1].gpudirect);
  EXPECT_FALSE(predict(facts, Version{2, 26, 2}).pairs[1].gpudirect);
  facts.nccl.environment = have(std::vector<NcclVariable>{{"NCCL_NET_GDR_LEVEL", "PXB", "environment"}});
  EXPECT_EQ(predict(facts, Version{2, 28, 9}).pairs[1].blocked_by, "NCCL_NET_GDR_LEVEL");
  facts.nccl.environment = have(std::vector<NcclVariable>{{"NCCL_NET_GDR_C2C", "0", "environment"}});
  EXPECT_FALSE(predict(facts, Version{2, 28, 9}).pairs[1].gpudirect);
}

TEST(Choice, BeforeAmpereNcclSendsFromHostMemory) {
  Facts facts = node({});
  PciDevice gpu_pci;
  gpu_pci.address = (*facts.rdma.devices)[0].pci_address.value_or("");
  facts.pci = have(std::vector<PciDevice>{gpu_pci});
  facts.gpus.peer_memory = have(std::string("1.0"));
  Gpu gpu;
  gpu.pci_address = gpu_pci.address;
  gpu.model = have(std::string("Tesla V100-PCIE-16GB"));
  facts.gpus.devices = have(std::vector<Gpu>{gpu, gpu});
  EXPECT_THAT(predict(facts, {}).pairs.at(0).why, HasSubstr("for receiving only"));
  facts.gpus.devices = have(std::vector<Gpu>{gpu});
  EXPECT_EQ(predict(facts, {}).pairs.at(0).why, "within PXB (NCCL's default)") << "a single GPU goes direct";
}

// The remedy must not be "Write SYS" on GB10, which does not support GPUDirect RDMA.
TEST(Lint, NoLevelIsRightWhereGpuDirectCannotBe) {
  Facts facts = node({{"NCCL_NET_GDR_LEVEL", "5", "/etc/nccl.conf:1"}});
  EXPECT_EQ(lint(facts, {}).at(0).better, "SYS");
  Gpu gpu;
  gpu.model = have(std::string("NVIDIA GB10"));
  facts.gpus.devices = have(std::vector<Gpu>{gpu});
  EXPECT_EQ(lint(facts, {}).at(0).better, "") << "the line goes";
}

TEST(Lint, SaysWhichPluginIsNotThere) {
  Facts facts = node({{"NCCL_NET_PLUGIN", "ofi,libnccl-net-x.so,/opt/y.so,z,none", "/etc/nccl.conf:1"}});
  const Miss absent{Missing::kAbsent, "not in the loader's cache"};
  const Miss not_asked{Missing::kUnsupported, "ldconfig is not installed"};
  facts.nccl.net_plugins = {{"ofi", {absent, "ldconfig -p"}},
                            {"libnccl-net-x.so", have(std::string("/usr/lib/libnccl-net-x.so"))},
                            {"/opt/y.so", {absent, "/opt/y.so"}},
                            {"z", {not_asked, "ldconfig -p"}}};
  std::vector<std::string> messages;
  for (const Complaint& complaint : lint(facts, {}))
    if (complaint.id == "no-plugin") messages.push_back(complaint.message);
  EXPECT_THAT(messages,
              ElementsAre(HasSubstr("libnccl-net-ofi.so"), HasSubstr("/opt/y.so, which is not there")));
}

}  // namespace
}  // namespace railbed::nccl
