// The agent that a railbed carries for nodes: a program of its own, with the command `agent` alone, which is
// a fifth as large. It lies packed in the ELF section "railbed.agent" of the program, written by
// scripts/pack-agent when railbed is linked: a line "SHA256 SIZE GZIP-BYTES ZSTD-BYTES\n" about the agent,
// then these two streams. gzip is on every node; zstd is smaller and unpacks five times faster; 0 bytes: the
// machine that built railbed had none. Hash and size stand there so that neither the program nor the agent
// has to be read before a node asks for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace railbed::fleet {

struct PackedAgent {
  struct Stream {
    std::uint64_t offset = 0;  // within the program's file
    std::size_t bytes = 0;
  };
  std::string hash;      // SHA-256 of the agent, 64 hexadecimal digits
  std::size_t size = 0;  // of the agent, bytes
  Stream gzip;
  Stream zstd;
};

// `count` bytes of a file from `offset` on, or fewer where it ends.
using ReadAt = std::function<std::string(std::uint64_t offset, std::size_t count)>;

// Nothing where the file is no little-endian ELF64, has no such section, or one that makes no sense.
std::optional<PackedAgent> find_packed_agent(const ReadAt& read);
std::optional<PackedAgent> packed_agent_of(const std::string& path);

// A stream of it; empty where the file cannot be read any more.
std::string read_packed(const std::string& path, const PackedAgent::Stream& stream);
// The agent itself, for a node that has no gzip; empty where it is not whole.
std::string unpacked_agent(const std::string& path, const PackedAgent& agent);

}  // namespace railbed::fleet
