#include <gmock/gmock.h>

#include "model/nfs_export.h"
#include "model/storage_export.h"
#include "settings/step.h"
#include "settings/testing/sample.h"

namespace railbed {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kShared = R"(railbed: 1
cluster: c
expect: {os: debian 12}
nodes: [store1, gpu1, gpu2, gpu3]
rails:
  - {name: rail0, interface: ens1, subnet: 10.0.0.0/24, first_address: 10.0.0.1}
  - {name: rail1, interface: ens2, subnet: "fd00::/64", first_address: "fd00::1"}
storage:
  - {name: home, server: store1, path: /srv/home, mount: /home, protocol: nfs-rdma, rail: rail0, clients: "gpu[1-2]"}
  - {name: data, server: store1, path: /srv/data, mount: /data, protocol: nfs-tcp, rail: rail1, clients: gpu3, read_only: true, no_root_squash: true, nconnect: 4}
)";

const Reading<bool> kIsThere = {true, "test"};

Facts nfs_facts(std::initializer_list<std::pair<const char*, FolderUse>> folders) {
  Facts facts;
  facts.railbed = "1";
  facts.system.own_units_at_boot = {std::vector<std::string>(), "test"};
  NfsFacts& nfs = facts.system.storage.nfs;
  nfs.exports = {std::vector<NfsExport>(), "test"};
  nfs.listeners = {std::vector<NfsListener>{{"tcp", 2049}}, "test"};
  nfs.mounts = {std::vector<NfsMount>(), "test"};
  nfs.exportfs = nfs.mount_nfs = kIsThere;
  for (const auto& [path, use] : folders) nfs.folders.push_back({path, {use, "test"}});
  return facts;
}

Facts file_server() {
  return nfs_facts({{"/srv/home", FolderUse::kFilled}, {"/srv/data", FolderUse::kMounted}});
}

std::vector<Setting> render_shared(std::string_view node, const std::map<std::string, Facts>& facts,
                                   std::string_view yaml = kShared) {
  return sample(yaml, facts).render(node, Section::kStorage);
}

TEST(Nfs, ExportsToTheAddressesOfClientsAlone) {
  const auto settings = render_shared("store1", {{"store1", file_server()}});
  ASSERT_EQ(settings.size(), 1u);
  const Setting& serve = settings[0];
  EXPECT_EQ(serve.name, "storage/nfs-serve");
  EXPECT_EQ(serve.refused, "");
  EXPECT_EQ(serve.files[0].path, "/etc/exports.d/railbed.exports");
  EXPECT_EQ(serve.files[0].content.substr(kFileMark.size()),
            "/srv/home \\\n"
            "  10.0.0.2(rw,sync,no_subtree_check,sec=sys,root_squash) \\\n"
            "  10.0.0.3(rw,sync,no_subtree_check,sec=sys,root_squash)\n"
            "/srv/data \\\n"
            "  fd00::4(ro,sync,no_subtree_check,sec=sys,no_root_squash)\n");
  EXPECT_THAT(serve.files[1].content,
              HasSubstr("rdma=\"rdma 20049\"\nexported=\"\n  10.0.0.2:/srv/home\n  10.0.0.3:/srv/home\n"
                        "  [fd00::4]:/srv/data\"\n"));
  EXPECT_THAT(serve.files[2].content, HasSubstr("RequiresMountsFor=/srv/home /srv/data\n"));
  EXPECT_THAT(serve.files[2].content, HasSubstr("WantedBy=multi-user.target nfs-server.service\n"));
  EXPECT_EQ(serve.needs.at(0).found, "it is not exported");
  EXPECT_EQ(serve.needs[0].at_boot, false);
  EXPECT_EQ(serve.notes,
            std::vector<std::string>{"Who is root on a client of data owns every file of /srv/data."});
  for (const NodeStep& step : serve.steps) EXPECT_TRUE(check_step(step));
}

TEST(Nfs, ListensByRdmaOnlyWhereItIsAskedFor) {
  std::string yaml(kShared);
  yaml.replace(yaml.find("nfs-rdma"), 8, "nfs-tcp");
  EXPECT_THAT(render_shared("store1", {}, yaml).at(0).files[1].content, HasSubstr("rdma=\"\"\n"));
}

