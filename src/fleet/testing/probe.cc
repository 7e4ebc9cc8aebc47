// Calls one method on every node and prints "NODE ok ANSWER" or "NODE failed REASON", one line each. The
// tests with real sshds (tests/fleet/) use it, so that they need no other room.
//
//   fleet_probe [--root] AGENT SSH_CONFIG DEADLINE_MS METHOD PARAMS NODE...
//
// With --root the agents run as root, and the first line of standard input is sudo's password, or empty. The
// node "here" is this machine, without ssh.
#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <iostream>
#include <thread>

#include "base/text.h"
#include "fleet/fleet.h"

int main(int argc, char** argv) {
  using namespace railbed;
  fleet::FleetOptions options;
  options.as_root = argc > 1 && std::string_view(argv[1]) == "--root";
  if (options.as_root) {
    std::getline(std::cin, options.sudo_password);
    ++argv;
    --argc;
  }
  if (argc < 7) return kExitUsage;
  // Blocked here and in all threads except the one below, which receives it, as in a program that handles
  // Ctrl-C.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::stop_source stop;
  std::thread([signals, stop]() mutable {
    int number = 0;
    sigwait(&signals, &number);
    stop.request_stop();
  }).detach();

  options.binary = argv[1];
  options.ssh_config = argv[2];
  const std::chrono::milliseconds deadline(parse_number<int>(argv[3]).value_or(0));
  std::vector<fleet::Target> targets;
  for (int i = 6; i < argc; ++i) targets.push_back({argv[i], argv[i], std::string_view(argv[i]) == "here"});
  fleet::Fleet fleet(std::move(targets), options);
  bool failed = false;
  for (const auto& answer : fleet::gather(fleet, argv[4], argv[5], deadline, stop.get_token())) {
    std::string text = answer.result ? *answer.result : answer.result.error().text;
    std::replace(text.begin(), text.end(), '\n', ' ');
    fmt::print("{} {} {}\n", answer.node, answer.result ? "ok" : "failed", text);
    failed |= !answer.result;
  }
  std::fflush(stdout);
  return failed ? kExitCouldNotLook : kExitClean;
}
