#include "bmc/login.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <vector>

#include "base/fd.h"
#include "base/files.h"
#include "base/shell.h"
#include "base/text.h"
#include "base/wipe.h"
#include "inventory/hostlist.h"

namespace railbed {
namespace {

constexpr std::size_t kMaxFile = 1 << 20;

// True if a program's configuration can hold the text in one line.
bool is_typed(std::string_view text) {
  return !text.empty() &&
         std::ranges::none_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

std::optional<std::string> why_no_login(const BmcLogin& login) {
  if (!is_typed(login.user) || login.user.size() > kMaxBmcUser)
    return fmt::format("a BMC's user has 1 to {} characters", kMaxBmcUser);
  if (!is_typed(login.password) || login.password.size() > kMaxBmcPassword)
    return fmt::format("a BMC's password has 1 to {} characters", kMaxBmcPassword);
  return std::nullopt;
}

struct LoginLine {
  std::size_t number = 0;
  std::string_view text;
};

std::vector<LoginLine> said_lines(std::string_view text) {
  std::vector<LoginLine> said;
  std::size_t number = 0;
  for (const std::string_view line : lines(text)) {
    ++number;
    if (const auto trimmed = trim(line); !trimmed.empty() && !trimmed.starts_with('#'))
      said.push_back({number, trimmed});
  }
  return said;
}

// Returns the first word and removes it from `rest`.
std::string_view take_word(std::string_view& rest) {
  const std::size_t end = std::min(rest.find_first_of(" \t"), rest.size());
  const std::string_view word = rest.substr(0, end);
  rest = trim(rest.substr(end));
  return word;
}

}  // namespace

BmcLogins::~BmcLogins() {
  for (auto& [node, login] : logins_) wipe(login.password);
}

Result<BmcLogins> BmcLogins::of_all(const Cluster& cluster, const std::string& user,
                                    const std::string& password) {
  const BmcLogin login{user, password};
  if (user.empty())
    return fail(ErrorKind::kBadInput,
                fmt::format("{} names no user of the BMCs: say `bmc: {{user: …}}` there, or "
                            "--user",
                            cluster.file));
  if (const auto why = why_no_login(login)) return fail(ErrorKind::kBadInput, *why);
  BmcLogins logins;
  for (const Node& node : cluster.nodes) logins.logins_.emplace(node.name, login);
  return logins;
}

Result<BmcLogins> BmcLogins::parse(std::string_view text, std::string_view file, const Cluster& cluster) {
  const std::vector<LoginLine> said = said_lines(text);
  if (said.empty()) return fail(ErrorKind::kBadInput, fmt::format("{} holds no password", file));
  if (said.size() == 1 && words(said[0].text).size() == 1)
    return of_all(cluster, cluster.bmc.user, std::string(said[0].text));
  BmcLogins logins;
  for (const auto& [number, line] : said) {
    const auto refuse = [&, at = number](std::string_view why) {
      return fail(ErrorKind::kBadInput, fmt::format("{}:{}: {}", file, at, why));
    };
    std::string_view rest = line;
    const std::string_view nodes = take_word(rest);
    const std::string_view user = take_word(rest);
    const BmcLogin login{std::string(user), std::string(rest)};
    if (rest.empty()) return refuse("expected NODES USER PASSWORD");
    if (const auto why = why_no_login(login)) return refuse(*why);
    const auto names = expand_hostlists(nodes, kMostHosts);
    if (!names) return refuse("the nodes are no name and no list like gpu[01-08],nas");
    for (const std::string& name : *names) {
      if (find_node(cluster, name) == nullptr)
        return refuse(fmt::format("{} knows no node of that name", cluster.file));
      logins.logins_[name] = login;
    }
  }
  return logins;
}

const BmcLogin* BmcLogins::find(std::string_view node) const {
  const auto found = logins_.find(node);
  return found == logins_.end() ? nullptr : &found->second;
}

Result<std::string> read_secret_file(const std::string& path) {
  struct stat status = {};
  if (stat(path.c_str(), &status) != 0)
    return fail(ErrorKind::kBadInput, fmt::format("{}: {}", path, std::strerror(errno)));
  if ((status.st_mode & 077) != 0)
    return fail(ErrorKind::kBadInput,
                fmt::format("{} holds passwords, and others than its owner can reach it (mode "
                            "{:04o}): {}",
                            path, status.st_mode & 07777, command("chmod 600 {}", path).text()));
  if (status.st_uid != geteuid() && status.st_uid != 0)
    return fail(ErrorKind::kBadInput, fmt::format("{} belongs to another user, who can change it", path));
  auto text = read_file(path, kMaxFile);
  if (!text) return fail(ErrorKind::kBadInput, text.error().text);
  return text;
}

}  // namespace railbed
