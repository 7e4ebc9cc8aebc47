#include <gmock/gmock.h>

#include "model/storage_export.h"
#include "settings/step.h"
#include "settings/testing/sample.h"

namespace railbed {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kStored = R"(railbed: 1
cluster: c
expect: {os: debian 12}
nodes: [store1, gpu1, gpu2]
rails:
  - {name: rail0, interface: ens1, subnet: 10.0.0.0/24, first_address: 10.0.0.1}
  - {name: rail1, interface: ens2, subnet: 10.1.0.0/24, first_address: 10.1.0.1}
storage:
  - {name: scratch, server: store1, device: /dev/vdb, protocol: nvme-rdma, rail: rail0, clients: gpu1}
  - {name: ckpt, server: store1, device: /dev/disk/by-id/nvme-eui.1, protocol: nvme-tcp, rail: rail1, clients: "gpu[1-2]", shared: true}
  - {name: more, server: store1, device: /dev/vdc, protocol: nvme-tcp, rail: rail1, clients: gpu2}
)";

// A server that was looked at, with every device free and nothing served.
Facts server() {
  Facts facts;
  facts.railbed = "1";
  facts.system.storage.nvme_targets = {Miss{Missing::kAbsent, "no such folder"}, "test"};
  facts.system.own_units_at_boot = {std::vector<std::string>(), "test"};
  const std::pair<const char*, const char*> devices[] = {
      {"/dev/vdb", "vdb"}, {"/dev/disk/by-id/nvme-eui.1", "nvme0n1"}, {"/dev/vdc", "vdc"}};
  for (const auto& [path, name] : devices)
    facts.system.storage.export_devices.push_back(
        {path, {name, "test"}, {Miss{Missing::kAbsent, "nothing uses it"}, "test"}});
  return facts;
}

Facts client() {
  Facts facts;
  facts.railbed = "1";
  facts.system.storage.nvme = {std::vector<NvmeController>(), "test"};
  facts.system.own_units_at_boot = {std::vector<std::string>(), "test"};
  return facts;
}

TEST(Storage, ServesWhatIsDescribedToTheClientsAlone) {
  const auto cluster = sample(kStored, {{"store1", server()}});
  const auto settings = cluster.render("store1", Section::kStorage);
  ASSERT_EQ(settings.size(), 1u);
  const Setting& serve = settings[0];
  EXPECT_EQ(serve.name, "storage/serve");
  EXPECT_EQ(serve.refused, "");
  ASSERT_EQ(serve.needs.size(), 3u);
  EXPECT_EQ(serve.needs[0].now, false);
  EXPECT_EQ(serve.needs[0].found, "it is not served");
  EXPECT_EQ(serve.needs[0].at_boot, false);
  const std::string& script = serve.files[0].content;
  const Cluster& described = cluster.evidence->cluster;
  const std::string gpu1 = host_nqn(described, "gpu1");
  const std::string gpu2 = host_nqn(described, "gpu2");
  EXPECT_THAT(script, HasSubstr("  serve nqn.2024-07.internal.railbed:store1:scratch railbed"));
  EXPECT_THAT(script, HasSubstr(namespace_uuid(described.storage[0]) + " /dev/vdb \\\n    " + gpu1 + "\n"));
  EXPECT_THAT(script, HasSubstr(" /dev/disk/by-id/nvme-eui.1 \\\n    " + gpu1 + " \\\n    " + gpu2 + "\n"));
  EXPECT_THAT(script,
              HasSubstr("  listen 44200 rdma ipv4 10.0.0.1 nqn.2024-07.internal.railbed:store1:scratch\n"));
  EXPECT_THAT(script, HasSubstr("  listen 44201 tcp ipv4 10.1.0.1 nqn.2024-07.internal.railbed:store1:ckpt "
                                "nqn.2024-07.internal.railbed:store1:more\n"));
  EXPECT_THAT(serve.files[1].content, HasSubstr("ExecStartPre=modprobe -a nvmet nvmet-tcp nvmet-rdma\n"));
  EXPECT_THAT(serve.files[1].content, HasSubstr("Restart=on-failure\n"));
  for (const NodeStep& step : serve.steps) EXPECT_TRUE(check_step(step));
}