TEST(Nfs, MountsFromTheServersAddressOnTheRail) {
  auto settings = render_shared("gpu2", {{"gpu2", nfs_facts({{"/home", FolderUse::kEmpty}})}});
  for (Setting& setting : render_shared("gpu3", {{"gpu3", nfs_facts({})}}))
    settings.push_back(std::move(setting));
  ASSERT_EQ(settings.size(), 2u);
  EXPECT_EQ(settings[0].name, "storage/nfs-mount");
  EXPECT_EQ(settings[0].subjects, std::vector<std::string>{"home"});
  EXPECT_EQ(settings[0].refused, "");
  EXPECT_EQ(settings[0].needs.at(0).found, "not mounted");
  EXPECT_EQ(settings[0].files[1].path, "/etc/systemd/system/railbed-mount-home.service");
  EXPECT_THAT(
      settings[0].files[1].content,
      HasSubstr("ExecStart=/bin/sh /etc/railbed/railbed-mount.sh attach 10.0.0.1:/srv/home /home rdma "
                "rw,vers=4,proto=rdma,port=20049,hard,retry=0\n"));
  EXPECT_THAT(settings[1].files[1].content, HasSubstr("attach [fd00::1]:/srv/data /data tcp6 "
                                                      "ro,vers=4,proto=tcp6,nconnect=4,hard,retry=0\n"));
  EXPECT_THAT(settings[1].files[1].content, Not(HasSubstr("rpcrdma")));
  for (const Setting& setting : settings) {
    EXPECT_THAT(setting.files[1].content, HasSubstr("TimeoutStartSec=85\n"));
    EXPECT_THAT(setting.files[1].content, Not(HasSubstr("Before=")));  // nothing at boot waits for a server
    for (const NodeStep& step : setting.steps) EXPECT_TRUE(check_step(step));
  }
}

// Returns what the kernel and exportfs(8) show of a server that does as it is told.
Facts exporting() {
  Facts facts = file_server();
  NfsFacts& nfs = facts.system.storage.nfs;
  const std::vector<std::string> open = {"rw", "sync",   "root_squash", "sec=sys",
                                         "rw", "secure", "root_squash"};
  nfs.exports = {
      std::vector<NfsExport>{{"/srv/home", "10.0.0.2", open},
                             {"/srv/home", "10.0.0.3", open},
                             {"/srv/data", "fd00::4", {"ro", "no_root_squash", "sec=sys", "no_root_squash"}},
                             {"/srv/other", "*", {"rw"}}},
      "test"};
  nfs.listeners = {std::vector<NfsListener>{{"rdma", 20049}, {"tcp", 2049}}, "test"};
  facts.system.own_units_at_boot = {std::vector<std::string>{"railbed-nfs.service"}, "test"};
  return facts;
}

TEST(Nfs, IsMetByWhatIsExported) {
  const auto found = [](auto change) {
    Facts facts = exporting();
    change(facts.system.storage.nfs);
    const Need need = render_shared("store1", {{"store1", facts}}).at(0).needs.at(0);
    EXPECT_EQ(need.at_boot, true);
    EXPECT_EQ(need.now, need.found.empty());
    return need.found;
  };
  const auto with = [&](auto change) {
    return found([&](NfsFacts& nfs) {
      auto lines = *nfs.exports;
      change(lines);
      nfs.exports = {lines, "test"};
    });
  };
  using Lines = std::vector<NfsExport>;
  EXPECT_EQ(found([](NfsFacts&) {}), "");
  EXPECT_EQ(with([](Lines& lines) { lines.erase(lines.begin() + 1); }),
            "it is not exported to gpu2 (10.0.0.3)");
  EXPECT_EQ(with([](Lines& lines) { lines[0].options = {"ro", "root_squash"}; }), "gpu1 may only read");
  EXPECT_EQ(with([](Lines& lines) { lines[0].options.push_back("no_root_squash"); }),
            "root of gpu1 is root there");
  EXPECT_EQ(with([](Lines& lines) { lines[3].path = "/srv/home"; }), "it is exported to *, too");
  EXPECT_EQ(with([](Lines& lines) { lines.clear(); }), "it is not exported");
  EXPECT_EQ(found([](NfsFacts& nfs) {
              nfs.exports = {Miss{Missing::kAbsent, "no such file"}, "test"};
            }),
            "it is not exported");
  EXPECT_EQ(found([](NfsFacts& nfs) {
              nfs.listeners = {std::vector<NfsListener>{{"tcp", 2049}}, "test"};
            }),
            "the NFS server does not listen at port 20049 by rdma");
  // What exportfs(8) has written down counts only while the server runs.
  EXPECT_EQ(found([](NfsFacts& nfs) {
              nfs.listeners = {std::vector<NfsListener>(), "test"};
            }),
            "no NFS server runs");
  EXPECT_EQ(found([](NfsFacts& nfs) {
              nfs.listeners = {Miss{Missing::kAbsent, "no such file"}, "test"};
            }),
            "no NFS server runs");
}

