// How the agent that the bootstrap script found intact is started as root, by sudo or where we are root.
#pragma once

#include <string>
#include <string_view>

namespace railbed::fleet {

// The `start` of the bootstrap script (bootstrap.h). Root runs a copy that only root can change and that root
// itself has checked: docs/reference/agent-protocol.md. Without a password sudo is told not to ask for one.
std::string root_start(bool with_password);

// True when sudo wrote its question for the password: the only moment at which one may be sent. Where sudo
// does not ask, the agent would read it.
bool asks_for_password(std::string_view errors, std::string_view nonce);

}  // namespace railbed::fleet