TEST(Storage, ConnectsClientsAtTheServersAddressOnTheRail) {
  const auto cluster = sample(kStored, {{"gpu2", client()}});
  const auto settings = cluster.render("gpu2", Section::kStorage);
  ASSERT_EQ(settings.size(), 2u);
  const Setting& ckpt = settings[0];
  EXPECT_EQ(ckpt.name, "storage/connect");
  EXPECT_EQ(ckpt.subjects, std::vector<std::string>{"ckpt"});
  EXPECT_EQ(ckpt.needs[0].now, false);
  EXPECT_EQ(ckpt.files[1].path, "/etc/systemd/system/railbed-connect-ckpt.service");
  EXPECT_THAT(ckpt.files[1].content,
              HasSubstr("connect nqn.2024-07.internal.railbed:store1:ckpt tcp 10.1.0.1 10.1.0.3 " +
                        host_uuid(cluster.evidence->cluster, "gpu2") + "\n"));
  EXPECT_EQ(settings[1].subjects, std::vector<std::string>{"more"});
  for (const Setting& setting : settings)
    for (const NodeStep& step : setting.steps) EXPECT_TRUE(check_step(step));
}

TEST(Storage, IsMetByWhatTheKernelsShow) {
  const auto described = parse_cluster(kStored, "cluster.yaml");
  ASSERT_TRUE(described);
  Facts facts = server();
  std::vector<NvmeTarget> targets;
  for (const StorageExport& one : described->storage) {
    NvmeTarget target{.nqn = one.nqn};
    for (const std::string& node : one.clients) target.hosts.push_back(host_nqn(*described, node));
    target.namespaces = {{1, one.device, true}};
    target.listeners = {{std::string(transport_of(one)), one.address->to_text(), "4420"}};
    targets.push_back(target);
  }
  const auto first_need = [&](const std::vector<NvmeTarget>& seen) {
    facts.system.storage.nvme_targets = {seen, "test"};
    facts.system.own_units_at_boot = {std::vector<std::string>{"railbed-nvmet.service"}, "test"};
    const Need need = sample(kStored, {{"store1", facts}}).render("store1", Section::kStorage)[0].needs[0];
    EXPECT_EQ(need.at_boot, true);
    EXPECT_EQ(need.now, need.found.empty());
    return need.found;
  };
  EXPECT_EQ(first_need(targets), "");
  const auto with = [&](auto change) {
    auto changed = targets;
    change(changed[0]);
    return first_need(changed);
  };
  EXPECT_EQ(with([](NvmeTarget& target) { target.any_host = true; }), "it admits any host");
  EXPECT_EQ(with([](NvmeTarget& target) { target.hosts.clear(); }), "it does not admit gpu1");
  EXPECT_EQ(with([](NvmeTarget& target) { target.hosts.push_back("nqn.x"); }), "it admits nqn.x");
  EXPECT_EQ(with([](NvmeTarget& target) { target.namespaces[0].enabled = false; }),
            "its namespace of /dev/vdb is disabled");
  EXPECT_EQ(with([](NvmeTarget& target) { target.namespaces[0].device = "/dev/vdd"; }),
            "it has no namespace of /dev/vdb");
  EXPECT_EQ(with([](NvmeTarget& target) { target.listeners.clear(); }), "no port serves it");
  EXPECT_EQ(with([](NvmeTarget& target) { target.listeners[0].transport = "tcp"; }),
            "it is served at 10.0.0.1:4420 by tcp");
  EXPECT_EQ(with([](NvmeTarget& target) { target.nqn = "nqn.y"; }), "it is not served");
}

TEST(Storage, OfAClientIsMetByALiveControllerOnTheRail) {
  Facts facts = client();
  facts.system.own_units_at_boot = {std::vector<std::string>{"railbed-connect-more.service"}, "test"};
  NvmeController controller;
  controller.name = "nvme1";
  controller.state = {"live", "test"};
  controller.transport = {"tcp", "test"};
  controller.address = {"traddr=10.1.0.1,trsvcid=4420,host_traddr=10.1.0.3", "test"};
  controller.subsystem = {"nqn.2024-07.internal.railbed:store1:more", "test"};
  const auto found = [&] {
    facts.system.storage.nvme = {std::vector<NvmeController>{controller}, "test"};
    const Need need = sample(kStored, {{"gpu2", facts}}).render("gpu2", Section::kStorage)[1].needs[0];
    EXPECT_EQ(need.now, need.found.empty());
    return need.found;
  };
  EXPECT_EQ(found(), "");
  controller.state = {"connecting", "test"};
  EXPECT_EQ(found(), "its controller is connecting");
  controller.address = {"traddr=192.168.1.5,trsvcid=4420", "test"};
  EXPECT_EQ(found(), "connected to 192.168.1.5 by tcp");
  controller.subsystem = {"nqn.y", "test"};
  EXPECT_EQ(found(), "not connected");
}

