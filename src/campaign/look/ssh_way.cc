#include "campaign/look/ssh_way.h"

#include <fmt/format.h>
#include <netdb.h>
#include <sys/socket.h>

#include <chrono>
#include <memory>
#include <utility>

#include "base/text.h"
#include "fleet/frame.h"
#include "os/process.h"

namespace railbed {
namespace {

constexpr std::chrono::seconds kWayDeadline{10};  // ssh -G contacts only a name server

std::string first_line(std::string_view text) {
  const auto found = lines(text);
  return found.empty() ? "" : fleet::quotable(trim(found.front()));
}

std::vector<IpAddress> resolve(const std::string& name) {
  addrinfo wanted = {};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* first = nullptr;
  if (getaddrinfo(name.c_str(), nullptr, &wanted, &first) != 0) return {};
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(first, freeaddrinfo);
  std::vector<IpAddress> found;
  for (const addrinfo* one = first; one != nullptr; one = one->ai_next) {
    char text[NI_MAXHOST] = {};
    if (getnameinfo(one->ai_addr, one->ai_addrlen, text, sizeof text, nullptr, 0, NI_NUMERICHOST) != 0)
      continue;
    if (const auto address = IpAddress::parse(text)) found.push_back(*address);
  }
  return found;
}

}  // namespace

Result<fleet::SshWay> ssh_way(const ReachOptions& reach, const std::string& destination,
                              std::stop_token stop) {
  std::vector<std::string> command = {reach.ssh_program};
  if (!reach.ssh_config.empty()) command.insert(command.end(), {"-F", reach.ssh_config});
  command.insert(command.end(), reach.ssh_options.begin(), reach.ssh_options.end());
  command.insert(command.end(), {"-G", "--", destination});
  const auto said = run_program(command, kWayDeadline, std::move(stop));
  if (!said) return fail(ErrorKind::kUnavailable, "ssh -G: " + said.miss().why);
  if (said->exit_code != 0) return fail(ErrorKind::kUnavailable, "ssh -G: " + first_line(said->error_output));
  return fleet::parse_ssh_way(said->output);
}

std::vector<IpAddress> ssh_addresses(const ReachOptions& reach, const std::string& destination,
                                     std::stop_token stop) {
  const auto way = ssh_way(reach, destination, std::move(stop));
  return way ? resolve(way->host) : std::vector<IpAddress>();
}

}  // namespace railbed
