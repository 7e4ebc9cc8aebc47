#include "configure/installer_medium.h"

#include <gmock/gmock.h>

#include "inventory/load.h"

namespace railbed {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string os_of(const MediumTexts& texts) {
  const auto medium = medium_of(texts);
  return medium ? medium->os : medium.error().text;
}

Node node_with(std::string_view os, std::string_view configure = "{}") {
  const auto cluster = parse_cluster("railbed: 1\ncluster: one\n" +
                                         (os.empty() ? "" : "expect: {os: " + std::string(os) + "}\n") +
                                         "configure: " + std::string(configure) + "\nnodes: [gpu1]\n",
                                     "cluster.yaml");
  EXPECT_TRUE(cluster) << (cluster ? "" : cluster.error().text);
  return cluster ? cluster->nodes.front() : Node{};
}

TEST(InstallerMedium, IsRecognisedByWhatItsMakerWrote) {
  EXPECT_EQ(os_of({.disk_info = "Ubuntu-Server 24.04.1 LTS \"Noble Numbat\" - Release amd64 (20240827)"}),
            "ubuntu 24.04");
  EXPECT_EQ(os_of({.disk_info = "Ubuntu-Server 22.04 LTS \"Jammy Jellyfish\" - Release amd64 (20220421)"}),
            "ubuntu 22.04");
  EXPECT_EQ(os_of({.treeinfo = "[general]\nname = Rocky Linux 9.4\nversion = 9.4\n"}), "rocky 9.4");
  EXPECT_EQ(os_of({.treeinfo = "[release]\nname = x\n[general]\nname = AlmaLinux 9.3\nversion = 9.3\n"}),
            "almalinux 9.3");
  // A boot ISO has no .treeinfo.
  EXPECT_EQ(
      os_of({.discinfo = "1714650000.1\n9.4\nx86_64\n", .efi_menu = "menuentry 'Install Rocky Linux 9.4' {"}),
      "rocky 9.4");
  EXPECT_EQ(os_of({.efi_menu = "menuentry 'Install Red Hat Enterprise Linux 9.3' --class fedora {"}),
            "rhel 9.3");
}

TEST(InstallerMedium, IsRefusedIfItInstallsAnythingElse) {
  EXPECT_THAT(os_of({.disk_info = "Debian GNU/Linux 12.5.0 \"Bookworm\" - Official amd64 NETINST"}),
              HasSubstr("a preseed, which railbed does not write"));
  EXPECT_THAT(os_of({.disk_info = "Ubuntu 24.04 LTS \"Noble Numbat\" - Release amd64"}),
              HasSubstr("Ubuntu's live server"));
  EXPECT_THAT(os_of({.disk_info = "Ubuntu-Server 18.04.5 LTS \"Bionic Beaver\" - Release amd64 (20200810)"}),
              HasSubstr("reads no autoinstall, which begins with 20.04"));
  EXPECT_THAT(os_of({.treeinfo = "[general]\nname = Rocky Linux 8.9\nversion = 8.9\n"}),
              HasSubstr("answers for RHEL 9 and its kin alone"));
  EXPECT_THAT(os_of({.disk_info = ""}), HasSubstr("Ubuntu's live server"));
  EXPECT_THAT(os_of({.disk_info = "\x1b[2J"}), Not(HasSubstr("\x1b")));
  EXPECT_THAT(os_of({.treeinfo = "[general]\nname = Fedora 40\nversion = 40\n"}), HasSubstr("holds neither"));
  EXPECT_THAT(os_of({}), HasSubstr("holds neither"));
}

TEST(InstallerMedium, IsComparedWithWhatTheNodeIsToHave) {
  const Medium rocky{.kind = MediumKind::kRhel, .os = "rocky 9.4", .name = "Rocky Linux 9.4"};
  for (const char* os : {"", "rocky 9", "rocky 9.4", "rhel 9", "rhel"})
    EXPECT_TRUE(check_medium(rocky, node_with(os))) << os;
  for (const char* os : {"rocky 8", "rocky 9.5", "almalinux 9", "ubuntu 24.04", "rhel 10"})
    EXPECT_FALSE(check_medium(rocky, node_with(os))) << os;
  const Medium ubuntu{.kind = MediumKind::kUbuntuServer, .os = "ubuntu 24.04", .name = "Ubuntu-Server 24.04"};
  EXPECT_TRUE(check_medium(ubuntu, node_with("ubuntu 24.04")));
  EXPECT_FALSE(check_medium(ubuntu, node_with("ubuntu 22.04")));
  EXPECT_FALSE(check_medium(ubuntu, node_with("debian 12")));
}

TEST(InstallerMedium, PutsItsArgumentsInFrontOfThoseOfTheInstalledSystem) {
  const Medium ubuntu{.kind = MediumKind::kUbuntuServer};
  const MediumPaths paths = medium_paths(ubuntu.kind);
  const Node node = node_with("", "{console: ttyS1, console_rate: 9600}");
  const MenuWish wish{{{"gpu1", arguments_from_medium(ubuntu, "", node)}}, "ttyS1", 9600};
  const auto menu = grub_with_entries(
      "menuentry \"Try\" {\n\tlinux\t/casper/vmlinuz  iso-scan/filename=${iso_path} ---\n\tinitrd\t/casper/initrd\n}",
      paths, wish);
  ASSERT_TRUE(menu);
  EXPECT_THAT(*menu,
              HasSubstr("\tlinux\t/casper/vmlinuz iso-scan/filename=${iso_path} autoinstall "
                        "ds=nocloud\\;s=/cdrom/railbed/gpu1/ console=tty0 console=ttyS1,9600n8 ---\n"));
  EXPECT_THAT(*menu, HasSubstr("set default=railbed-gpu1\nif serial --unit=1 --speed=9600; then\n"));
  const auto twice = grub_with_entries(*menu, paths, wish);
  ASSERT_FALSE(twice);
  EXPECT_THAT(twice.error().text, HasSubstr("railbed wrote this ISO already"));
}

TEST(InstallerMedium, RefusesAMenuThatLoadsNoInstaller) {
  const MenuWish wish{{{"gpu1", {"a"}}}, std::nullopt, 0};
  const MediumPaths paths = medium_paths(MediumKind::kRhel);
  EXPECT_FALSE(grub_with_entries("", paths, wish));
  EXPECT_FALSE(grub_with_entries("linux /casper/vmlinuz\ninitrd /casper/initrd\n", paths, wish));
  EXPECT_FALSE(grub_with_entries("linux /images/pxeboot/vmlinuz quiet\n", paths, wish));  // without an initrd
  EXPECT_FALSE(isolinux_with_entries("", wish));
  EXPECT_FALSE(isolinux_with_entries("label local\n  localboot 0xffff\n", wish));
}

TEST(InstallerMedium, TakesTheDefaultFromTheMakersEntryForOneNodeOnly) {
  const std::string_view menu =
      "timeout 600\nlabel check\n  menu default\n  kernel vmlinuz\n  append initrd=initrd.img quiet\n";
  const auto one = isolinux_with_entries(menu, {{{"gpu1", {"inst.text"}}}, std::nullopt, 0});
  ASSERT_TRUE(one);
  EXPECT_EQ(
      *one,
      "timeout 600\nlabel check\n  kernel vmlinuz\n  append initrd=initrd.img quiet\n\n# railbed's entries\n"
      "label railbed-gpu1\n  menu label Install gpu1 (railbed)\n  menu default\n  kernel vmlinuz\n"
      "  append initrd=initrd.img quiet inst.text\n\n");
  const auto two = isolinux_with_entries(menu, {{{"gpu1", {}}, {"gpu2", {}}}, "ttyAMA0", 115200});
  ASSERT_TRUE(two);
  EXPECT_TRUE(two->starts_with("timeout 600\nlabel check\n  menu default\n"))
      << *two;  // an Arm port has no number
  EXPECT_TRUE(two->ends_with("timeout 0\n")) << *two;
}

TEST(InstallerMedium, LeavesChangedFilesOutOfTheListOfSums) {
  EXPECT_EQ(sums_without("aa  ./boot/grub/grub.cfg\nbb  ./casper/vmlinuz\n\n", {"/boot/grub/grub.cfg"}),
            "bb  ./casper/vmlinuz\n\n");
}

}  // namespace
}  // namespace railbed