// A second writer below a mounted file system destroys it, so no option overrides this.
TEST(Storage, IsRefusedWhileTheDeviceIsUsed) {
  Facts facts = server();
  facts.system.storage.export_devices[0].used_by = {"it is mounted at /srv", "test"};
  facts.system.storage.export_devices[2].device = {Miss{Missing::kAbsent, "no such file"}, "test"};
  const auto cluster = sample(kStored, {{"store1", facts}});
  const auto settings = cluster.render("store1", Section::kStorage);
  EXPECT_EQ(settings[0].refused,
            "/dev/vdb (vdb) must not be served: it is mounted at /srv; /dev/vdc is not there");
}

// Nothing would listen where a client connects.
TEST(Storage, HoldsTheClientsOfAServerThatIsHeld) {
  Facts held = server();
  held.system.storage.export_devices[0].used_by = {"it is mounted at /srv", "test"};
  const auto refused = [&] {
    std::vector<std::string> all;
    const auto cluster = sample(kStored, {{"store1", held}, {"gpu1", client()}});
    for (const Setting& setting : cluster.render("gpu1", Section::kStorage)) all.push_back(setting.refused);
    return all;
  };
  const std::string why =
      "store1 will not serve it: /dev/vdb (vdb) must not be served: it is mounted at /srv";
  EXPECT_EQ(refused(), (std::vector<std::string>{why, why}));
  // What the server has served since before then can be connected to.
  const auto described = parse_cluster(kStored, "cluster.yaml");
  const StorageExport& ckpt = described->storage[1];
  NvmeTarget target{.nqn = ckpt.nqn};
  for (const std::string& node : ckpt.clients) target.hosts.push_back(host_nqn(*described, node));
  target.namespaces = {{1, ckpt.device, true}};
  target.listeners = {{"tcp", ckpt.address->to_text(), "4420"}};
  held.system.storage.nvme_targets = {std::vector{target}, "test"};
  EXPECT_EQ(refused(), (std::vector<std::string>{why, ""}));
  held = server();
  EXPECT_EQ(refused(), (std::vector<std::string>{"", ""}));
  held.railbed.clear();  // nobody looked at the server
  EXPECT_EQ(refused(), (std::vector<std::string>{"", ""}));
}

// After a boot at which the unit failed, nothing of the target is left in the kernel, not even its folder. The plan is to
// start the unit, which loads the modules and mounts configfs by itself.
TEST(Storage, IsStartedAgainAfterABootThatDidNotServe) {
  Facts facts = server();
  facts.system.own_units_at_boot = {std::vector<std::string>{"railbed-nvmet.service"}, "test"};
  const Setting serve = sample(kStored, {{"store1", facts}}).render("store1", Section::kStorage).at(0);
  for (const Need& need : serve.needs) {
    EXPECT_EQ(need.now, false);
    EXPECT_EQ(need.at_boot, true);
    EXPECT_EQ(need.found, "it is not served");
  }
  EXPECT_EQ(serve.refused, "");
  EXPECT_FALSE(serve.reboot);
  // A unit that failed is not running, so a restart alone would leave it so: it is enabled, and thereby started, before.
  ASSERT_EQ(serve.steps.size(), 3u);
  EXPECT_EQ(serve.steps[1].kind, StepKind::kEnableUnit);
  const std::string& unit = serve.files[1].content;
  EXPECT_THAT(unit, HasSubstr("WantedBy=multi-user.target\n"));
  EXPECT_LT(unit.find("ExecStartPre=modprobe -a nvmet"), unit.find("ExecStart=/bin/sh"));
  const std::string& script = serve.files[0].content;
  EXPECT_LT(script.find("mount -t configfs"), script.find("  stop\n  serve "));
}

