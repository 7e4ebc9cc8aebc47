// The bootstrap of an agent: the POSIX shell script that ssh starts on a node, and the lines that it prints.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fleet/agent_binary.h"

namespace railbed::fleet {

// Returns the remote command. It starts the agent that the node already has, or prints what it needs; see
// docs/reference/agent-protocol.md. `nonce` marks its lines, so that no greeting can be mistaken for one.
// `start` defines the shell function that becomes the agent at the given path (root_start.h has another one).
// `shared` is a path at which the node may already have the agent; empty for none.
inline constexpr std::string_view kStartAsUser = "start() { exec \"$1\" agent 3>&-; }\n";
std::string bootstrap_command(const std::vector<AgentBinaries::Known>& agents, std::string_view nonce,
                              std::string_view start = kStartAsUser, std::string_view shared = "");

// A line of the script: "push x86_64 zstd gzip", "architecture riscv64", "nowhere /root/.cache/railbed: No
// space left on device", …
struct BootstrapLine {
  std::string word;
  std::string rest;
};
// Returns the last of the script's own lines in `noise` if it is complete; otherwise nullopt.
std::optional<BootstrapLine> bootstrap_line(std::string_view noise, std::string_view nonce);
// Returns `noise` without the script's lines: greetings, and messages of shells.
std::string without_bootstrap_lines(std::string_view noise, std::string_view nonce);

// The agent is sent in pieces of this many bytes. The script prints "more" after each piece that it has read.
inline constexpr std::size_t kPiece = 512 << 10;
// Returns how many bytes of the agent may have been sent in total, according to the script's lines so far.
std::size_t bootstrap_allowance(std::string_view noise, std::string_view nonce);

// Returns the line that the script reads before it reads `bytes` bytes.
std::string bootstrap_reply(std::size_t bytes, std::string_view packer);

// Returns 16 random hexadecimal digits.
std::string make_nonce();

}  // namespace railbed::fleet
