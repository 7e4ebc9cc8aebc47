// How RDMA writes are laid out in memory and what they hold, so that the receiver can check them afterwards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace railbed {

// Each queue pair owns a ring of slots; its message n goes to slot n mod slots. A slot holds pseudo-random
// bytes of its own, and the number of the message stands at the start of each packet and at the end, so every
// packet of the last message can be told from those of an earlier one.
class MessageSlots {
 public:
  MessageSlots(std::span<std::byte> memory, std::size_t message_bytes, int queue_pairs, int most_slots,
               int mtu, std::uint64_t seed);

  // 0 when not even one message a queue pair fits.
  int count() const { return count_; }
  std::size_t offset(int queue_pair, std::uint64_t message) const;
  std::span<std::byte> slot(int queue_pair, std::uint64_t message) const {
    return memory_.subspan(offset(queue_pair, message), message_bytes_);
  }

  // Sender: fill every slot once, then number each message before it is posted. Until then a slot holds the
  // first message that would go to it: what is read from an end that does not know of it.
  void fill() const;
  void number(int queue_pair, std::uint64_t message) const;
  // Receiver: overwrite every slot with bytes that no run sends; only where the number goes, of one slot.
  void poison() const;
  void poison(int queue_pair, std::uint64_t message) const;

  struct Check {
    std::uint64_t checked = 0;
    std::uint64_t wrong = 0;
  };
  // Receiver: every slot must hold the last message of `messages[queue pair]` that went to it; `as_filled`:
  // the first.
  Check check(std::span<const std::uint64_t> messages, bool as_filled = false) const;
  // Receiver: a message of at most a packet that may be any of the run's. `sender` is filled as the other
  // end's is. Between the numbers at both ends `whole` messages only are compared.
  Check check_datagram(int queue_pair, std::span<const std::byte> got, const MessageSlots& sender,
                       bool whole) const;

 private:
  std::uint64_t slot_seed(int queue_pair, int slot) const;
  void stamp(std::span<std::byte> bytes, std::uint64_t message) const;

  std::span<std::byte> memory_;
  std::size_t message_bytes_;
  std::size_t stride_;
  int queue_pairs_;
  int count_;
  std::size_t packet_;
  std::uint64_t seed_;
};

}  // namespace railbed