// A connection that was lost with the boot is not seen in any folder of the kernel, and the setting is the same as before.
TEST(Storage, OfAClientIsStartedAgainAfterABootThatDidNotConnect) {
  Facts facts = client();
  facts.system.own_units_at_boot = {
      std::vector<std::string>{"railbed-connect-ckpt.service", "railbed-connect-more.service"}, "test"};
  for (const Setting& setting : sample(kStored, {{"gpu2", facts}}).render("gpu2", Section::kStorage)) {
    EXPECT_EQ(setting.needs.at(0).now, false);
    EXPECT_EQ(setting.needs[0].at_boot, true);
    EXPECT_EQ(setting.needs[0].found, "not connected");
    EXPECT_EQ(setting.steps.at(1).kind, StepKind::kEnableUnit);
  }
}

std::string refusal_of(const Facts& facts) {
  const auto cluster = sample(kStored, {{"store1", facts}});
  return cluster.render("store1", Section::kStorage)[0].refused;
}

TEST(Storage, IsRefusedWhereTwoNamesLeadToOneDevice) {
  Facts facts = server();
  facts.system.storage.export_devices[2].device = {"vdb", "test"};
  EXPECT_EQ(refusal_of(facts), "/dev/vdb (vdb) and /dev/vdc (vdb) share their blocks");
  facts.system.storage.export_devices[2].device = {"nvme0n1p2", "test"};
  EXPECT_EQ(refusal_of(facts),
            "/dev/disk/by-id/nvme-eui.1 (nvme0n1) and /dev/vdc (nvme0n1p2) share their blocks");
}

TEST(Storage, IsRefusedWhereNobodyCanTellThatTheDeviceIsFree) {
  Facts facts = server();
  facts.system.storage.export_devices[0].used_by = {Miss{Missing::kDenied, "permission denied"},
                                                    "/proc/swaps"};
  EXPECT_EQ(refusal_of(facts), "whether /dev/vdb is in use is not known: permission denied");
}

TEST(Storage, IsRefusedWhereAnotherSubsystemServesTheDevice) {
  Facts facts = server();
  NvmeTarget other{.nqn = "nqn.2020-01.com.example:old"};
  other.namespaces = {{1, "/dev/nvme0n1", true}};
  facts.system.storage.nvme_targets = {std::vector{other}, "test"};
  EXPECT_EQ(
      refusal_of(facts),
      "/dev/disk/by-id/nvme-eui.1 is served as nqn.2020-01.com.example:old already, which cluster.yaml does not "
      "describe: end that first");
  other.nqn = "nqn.2024-07.internal.railbed:store1:earlier";
  facts.system.storage.nvme_targets = {std::vector{other}, "test"};
  EXPECT_EQ(refusal_of(facts), "");
}

TEST(Storage, IdentitiesAreUuidsThatStay) {
  const auto cluster = parse_cluster(kStored, "cluster.yaml");
  ASSERT_TRUE(cluster);
  const std::string uuid = host_uuid(*cluster, "gpu1");
  EXPECT_THAT(uuid,
              testing::MatchesRegex("[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"));
  EXPECT_EQ(uuid, host_uuid(*cluster, "gpu1"));
  EXPECT_NE(uuid, host_uuid(*cluster, "gpu2"));
  EXPECT_NE(namespace_uuid(cluster->storage[0]), namespace_uuid(cluster->storage[1]));
}

TEST(Storage, NeedsNothingWithoutExports) {
  EXPECT_TRUE(sample("railbed: 1\ncluster: c\nexpect: {os: debian 12}\nnodes: [a]\n")
                  .render("a", Section::kStorage)
                  .empty());
}

TEST(Storage, IsNotStartedAgainByAnOldSystemd) {
  std::string yaml(kStored);
  yaml.replace(yaml.find("debian 12"), 9, "rhel 8.10");
  const auto settings = sample(yaml).render("store1", Section::kStorage);
  EXPECT_THAT(settings[0].files[1].content, Not(HasSubstr("Restart=")));
  yaml.replace(yaml.find("rhel 8.10"), 9, "rhel 9.4");
  EXPECT_THAT(sample(yaml).render("gpu1", Section::kStorage)[0].files[1].content, HasSubstr("Restart="));
}

}  // namespace
}  // namespace railbed
