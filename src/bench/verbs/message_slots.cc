// Checks data without reading it during the timed run: after the run, memory must show which messages
// arrived, and in which order. Message n of a queue pair goes to slot n mod slots in each end's memory.
// Before the run the sender fills its slots with pseudo-random bytes, each slot with another seed, and the
// receiver fills its own with bytes that no run sends (the poison). During the run the sender only writes the
// message's number into the slot, once for each packet and at the end, because an adapter may lose or repeat
// a packet, but not a byte.
//
// After the run the receiver gets the number of messages. It determines the last message of every slot, which
// must be there: with the body as filled and its number in each packet. A message that never arrived leaves
// an older number or the poison, one that arrived twice or late leaves an older number, one in the wrong
// place leaves the wrong body. Only the last message of each slot can be checked, because it overwrites the
// ones before.
#include "bench/verbs/message_slots.h"

#include <algorithm>
#include <cstring>

#include "bench/core/pattern.h"

namespace railbed {
namespace {

constexpr std::size_t kCacheLine = 64;  // slots do not share cache lines

void put(std::span<std::byte> bytes, std::size_t at, std::uint64_t word) {
  std::memcpy(bytes.data() + at, &word, std::min(sizeof word, bytes.size() - at));
}

}  // namespace

MessageSlots::MessageSlots(std::span<std::byte> memory, std::size_t message_bytes, int queue_pairs,
                           int most_slots, int mtu, std::uint64_t seed)
    : memory_(memory),
      message_bytes_(message_bytes),
      stride_((message_bytes + kCacheLine - 1) / kCacheLine * kCacheLine),
      queue_pairs_(queue_pairs),
      count_(static_cast<int>(
          std::min<std::size_t>(static_cast<std::size_t>(most_slots),
                                memory.size() / stride_ / static_cast<std::size_t>(queue_pairs)))),
      packet_(static_cast<std::size_t>(mtu)),
      seed_(seed) {}

std::size_t MessageSlots::offset(int queue_pair, std::uint64_t message) const {
  const auto count = static_cast<std::size_t>(count_);
  return (static_cast<std::size_t>(queue_pair) * count + message % count) * stride_;
}

std::uint64_t MessageSlots::slot_seed(int queue_pair, int slot) const {
  return scramble(seed_ ^ (static_cast<std::uint64_t>(queue_pair) << 32) ^ static_cast<std::uint64_t>(slot));
}

void MessageSlots::stamp(std::span<std::byte> bytes, std::uint64_t message) const {
  const std::uint64_t word = message ^ seed_;
  for (std::size_t at = 0; at < bytes.size(); at += packet_) put(bytes, at, word);
  if (bytes.size() >= 2 * sizeof word) put(bytes, bytes.size() - sizeof word, word);
}

void MessageSlots::fill() const {
  for (int qp = 0; qp < queue_pairs_; ++qp)
    for (int i = 0; i < count_; ++i) {
      fill_pattern(slot(qp, static_cast<std::uint64_t>(i)), slot_seed(qp, i));
      number(qp, static_cast<std::uint64_t>(i));
    }
}

void MessageSlots::number(int queue_pair, std::uint64_t message) const {
  stamp(slot(queue_pair, message), message);
}

void MessageSlots::poison() const {
  for (int qp = 0; qp < queue_pairs_; ++qp)
    for (int i = 0; i < count_; ++i) fill_pattern(slot(qp, static_cast<std::uint64_t>(i)), ~slot_seed(qp, i));
}

void MessageSlots::poison(int queue_pair, std::uint64_t message) const {
  stamp(slot(queue_pair, message), ~message);
}

MessageSlots::Check MessageSlots::check(std::span<const std::uint64_t> messages, bool as_filled) const {
  Check result;
  std::vector<std::byte> expected(message_bytes_);
  for (int qp = 0; qp < queue_pairs_ && static_cast<std::size_t>(qp) < messages.size(); ++qp) {
    const std::uint64_t sent = messages[static_cast<std::size_t>(qp)];
    const std::uint64_t used = std::min<std::uint64_t>(sent, static_cast<std::uint64_t>(count_));
    for (std::uint64_t message = sent - used; message < sent; ++message) {
      const auto index = static_cast<int>(message % static_cast<std::uint64_t>(count_));
      fill_pattern(expected, slot_seed(qp, index));
      stamp(expected, as_filled ? static_cast<std::uint64_t>(index) : message);
      result.wrong += count_wrong(slot(qp, message), expected);
      result.checked += expected.size();
    }
  }
  return result;
}

MessageSlots::Check MessageSlots::check_datagram(int queue_pair, std::span<const std::byte> got,
                                                 const MessageSlots& sender, bool whole) const {
  constexpr std::size_t kWord = sizeof(std::uint64_t);
  if (got.size() != message_bytes_) return {message_bytes_, message_bytes_};
  if (got.size() < kWord) return {};
  Check result{std::min(2 * kWord, got.size()), 0};
  std::uint64_t word = 0;
  std::memcpy(&word, got.data(), kWord);
  if (got.size() >= 2 * kWord) result.wrong = count_wrong(got.last(kWord), got.first(kWord));
  if (!whole || got.size() <= 2 * kWord) return result;
  const std::size_t body = got.size() - 2 * kWord;
  const auto expected = sender.slot(queue_pair, word ^ seed_);
  result.wrong += count_wrong(got.subspan(kWord, body), expected.subspan(kWord, body));
  result.checked += body;
  return result;
}

}  // namespace railbed