TEST(Nfs, IsOpenWhereNobodyCouldLook) {
  Facts facts = exporting();
  facts.system.storage.nfs.exports = {Miss{Missing::kDenied, "permission denied"}, "test"};
  EXPECT_EQ(render_shared("store1", {{"store1", facts}}).at(0).needs.at(0).now, std::nullopt);
}

TEST(Nfs, OfAClientIsMetByTheMountThatIsWanted) {
  const auto found = [](const NfsMount& mount) {
    Facts facts = nfs_facts({{"/home", FolderUse::kMounted}});
    facts.system.own_units_at_boot = {std::vector<std::string>{"railbed-mount-home.service"}, "test"};
    facts.system.storage.nfs.mounts = {std::vector{mount}, "test"};
    const Setting setting = render_shared("gpu1", {{"gpu1", facts}}).at(0);
    EXPECT_EQ(setting.needs.at(0).at_boot, true);
    return std::pair(setting.needs[0].found, setting.refused);
  };
  using Found = std::pair<std::string, std::string>;
  const NfsMount right = {
      .point = "/home", .source = "10.0.0.1:/srv/home", .protocol = "rdma", .address = "10.0.0.1"};
  EXPECT_EQ(found(right), Found("", ""));
  NfsMount other = right;
  other.protocol = "tcp";
  EXPECT_EQ(found(other), Found("mounted from 10.0.0.1 by tcp", ""));
  // It was mounted over the rail, and goes over the connection of an earlier mount.
  other = right;
  other.address = "192.168.1.1";
  EXPECT_EQ(found(other), Found("mounted from 192.168.1.1 by rdma", ""));
  other = right;
  other.source = "10.0.0.1:/srv/else";
  EXPECT_EQ(found(other), Found("not mounted", "something else is mounted at /home"));
  other = right;
  other.address.clear();  // a masked capture
  EXPECT_EQ(found(other), Found("", ""));
}

TEST(Nfs, HidesNothingBelowAMount) {
  const auto refused = [](const Reading<FolderUse>& use) {
    Facts facts = nfs_facts({});
    facts.system.storage.nfs.folders = {{"/home", use}};
    return render_shared("gpu1", {{"gpu1", facts}}).at(0).refused;
  };
  EXPECT_EQ(refused({FolderUse::kEmpty, "test"}), "");
  EXPECT_EQ(refused({Miss{Missing::kAbsent, "no such file"}, "test"}), "");
  EXPECT_EQ(refused({FolderUse::kFilled, "test"}), "/home is not empty: a mount would hide what is in it");
  EXPECT_EQ(refused({Miss{Missing::kDenied, "permission denied"}, "test"}), "/home: permission denied");
}

TEST(Nfs, HoldsServerAndClientsWhereADirectoryIsMissing) {
  Facts facts = file_server();
  facts.system.storage.nfs.folders[0].use = {Miss{Missing::kAbsent, "no such file"}, "test"};
  EXPECT_EQ(render_shared("store1", {{"store1", facts}}).at(0).refused, "/srv/home is not there");
  EXPECT_EQ(render_shared("gpu1", {{"store1", facts}}).at(0).refused,
            "store1 will not export it: /srv/home is not there");
  facts.railbed.clear();
  EXPECT_EQ(render_shared("gpu1", {{"store1", facts}}).at(0).refused, "");
}

TEST(Nfs, ComesByItsPackages) {
  Facts facts = nfs_facts({});
  facts.system.storage.nfs.exportfs =
      facts.system.storage.nfs.mount_nfs = {Miss{Missing::kAbsent, "no such file"}, "test"};
  EXPECT_EQ(render_shared("store1", {{"store1", facts}}).at(0).refused,
            "nfs-kernel-server is not installed: install it, or say \"packages: true\" below configure");
  std::string yaml = std::string(kShared) + "configure: {packages: true}\n";
  const std::map<std::string, Facts> all = {{"store1", facts}, {"gpu1", facts}};
  EXPECT_EQ(render_shared("store1", all, yaml).at(0).refused, "");
  const auto packages = [&](std::string_view node) {
    for (const Setting& setting : sample(yaml, all).render(node, Section::kPackages))
      if (setting.name == "packages/nfs") {
        EXPECT_EQ(setting.needs.at(0).now, false);
        return setting.steps.at(1).arguments;
      }
    return std::vector<std::string>();
  };
  EXPECT_EQ(packages("store1"), std::vector<std::string>{"nfs-kernel-server"});
  EXPECT_EQ(packages("gpu1"), std::vector<std::string>{"nfs-common"});
  yaml.replace(yaml.find("debian 12"), 9, "rhel 9.4");
  EXPECT_EQ(packages("gpu1"), std::vector<std::string>{"nfs-utils"});
}

}  // namespace
}  // namespace railbed
