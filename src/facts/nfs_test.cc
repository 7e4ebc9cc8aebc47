#include "facts/nfs.h"

#include <gmock/gmock.h>

#include "host/tree.h"

namespace railbed {
namespace {

// The lines are as nfs-utils 1.3 (CentOS 7) and 2.6 (Debian 12) write them; one path has a space.
TEST(ParseExportTable, TakesEachClientWithItsOptions) {
  const auto found = parse_export_table(
      "/data\t192.168.122.0/24(rw,sync,wdelay,hide,nocrossmnt,secure,root_squash,no_all_squash,no_subtree_check,"
      "secure_locks,acl,no_pnfs,anonuid=65534,anongid=65534,sec=sys,rw,secure,root_squash,no_all_squash)\n"
      "/srv/a\\040b\t10.0.0.2(ro,sync,wdelay,hide,nocrossmnt,secure,no_root_squash,no_all_squash,no_subtree_check,"
      "secure_locks,acl,no_pnfs,anonuid=65534,anongid=65534,sec=sys,ro,secure,no_root_squash,no_all_squash)\n"
      "/srv/v6\tfd00::2(rw,sec=sys)\n"
      "/public\t*(ro)\n"
      "# not a line\n/x\n/y\t(rw)\n/z\thost(rw\nrelative\thost(rw)\n");
  ASSERT_EQ(found.size(), 4u);
  EXPECT_EQ(found[0].path, "/data");
  EXPECT_EQ(found[0].client, "192.168.122.0/24");
  EXPECT_EQ(found[0].options.front(), "rw");
  EXPECT_EQ(found[0].options.size(), 19u);
  EXPECT_EQ(found[1].path, "/srv/a b");
  EXPECT_EQ(found[1].client, "10.0.0.2");
  EXPECT_EQ(found[2].client, "fd00::2");
  EXPECT_EQ(found[3].client, "*");
}

TEST(ParseNfsPorts, HasEachOnce) {
  EXPECT_EQ(parse_nfs_ports("rdma 20049\nrdma 20049\nudp 2049\ntcp 2049\nudp 2049\ntcp 2049\n"),
            (std::vector<NfsListener>{{"rdma", 20049}, {"udp", 2049}, {"tcp", 2049}}));
  EXPECT_EQ(parse_nfs_ports("tcp\ntcp x\ntcp 70000\ntcp -1\n\n"), std::vector<NfsListener>());
}

constexpr std::string_view kNfsMounts =
    "27 1 259:2 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p2 rw\n"
    "90 27 0:53 / /home rw,relatime shared:30 - nfs4 10.0.0.1:/srv/home rw,vers=4.2,rsize=1048576,wsize=1048576,namlen=255,"
    "hard,proto=rdma,port=20049,timeo=600,retrans=2,sec=sys,clientaddr=10.0.0.2,local_lock=none,addr=10.0.0.1\n"
    "91 27 0:54 / /data ro,relatime shared:31 - nfs 192.168.1.1:/srv/data rw,vers=3,rsize=65536,hard,proto=tcp,timeo=600,"
    "mountaddr=192.168.1.1,mountvers=3,mountport=892,mountproto=tcp,local_lock=none,addr=192.168.1.1\n"
    "92 27 0:55 / /v6 rw - nfs4 [fd00::1]:/srv/v6 rw,vers=4.2,proto=tcp6,nconnect=2,clientaddr=fd00::2,addr=fd00::1\n";

TEST(ParseNfsMounts, TakesProtocolAndAddressOfTheConnection) {
  const auto found = parse_nfs_mounts(kNfsMounts);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].point, "/home");
  EXPECT_EQ(found[0].source, "10.0.0.1:/srv/home");
  EXPECT_EQ(found[0].protocol, "rdma");
  EXPECT_EQ(found[0].address, "10.0.0.1");
  EXPECT_FALSE(found[0].read_only);
  EXPECT_EQ(found[1].protocol, "tcp");  // not mountproto=
  EXPECT_EQ(found[1].address, "192.168.1.1");
  EXPECT_TRUE(found[1].read_only);
  EXPECT_EQ(found[2].protocol, "tcp6");
  EXPECT_EQ(found[2].address, "fd00::1");
}

