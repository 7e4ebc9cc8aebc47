#include "fleet/packed_agent.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

#include "base/testing/gzip.h"
#include "fleet/agent_binary.h"

namespace railbed::fleet {
namespace {

const std::string kHash(64, 'a');
const std::string kAgent = "the agent's bytes, and more of them";

template <class Part>
void append(std::string& to, const Part& part) {
  to.append(reinterpret_cast<const char*>(&part), sizeof part);
}

// Returns a file like the linker's: a header, the section, the names of sections, and the table of sections.
std::string program(const std::string& section, const std::string& name = "railbed.agent") {
  const std::string names = std::string(1, '\0') + name + '\0';
  Elf64_Ehdr header = {};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_machine = EM_X86_64;
  header.e_shoff = sizeof header + section.size() + names.size();
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 3;
  header.e_shstrndx = 2;
  Elf64_Shdr none = {};
  Elf64_Shdr agent = {};
  agent.sh_name = 1;
  agent.sh_offset = sizeof header;
  agent.sh_size = section.size();
  Elf64_Shdr strings = {};
  strings.sh_offset = sizeof header + section.size();
  strings.sh_size = names.size();
  std::string file;
  append(file, header);
  file += section + names;
  for (const Elf64_Shdr& shdr : {none, agent, strings}) append(file, shdr);
  return file;
}

// The section as scripts/pack-agent writes it.
std::string section_of(const std::string& gzipped, const std::string& zstd) {
  return kHash + " " + std::to_string(kAgent.size()) + " " + std::to_string(gzipped.size()) + " " +
         std::to_string(zstd.size()) + "\n" + gzipped + zstd;
}

std::optional<PackedAgent> found_in(const std::string& file) {
  return find_packed_agent([&](std::uint64_t offset, std::size_t count) {
    return offset < file.size() ? file.substr(offset, count) : std::string();
  });
}

// Reads it from a file, as at run time.
std::string unpacked(const std::string& file, const PackedAgent& agent) {
  const std::string path = testing::TempDir() + "packed_agent_test";
  std::ofstream(path, std::ios::binary) << file;
  return unpacked_agent(path, agent);
}

TEST(PackedAgent, IsFoundAndUnpacked) {
  const std::string packed = gzip(kAgent);
  const std::string file = program(section_of(packed, "by zstd"));
  const auto agent = found_in(file);
  ASSERT_TRUE(agent);
  EXPECT_EQ(agent->hash, kHash);
  EXPECT_EQ(agent->size, kAgent.size());
  EXPECT_EQ(file.substr(agent->gzip.offset, agent->gzip.bytes), packed);
  EXPECT_EQ(file.substr(agent->zstd.offset, agent->zstd.bytes), "by zstd");
  EXPECT_EQ(unpacked(file, *agent), kAgent);
}

TEST(PackedAgent, WhatIsCutOffOrChangedIsNotUnpacked) {
  const std::string packed = gzip(kAgent);
  const std::string file = program(section_of(packed, ""));
  const auto agent = found_in(file);
  ASSERT_TRUE(agent);
  std::string changed = file;
  changed[agent->gzip.offset + packed.size() - 6] ^= 1;  // in the checksum
  EXPECT_EQ(unpacked(changed, *agent), "");
  EXPECT_EQ(unpacked(file.substr(0, agent->gzip.offset + packed.size() - 1), *agent), "");
  for (const std::size_t size : {kAgent.size() - 1, kAgent.size() + 1})
    EXPECT_EQ(unpacked(file, {agent->hash, size, agent->gzip, agent->zstd}), "");
}

TEST(PackedAgent, OtherFilesHaveNone) {
  const std::string sound = section_of("g", "");
  EXPECT_TRUE(found_in(program(sound)));
  EXPECT_FALSE(found_in(""));
  EXPECT_FALSE(found_in("#!/bin/sh\n"));
  EXPECT_FALSE(found_in(program(sound, "railbed.other")));
  for (const std::string& section : {std::string(), kHash, kHash + "\n", kHash + " 7\n", kHash + " 7 0 x\n",
                                     kHash + " 7 1 0\n", kHash + " 7 0 0 0\n", kHash + " 99999999999 0 0\n",
                                     std::string(64, 'A') + " 7 0 0\n", "7 0 0 " + kHash + "\n"})
    EXPECT_FALSE(found_in(program(section))) << section;
  const std::string file = program(sound);
  for (std::size_t size = 0; size < file.size(); ++size) EXPECT_FALSE(found_in(file.substr(0, size))) << size;
}

TEST(AgentBinaries, PushesThePackedAgentOfAProgramThatCarriesOne) {
  const std::string path = testing::TempDir() + "carries-an-agent";
  const std::string packed = gzip(kAgent);
  std::ofstream(path) << program(section_of(packed, ""));
  AgentBinaries binaries(path, {});
  const auto known = binaries.known();
  ASSERT_TRUE(known) << known.error().text;
  ASSERT_EQ(known->size(), 1u);
  EXPECT_EQ(known->front().hash, kHash);
  EXPECT_EQ(known->front().size, kAgent.size());
  const auto payload = binaries.payload("x86_64", "zstd gzip");
  EXPECT_EQ(payload.packer, "gzip");
  EXPECT_EQ(*payload.bytes, packed);
  const auto raw = binaries.payload("x86_64", "zstd");
  EXPECT_EQ(raw.packer, "raw") << "a node without gzip, a program built without zstd";
  EXPECT_EQ(*raw.bytes, kAgent);

  std::ofstream(path) << program(section_of(packed, "by zstd"));
  AgentBinaries with_zstd(path, {});
  ASSERT_TRUE(with_zstd.known());
  EXPECT_EQ(*with_zstd.payload("x86_64", "zstd gzip").bytes, "by zstd");

  AgentBinaries whole(path, {}, "", AgentBinaries::Push::kWhole);
  EXPECT_NE(whole.known()->front().hash, kHash);
}

}  // namespace
}  // namespace railbed::fleet
