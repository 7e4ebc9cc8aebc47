#include "configure/autoinstall.h"

#include <gmock/gmock.h>

#include "base/text.h"
#include "base/yaml.h"
#include "inventory/load.h"
#include "settings/files.h"

namespace railbed {
namespace {

using testing::HasSubstr;

Node bare_node(std::string_view os, std::string_view more = "") {
  const auto cluster =
      parse_cluster("railbed: 1\ncluster: one\nexpect: {os: " + std::string(os) +
                        "}\nconfigure: {user: ops, authorized_keys: ['ssh-ed25519 AAAAC3 \"o\\k\"']" +
                        std::string(more) + "}\nnodes: [gpu1]\n",
                    "cluster.yaml");
  EXPECT_TRUE(cluster) << (cluster ? "" : cluster.error().text);
  return cluster ? cluster->nodes.front() : Node{};
}

// Returns the value at a path such as "user-data/users/0/name" in the file.
std::string value_at(const std::string& file, std::string_view path) {
  Complaints complaints(file, "user-data");
  const auto all = parse_yaml(file, complaints);
  const YamlValue* at = all ? &*all : nullptr;
  for (const std::string_view step : split(path, '/')) {
    if (at == nullptr) return "";
    const YamlValue* next = nullptr;
    for (std::size_t i = 0; i < at->items.size(); ++i)
      if (at->kind == YamlValue::Kind::kMapping ? at->keys[i].text == step : std::to_string(i) == step)
        next = &at->items[i];
    at = next;
  }
  return at != nullptr ? at->text : "";
}

constexpr std::string_view kManagement =
    ", management_interface: eno1, management_address: 192.168.1.70/25, management_gateway: 192.168.1.1, "
    "management_dns: [192.168.1.1, 1.1.1.1], console: ttyS1, console_rate: 9600";

TEST(Autoinstall, SaysWhoWhereAndOnWhichConsole) {
  const auto files = install_files(bare_node("ubuntu 24.04", kManagement));
  ASSERT_TRUE(files);
  ASSERT_EQ(files->size(), 2U);
  EXPECT_EQ(files->at(1).name, "meta-data");
  const std::string& text = files->front().content;
  EXPECT_TRUE(text.starts_with("#cloud-config\n"));
  EXPECT_THAT(text, HasSubstr("    - |\n"
                              "      cat > /target/etc/default/grub.d/90-railbed.cfg <<'EOF'\n"
                              "      # Written by railbed"));
  EXPECT_THAT(text, HasSubstr("console=ttyS1,9600n8\"\n      GRUB_TERMINAL"));
  EXPECT_EQ(text.find("password:"), std::string::npos);
}

TEST(Autoinstall, IsYamlWhoseTextsAreThoseOfTheCluster) {
  const auto files = install_files(bare_node("ubuntu 24.04", kManagement));
  const std::string& text = files->front().content;
  EXPECT_EQ(value_at(text, "autoinstall/user-data/hostname"), "gpu1");
  EXPECT_EQ(value_at(text, "autoinstall/user-data/users/0/ssh_authorized_keys/0"),
            "ssh-ed25519 AAAAC3 \"o\\k\"");
  EXPECT_EQ(value_at(text, "autoinstall/user-data/users/0/lock_passwd"), "true");
  EXPECT_EQ(value_at(text, "autoinstall/network/ethernets/eno1/addresses/0"), "192.168.1.70/25");
  EXPECT_EQ(value_at(text, "autoinstall/network/ethernets/eno1/routes/0/via"), "192.168.1.1");
  EXPECT_EQ(value_at(text, "autoinstall/network/ethernets/eno1/nameservers/addresses/1"), "1.1.1.1");
}

TEST(Autoinstall, ErasesNoDiskByItself) {
  const auto ubuntu = install_files(bare_node("ubuntu 24.04"));
  EXPECT_EQ(value_at(ubuntu->front().content, "autoinstall/interactive-sections/0"), "storage");
  const std::string rhel = install_files(bare_node("rhel 9.4"))->front().content;
  for (const char* command : {"\nclearpart", "\nautopart", "\nzerombr", "\nignoredisk", "\npart "})
    EXPECT_EQ(rhel.find(command), std::string::npos) << command;
}

TEST(Autoinstall, IsAKickstartForRhel) {
  const auto files = install_files(bare_node("rhel 9.4", kManagement));
  ASSERT_EQ(files->size(), 1U);
  EXPECT_EQ(files->front().name, "ks.cfg");
  const std::string& text = files->front().content;
  EXPECT_THAT(text, HasSubstr("network --device=eno1 --bootproto=static --ip=192.168.1.70 "
                              "--netmask=255.255.255.128 --gateway=192.168.1.1 "
                              "--nameserver=192.168.1.1,1.1.1.1 --hostname=gpu1 --activate\n"));
  EXPECT_THAT(text, HasSubstr("rootpw --lock\nuser --name=ops --groups=wheel --lock\n"
                              "sshkey --username=ops \"ssh-ed25519 AAAAC3 \\\"o\\\\k\\\"\"\n"));
  EXPECT_THAT(text, HasSubstr("bootloader --append=\"console=tty0 console=ttyS1,9600n8\"\n"));
}

TEST(Autoinstall, RefusesWhatNobodyCouldLogInTo) {
  Node node = bare_node("ubuntu 24.04");
  node.configure.authorized_keys.reset();
  const auto files = install_files(node);
  ASSERT_FALSE(files);
  EXPECT_THAT(files.error().text, HasSubstr("nobody could log in"));
  EXPECT_FALSE(install_files(bare_node("debian 12")));
}

}  // namespace
}  // namespace railbed