// The text has statvers 1.1, as Linux 4.18 to 6.8 write it: fs/nfs/super.c, net/sunrpc/xprtsock.c, net/sunrpc/xprtrdma/transport.c.
TEST(AddNfsConnections, CountsEachTransport) {
  auto mounts = parse_nfs_mounts(kNfsMounts);
  add_nfs_connections(
      "device proc mounted on /proc with fstype proc\n"
      "device 10.0.0.1:/srv/home mounted on /home with fstype nfs4 statvers=1.1\n"
      "\topts:\trw,vers=4.2,proto=rdma,addr=10.0.0.1\n\tage:\t12\n\tRPC iostats version: 1.1  p/v: 100003/4 (nfs)\n"
      "\txprt:\trdma 741 1 1 0 0 1013715537 1013715535 2 0 101371553 101371553 101371550 60 61 1 1 1 0 0\n"
      "\tper-op statistics\n\t        NULL: 1 1 0 44 24 0 0 0 0\n"
      "device tmpfs mounted on /v6/x with fstype tmpfs\n\txprt:\ttcp 0 0 1\n"
      "device [fd00::1]:/srv/v6 mounted on /v6 with fstype nfs4 statvers=1.1\n"
      "\txprt:\ttcp 0 0 2 0 2 50 50 0 50 0 2 0 0\n\txprt:\ttcp 0 0 1 0 2 40 40 0 40 0 2 0 0\n",
      mounts);
  EXPECT_EQ(mounts[0].connections, std::vector<std::string>{"rdma"});
  EXPECT_TRUE(mounts[1].connections.empty());
  EXPECT_EQ(mounts[2].connections, (std::vector<std::string>{"tcp", "tcp"}));
}

std::unique_ptr<Host> nfs_machine(const std::string& text) {
  auto tree = parse_tree("railbed-tree 1\n" + text, "test.tree", nullptr);
  EXPECT_TRUE(tree) << (tree ? "" : tree.error().text);
  return open_tree(*std::move(tree));
}

TEST(CollectNfs, LooksIntoFoldersThatCannotWait) {
  const std::string mounts = "/proc/self/mountinfo <<END\n" + std::string(kNfsMounts) + "END\n";
  const auto host = nfs_machine(
      mounts + "/srv/empty/\n/srv/full/a = x\n/srv/file = x\n/srv/link -> empty\n/srv/denied ! EACCES\n");
  const NfsFacts facts = collect_nfs(*host, {"/srv/empty", "/srv/full", "/srv/none", "/home", "/home/x",
                                             "/srv/file", "/srv/link", "/srv/denied"});
  const auto use = [&](std::size_t i) { return facts.folders.at(i).use; };
  EXPECT_EQ(*use(0), FolderUse::kEmpty);
  EXPECT_EQ(*use(1), FolderUse::kFilled);
  EXPECT_TRUE(use(2).absent());
  EXPECT_EQ(*use(3), FolderUse::kMounted);
  for (const std::size_t i : {4, 5, 6, 7}) EXPECT_FALSE(use(i).ok() || use(i).absent()) << i;
  EXPECT_EQ(use(4).miss().why, "it is on 10.0.0.1:/srv/home (nfs4) of another machine");
  EXPECT_EQ(use(6).miss().why, "it is a link to /srv/empty");
  EXPECT_TRUE(facts.exports.absent());
  EXPECT_TRUE(facts.listeners.absent());
  EXPECT_TRUE(facts.exportfs.absent());
  EXPECT_EQ(facts.mounts->size(), 3u);
  // Nobody knows what a folder is if the mounts cannot be read.
  const NfsFacts unread = collect_nfs(*nfs_machine("/srv/empty/\n"), {"/srv/empty"});
  EXPECT_FALSE(unread.folders[0].use.ok() || unread.folders[0].use.absent());
}

}  // namespace
}  // namespace railbed
