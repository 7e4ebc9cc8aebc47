#include "campaign/look/cables.h"

#include <fmt/format.h>
#include <net/if.h>

#include <algorithm>
#include <set>

#include "base/bounded.h"
#include "base/json.h"
#include "base/random.h"
#include "base/text.h"
#include "base/wording.h"
#include "bench/core/typed.h"
#include "os/link_tokens.h"
#include "os/neighbours.h"

namespace railbed {
namespace {

constexpr int kLongestHearing = 60000;  // milliseconds
constexpr std::size_t kMostLinks = 256;
constexpr std::size_t kMostKnown = 100000;
constexpr std::chrono::seconds kHearMargin{15};

bool names_interface(std::string_view name) {
  return !name.empty() && name.size() < IF_NAMESIZE && name != "." && name != ".." &&
         name.find('/') == std::string_view::npos;
}

Result<void> check_question(const LinksQuestion& question) {
  const bool sound = question.links.size() <= kMostLinks && question.known.size() <= kMostKnown &&
                     question.milliseconds >= 0 && question.milliseconds <= kLongestHearing &&
                     std::ranges::all_of(question.links, [](const ListeningLink& link) {
                       return names_interface(link.interface) &&
                              (link.token.empty() || link.token.size() == 2 * kLinkTokenBytes);
                     });
  if (!sound) return fail(ErrorKind::kBadInput, "at most 256 interfaces, each with a token, for up to 60 s");
  return {};
}

void read_state(LinkSeen& link) {
  const InterfaceState state = interface_state(link.interface);
  link.there = state.there;
  link.up = state.up;
  link.carrier = state.carrier;
  link.ipv6_off = state.ipv6_off;
  link.largest_mtu = state.largest_mtu;
}

void take_heard(LinkTokensHeard&& heard, LinkSeen& link) {
  link.sent = heard.sent;
  link.error = std::move(heard.error);
  link.heard.assign(heard.digests.begin(), heard.digests.end());
  link.own.assign(heard.own.begin(), heard.own.end());
  link.answered.assign(heard.answered.begin(), heard.answered.end());
  link.foreign = heard.foreign;
}

Result<LinksAnswer> hear_links(const LinksQuestion& question, const std::stop_token& stop) {
  RETURN_IF_ERROR(check_question(question));
  LinksAnswer answer;
  LinkTokensResult result;
  if (question.milliseconds > 0) {
    std::vector<LinkToken> own;
    for (const ListeningLink& link : question.links)
      if (!link.token.empty()) own.push_back({link.interface, link.token});
    result = exchange_link_tokens(own, {question.known.begin(), question.known.end()},
                                  std::chrono::milliseconds(question.milliseconds), stop);
    answer.routes = routed_subnets();
  }
  // Reads the state after the exchange, because a link may come up during it.
  for (const ListeningLink& asked : question.links) {
    LinkSeen link{.interface = asked.interface};
    read_state(link);
    if (const auto found = result.interfaces.find(asked.interface); found != result.interfaces.end())
      take_heard(std::move(found->second), link);
    else
      link.error = result.error;
    answer.links.push_back(std::move(link));
  }
  return answer;
}

// The ports of digests and of link-local addresses.
struct CableBook {
  std::map<std::string, CablePort> tokens;  // by digest
  std::map<IpAddress, CablePort> addresses;
  std::set<IpAddress> shared;  // addresses of several ports, as of cloned machines: they show nothing
};

void add_addresses(const std::string& node, const LinksAnswer& answer, CableBook& book) {
  for (const LinkSeen& link : answer.links)
    for (const IpAddress& address : link.own)
      if (!book.addresses.emplace(address, CablePort{node, link.interface}).second)
        book.shared.insert(address);
}

ListeningPort end_of(const CableAsk& ask, const LinkSeen& link, const CableBook& book) {
  ListeningPort end{.port = ask.port, .management = ask.management};
  end.ipv6_off = link.ipv6_off;
  end.largest_mtu = link.largest_mtu;
  end.sent = link.sent;
  end.error = link.there ? link.error : "there is no such interface now";
  end.foreign = link.foreign;
  if (link.there) end.up = link.up;
  if (link.up) end.carrier = link.carrier;
  for (const std::string& digest : link.heard)
    if (const auto found = book.tokens.find(digest); found != book.tokens.end() && found->second != ask.port)
      end.heard.push_back(found->second);
  for (const IpAddress& address : link.answered) {
    if (book.shared.contains(address)) continue;
    const auto found = book.addresses.find(address);
    if (found == book.addresses.end())
      ++end.strangers;
    else if (found->second != ask.port)
      end.answered.push_back(found->second);
  }
  return end;
}

std::string lldp_hint(const Facts& facts, std::string_view interface) {
  for (const LldpNeighbour& neighbour : items(facts.net.lldp))
    if (neighbour.interface == interface)
      return cut_to(
          fmt::format("{} {}", neighbour.name.empty() ? neighbour.chassis : neighbour.name, neighbour.port),
          100);
  return "";
}

}  // namespace

Handlers link_handlers() {
  Handlers handlers;
  handlers.emplace(kLinksHear,
                   typed_handler<LinksQuestion>([](const LinksQuestion& question, std::stop_token stop) {
                     return hear_links(question, stop);
                   }));
  return handlers;
}

Result<CablesSeen> look_at_cables(fleet::Fleet& fleet, const std::vector<CableAsk>& asks,
                                  const std::map<std::string, Facts>& facts,
                                  std::chrono::milliseconds duration, const Caller& caller) {
  std::map<std::string, LinksQuestion> questions;
  CableBook book;
  for (const CableAsk& ask : asks) {
    const std::string token = random_hex(kLinkTokenBytes);
    book.tokens.emplace(link_token_digest(token), ask.port);
    questions[ask.port.node].links.push_back({ask.port.interface, token});
  }
  std::map<std::string, std::string> payloads;
  for (auto& [node, question] : questions) {
    for (const auto& [digest, port] : book.tokens) question.known.push_back(digest);
    question.milliseconds = static_cast<int>(duration.count());
    payloads.emplace(node, json::dump(json::encode(question)));
  }
  const auto payload_of = [&](const std::string& node) {
    const auto found = payloads.find(node);
    return found == payloads.end() ? std::string("{}") : found->second;
  };
  caller.progress("listening at the ports");
  std::map<std::string, LinksAnswer> answers;
  std::map<std::string, std::string> errors;
  for (const fleet::Answer& answer : fleet::gather(
           fleet, kLinksHear, [&](const std::string& node) { return payload_of(node); },
           duration + kHearMargin, caller.stop)) {
    auto links = answer.result ? json::read<LinksAnswer>(*answer.result)
                               : Result<LinksAnswer>(fail(answer.result.error()));
    if (links)
      answers.emplace(answer.node, *std::move(links));
    else
      errors.emplace(answer.node, without_node(links.error()));
  }
  caller.progress("");
  if (caller.stop.stop_requested()) return fail(ErrorKind::kCancelled, "interrupted; nothing was written");
  CablesSeen seen{.udp_port = kLinkTokenPort};
  for (const auto& [node, answer] : answers) {
    add_addresses(node, answer, book);
    seen.routes[node] = answer.routes;
  }
  for (const CableAsk& ask : asks) {
    const auto answer = answers.find(ask.port.node);
    const LinkSeen* link = nullptr;
    if (answer != answers.end())
      for (const LinkSeen& one : answer->second.links)
        if (one.interface == ask.port.interface) link = &one;
    ListeningPort end =
        link == nullptr
            ? ListeningPort{.port = ask.port, .management = ask.management, .error = errors[ask.port.node]}
            : end_of(ask, *link, book);
    if (const auto found = facts.find(ask.port.node); found != facts.end())
      end.lldp = lldp_hint(found->second, ask.port.interface);
    seen.ends.push_back(std::move(end));
  }
  return seen;
}

std::vector<CablePort> without_carrier(fleet::Fleet& fleet, const std::vector<CablePort>& ports,
                                       const std::stop_token& stop) {
  std::map<std::string, LinksQuestion> questions;
  for (const CablePort& port : ports) questions[port.node].links.push_back({port.interface, ""});
  const auto payload_of = [&](const std::string& node) {
    const auto found = questions.find(node);
    return found == questions.end() ? std::string("{}") : json::dump(json::encode(found->second));
  };
  std::set<CablePort> missing(ports.begin(), ports.end());
  for (const fleet::Answer& answer : fleet::gather(
           fleet, kLinksHear, [&](const std::string& node) { return payload_of(node); }, kHearMargin, stop)) {
    const auto links = answer.result ? json::read<LinksAnswer>(*answer.result)
                                     : Result<LinksAnswer>(fail(answer.result.error()));
    if (!links) continue;
    for (const LinkSeen& link : links->links)
      if (link.carrier) missing.erase({answer.node, link.interface});
  }
  return {missing.begin(), missing.end()};
}

}  // namespace railbed
