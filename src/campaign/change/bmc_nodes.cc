#include "campaign/change/bmc_nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <thread>

#include "base/text.h"

namespace railbed {
namespace {

std::vector<const Node*> chosen(const Cluster& cluster, const Names& names) {
  std::vector<const Node*> nodes;
  for (const Node& node : cluster.nodes)
    if (names.contains(node.name)) nodes.push_back(&node);
  return nodes;
}

// Calls work(i) for each node in up to `parallelism` threads, and reports the number of finished ones as
// progress.
void each_node_at_once(std::size_t count, std::size_t parallelism, std::string_view doing,
                       const Caller& caller, const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  std::size_t done = 0;
  const auto run = [&] {
    for (std::size_t i; !caller.stop.stop_requested() && (i = next++) < count;) {
      work(i);
      const std::lock_guard lock(mutex);
      caller.progress(fmt::format("{}: {}/{} BMCs", doing, ++done, count));
    }
  };
  {
    std::vector<std::jthread> workers;
    for (std::size_t i = 0; i < std::min(std::max<std::size_t>(1, parallelism), count); ++i)
      workers.emplace_back(run);
  }
  caller.progress("");
}

// Factory logins by maker; `maker` is a part of the name that the BMC reports.
struct DefaultLogin {
  std::string_view maker;
  std::string_view user;
  std::string_view password;
};
constexpr std::array kDefaultLogins = {
    DefaultLogin{"Super Micro", "ADMIN", "ADMIN"},  // until 2019; ended by California's SB-327
    DefaultLogin{"Supermicro", "ADMIN", "ADMIN"},
    DefaultLogin{"Dell", "root", "calvin"},  // iDRAC user's guide, "default user name and password"
    DefaultLogin{"DELL", "root", "calvin"},
    DefaultLogin{"Lenovo", "USERID",
                 // XClarity controller user's guide, "login for the first time".
                 "PASSW0RD"},
    DefaultLogin{"IBM", "USERID", "PASSW0RD"},
    DefaultLogin{"", "admin",
                 // American Megatrends' MegaRAC, as ASUS, Gigabyte, Tyan and Quanta ship it.
                 "admin"},
};

bool is_login(const BmcLogin& login, const DefaultLogin& default_login) {
  return login.user == default_login.user && login.password == default_login.password;
}

// Tests the factory login. Makes at most one attempt, so that no BMC locks an account.
Reading<std::string> try_default_login(const BmcTarget& target, BmcProtocol protocol,
                                       const BmcOptions& options, const BmcFacts& facts) {
  for (const DefaultLogin& login : kDefaultLogins)
    if (is_login(target.login, login)) return {std::string(login.user), "the login that it was asked with"};
  const std::string maker = facts.device.ok() ? facts.device->manufacturer : "";
  const auto* one = std::ranges::find_if(kDefaultLogins, [&](const DefaultLogin& login) {
    return maker.find(login.maker) != std::string::npos;
  });
  BmcTarget other = target;
  other.login = {std::string(one->user), std::string(one->password)};
  other.access.protocol = protocol;
  const std::string from = fmt::format("one login as {} at {}", one->user, target.address);
  const auto bmc = open_bmc(std::move(other), options);
  if (!bmc) return {Miss{Missing::kTimeout, bmc.error().text}, from};
  const auto answer = (*bmc)->power();
  if (answer.ok()) return {std::string(one->user), from};
  if (answer.miss().missing == Missing::kDenied) return {std::string(), from};
  return {answer.miss(), from};
}

// Returns the first failed reading among those requested instead of the power state; null if all succeeded.
const Miss* missed(const BmcFacts& facts, const BmcQuestions& questions) {
  if (questions.sensors && !facts.sensors.ok()) return &facts.sensors.miss();
  if (questions.events && !facts.events.ok()) return &facts.events.miss();
  return nullptr;
}

// Returns the power state, which explains why another reading failed: if a BMC falls silent in the middle of
// a session, FreeIPMI's programs for sensors and events only report an internal error. A BMC that timed out
// or refused the login is not tried again.
Reading<PowerState> why_missed(Bmc& bmc, const BmcTarget& target, const Miss& miss) {
  const bool is_told = miss.missing == Missing::kTimeout || miss.missing == Missing::kDenied;
  if (is_told) return {miss, "IPMI or HTTPS at " + target.address};
  auto power = bmc.power();
  const bool is_silent = !power.ok() && power.miss().missing == Missing::kTimeout;
  if (is_silent) return {Miss{Missing::kTimeout, "its BMC stopped answering"}, power.from()};
  return power;
}

void ask_further(Bmc& bmc, const BmcQuestions& questions, BmcFacts& facts) {
  if (questions.device) facts.device = bmc.device();
  if (questions.sensors) facts.sensors = bmc.sensors();
  if (questions.events) facts.events = bmc.events();
  if (questions.clock) facts.clock_offset = bmc.clock_offset();
  if (questions.serial) facts.serial = bmc.serial();
  if (questions.log) facts.log = bmc.log();
  if (questions.lan) facts.lan = bmc.lan();
}

BmcFacts ask(const BmcTarget& target, const BmcOptions& options, const BmcQuestions& questions) {
  BmcFacts facts{.node = target.node, .address = target.address};
  const auto opened = open_bmc(target, options);
  if (!opened) {
    facts.error = opened.error().text;
    facts.power = {Miss{Missing::kTimeout, facts.error}, "IPMI and HTTPS at " + target.address};
    return facts;
  }
  Bmc& bmc = **opened;
  if (questions.power) facts.power = bmc.power();
  // Each further request to a silent BMC would only wait as long again.
  if (facts.power.ok() || !questions.power) ask_further(bmc, questions, facts);
  const Miss* const miss = questions.power ? nullptr : missed(facts, questions);
  if (miss) facts.power = why_missed(bmc, target, *miss);
  const BmcProtocol protocol = bmc.protocol();
  facts.protocol = enum_names(protocol)[static_cast<std::size_t>(protocol)];
  facts.cipher = bmc.cipher();
  if ((questions.power || miss) && !facts.power.ok()) {
    facts.error = facts.power.miss().why;
    return facts;
  }
  if (questions.default_login) facts.default_login = try_default_login(target, protocol, options, facts);
  return facts;
}

}  // namespace

Result<BmcTarget> target_of(const Cluster& cluster, const Node& node, const BmcReach& reach) {
  if (!node.bmc)
    return fail(ErrorKind::kBadInput,
                fmt::format("{} gives it no `bmc`, the address of its BMC", cluster.file));
  const BmcLogin* login = reach.logins.find(node.name);
  if (login == nullptr) return fail(ErrorKind::kBadInput, "the password file names no login for its BMC");
  return BmcTarget{node.name, *node.bmc, cluster.bmc, *login, reach.certificates.find(node.name)};
}

std::vector<BmcFacts> look_at_bmcs(const Cluster& cluster, const Names& names, const BmcQuestions& questions,
                                   const BmcReach& reach, const Caller& caller) {
  const auto nodes = chosen(cluster, names);
  std::vector<BmcFacts> looks(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i)
    looks[i] = {.node = nodes[i]->name, .error = "not asked: stopped", .address = nodes[i]->bmc.value_or("")};
  each_node_at_once(nodes.size(), reach.parallelism, "asking BMCs", caller, [&](std::size_t i) {
    if (const auto target = target_of(cluster, *nodes[i], reach))
      looks[i] = ask(*target, reach.options, questions);
    else
      looks[i].error = target.error().text;
  });
  return looks;
}

BmcFacts look_at_own_bmc(const std::string& node, const BmcQuestions& questions, const BmcOptions& options) {
  BmcFacts facts{.node = node, .address = "/dev/ipmi0", .protocol = "ipmi"};
  const auto bmc = open_own_ipmi(options);
  facts.power = bmc->power();
  if (facts.power.ok())
    ask_further(*bmc, questions, facts);
  else
    facts.error = facts.power.miss().why;
  return facts;
}

std::vector<BmcFacts> wait_for_power(const Cluster& cluster, const Names& names, PowerState wanted,
                                     std::chrono::seconds patience, const BmcReach& reach,
                                     const Caller& caller) {
  const auto until = std::chrono::steady_clock::now() + patience;
  Names waiting = names;
  while (true) {
    std::vector<BmcFacts> others;
    for (BmcFacts& facts : look_at_bmcs(cluster, waiting, {}, reach, caller))
      if (!facts.power.ok() || *facts.power != wanted) others.push_back(std::move(facts));
    if (others.empty() || caller.stop.stop_requested() || std::chrono::steady_clock::now() >= until)
      return others;
    waiting.clear();
    for (const BmcFacts& facts : others) waiting.insert(facts.node);
    std::this_thread::sleep_for(std::chrono::seconds(1));
  }
}

std::vector<BmcChange> change_bmcs(const Cluster& cluster, const Names& names, std::string_view doing,
                                   const std::function<Result<void>(Bmc&)>& change, const BmcReach& reach,
                                   const Caller& caller) {
  const auto nodes = chosen(cluster, names);
  std::vector<BmcChange> changes(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) changes[i] = {nodes[i]->name, "not done: stopped"};
  each_node_at_once(nodes.size(), reach.parallelism, doing, caller, [&](std::size_t i) {
    auto target = target_of(cluster, *nodes[i], reach);
    const auto opened = target ? open_bmc(std::move(*target), reach.options) : fail(target.error());
    const Result<void> done = opened ? change(**opened) : fail(opened.error());
    changes[i].error = done ? "" : done.error().text;
  });
  return changes;
}

std::vector<ShownCertificate> show_certificates(const Cluster& cluster, const Names& names,
                                                const BmcReach& reach, const Caller& caller) {
  const auto nodes = chosen(cluster, names);
  std::vector<ShownCertificate> shown(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i)
    shown[i] = {.node = nodes[i]->name, .error = "not asked: stopped"};
  each_node_at_once(nodes.size(), reach.parallelism, "certificates", caller, [&](std::size_t i) {
    const Node& node = *nodes[i];
    if (!node.bmc) {
      shown[i].error = fmt::format("{} gives it no `bmc`, the address of its BMC", cluster.file);
      return;
    }
    shown[i] = show_certificate(node.name, *node.bmc, reach.options.silence, reach.options.stop);
    const std::string trusted = reach.certificates.find(node.name).key;
    if (!shown[i].error.empty() || trusted.empty()) return;
    shown[i].expected = shown[i].key == trusted;
    shown[i].changed = !shown[i].expected;
  });
  return shown;
}

}  // namespace railbed
