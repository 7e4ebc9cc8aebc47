// Reads the queue disciplines that limit what an interface sends. iproute2's `tc -j qdisc show` prints their
// options in forms that differ by kind: rates in bytes a second, times in seconds, losses as shares.
#include <algorithm>
#include <initializer_list>

#include "base/json.h"
#include "facts/network/net.h"
#include "facts/readings.h"
#include "host/device_calls.h"

namespace railbed {
namespace {

// Returns the number at this path of keys; 0 if there is none (cake's "unlimited").
double number_at(const json::Value& value, std::initializer_list<const char*> keys) {
  const json::Value* at = &value;
  for (const char* key : keys) {
    const auto found = at->find(key);
    if (found == at->end()) return 0;
    at = &*found;
  }
  return at->is_number() ? std::max(at->get<double>(), 0.0) : 0;
}

std::string word_at(const json::Value& value, const char* key) {
  const auto found = value.find(key);
  return found != value.end() && found->is_string() ? found->get<std::string>() : "";
}

// Returns the limits of a queue discipline; nullopt if it has none.
std::optional<Shaper> shaper_of(const json::Value& queue) {
  constexpr double kBits = 8, kMilliseconds = 1000;
  Shaper shaper{word_at(queue, "dev"), word_at(queue, "kind"), 0, 0, 0};
  if (!is_device_name(shaper.interface, kLongestInterface)) return std::nullopt;
  if (shaper.kind == "htb" || shaper.kind == "hfsc" || shaper.kind == "cbq") return shaper;  // in its classes
  if (shaper.kind == "tbf") shaper.bits_per_second = kBits * number_at(queue, {"options", "rate"});
  if (shaper.kind == "cake") shaper.bits_per_second = kBits * number_at(queue, {"options", "bandwidth"});
  if (shaper.kind == "netem") {
    shaper.bits_per_second = kBits * number_at(queue, {"options", "rate", "rate"});
    shaper.delay_ms = kMilliseconds * number_at(queue, {"options", "delay", "delay"});
    shaper.loss = number_at(queue, {"options", "loss-random", "loss"});
  }
  const bool holds_back = shaper.bits_per_second > 0 || shaper.delay_ms > 0 || shaper.loss > 0;
  return holds_back ? std::optional(shaper) : std::nullopt;
}

// Kinds that only order packets. All other kinds have options, which only tc reports.
constexpr std::string_view kHarmless[] = {"noqueue", "pfifo_fast", "pfifo",    "bfifo", "mq",
                                          "mqprio",  "fq",         "fq_codel", "codel", "ingress",
                                          "clsact",  "noop",       "sfq"};

bool may_hold_back(const QueueAnswer& queue) {
  return std::ranges::find(kHarmless, queue.kind) == std::end(kHarmless);
}

bool none_holds_back(const Reading<std::string>& queues) {
  if (!queues) return false;
  const auto all = json::read<std::vector<QueueAnswer>>(*queues);
  return all && std::ranges::none_of(*all, may_hold_back);
}

}  // namespace

Reading<std::vector<Shaper>> collect_shapers(Host& host) {
  if (const auto queues = host.call("queues"); none_holds_back(queues))
    return {std::vector<Shaper>{}, queues.from()};
  return run_and_read(host, {"tc", "-j", "qdisc", "show"})
      .parsed([](const std::string& text) -> std::optional<std::vector<Shaper>> {
        const auto queues = json::parse(trim(text).empty() ? "[]" : text);
        if (!queues || !queues->is_array()) return std::nullopt;
        std::vector<Shaper> shapers;
        for (const json::Value& queue : *queues)
          if (auto shaper = shaper_of(queue); shaper && shapers.size() < kMostOfAKind)
            shapers.push_back(std::move(*shaper));
        return shapers;
      });
}

}  // namespace railbed
