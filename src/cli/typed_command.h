// The typed command, as a run keeps it: the command that makes the same run again, and the choices that can
// change a number. Both come from the options of the parsed command, so a new option is in both by itself.
#pragma once

#include <map>
#include <string>

namespace CLI {
class App;
}

namespace railbed {

// Returns "bench rdma gpu01 gpu02 --sizes 4K,64K": every option that was given, except those that only print
// or keep. Quoted where a shell needs it.
std::string typed_command(const CLI::App& app);

// Returns those options by which numbers can differ, without the ones that reach nodes: "sizes" → "4K,64K",
// "duplex" → "true".
std::map<std::string, std::string> typed_choices(const CLI::App& app);

}  // namespace railbed
