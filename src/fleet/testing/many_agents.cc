// Takes the place of ssh or srun for many simulated nodes: each call is both the connection to a node and its
// agent. Facts were collected from captured trees before, so that only the controller uses this machine's
// processors.
//
//   RAILBED_MANY=FOLDER ssh … -- NODE COMMAND
//   RAILBED_MANY=FOLDER srun … --nodelist=NODE … COMMAND
//
// FOLDER/NODE.json is the node's response to "facts". A node with FOLDER/NODE.hangs never responds; any other
// node does not exist.
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <string_view>

#include "base/files.h"
#include "fleet/fleet.h"

namespace railbed {
namespace {

Result<std::string> clock_now(std::string_view, std::stop_token) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return fmt::format("{{\"nanoseconds\":{}}}", std::chrono::nanoseconds(now).count());
}

int answer(const std::string& node) {
  const std::string place = fmt::format("{}/{}", std::getenv("RAILBED_MANY"), node);
  if (access((place + ".hangs").c_str(), F_OK) == 0)
    while (true) pause();
  if (access((place + ".json").c_str(), R_OK) != 0) {
    fmt::print(stderr, "ssh: connect to host {} port 22: Connection refused\n", node);
    return 255;
  }
  const Handlers handlers = {
      {"facts", [&](std::string_view, std::stop_token) { return read_file(place + ".json"); }},
      {"clock", clock_now},
  };
  return fleet::serve_stdio(handlers) == 0 ? 0 : 1;
}

std::string node_of(int argc, char** argv) {
  constexpr std::string_view kOption = "--nodelist=";
  for (int i = 1; i < argc; ++i)
    if (std::string_view(argv[i]).starts_with(kOption)) return argv[i] + kOption.size();
  return argv[argc - 2];
}

}  // namespace
}  // namespace railbed

int main(int argc, char** argv) {
  if (argc < 3 || std::getenv("RAILBED_MANY") == nullptr) return railbed::kExitUsage;
  _exit(railbed::answer(railbed::node_of(argc, argv)));
}
