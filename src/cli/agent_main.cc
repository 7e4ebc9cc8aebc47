// The program that nodes get (fleet/packed_agent.h): railbed with the command `agent` alone.
#include "cli/app.h"

int main(int argc, char** argv) {
  constexpr railbed::Command kAgent = {"Commands", "agent", "answer a controller on stdin and stdout",
                                       railbed::declare_agent};
  return railbed::run_railbed(argc, argv, {&kAgent, 1});
}
