// The layout and the content of RDMA messages in memory, so that the receiver can check them after the run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace railbed {

// Each queue pair owns a ring of slots; its message n goes to slot n mod slots. A slot holds pseudo-random
// bytes of its own. The number of the message is at the start of each packet and at the end, so every packet
// of the last message differs from those of an earlier one.
class MessageSlots {
 public:
  MessageSlots(std::span<std::byte> memory, std::size_t message_bytes, int queue_pairs, int most_slots,
               int mtu, std::uint64_t seed);

  // Returns the number of slots of each queue pair; 0 if not even one fits.
  int count() const { return count_; }
  std::size_t offset(int queue_pair, std::uint64_t message) const;
  std::span<std::byte> slot(int queue_pair, std::uint64_t message) const {
    return memory_.subspan(offset(queue_pair, message), message_bytes_);
  }

  // Sender: fill() fills every slot once, number() numbers each message before it is posted. Before it is
  // numbered, a slot holds the first message that belongs to it. RDMA reads, which the sender does not
  // notice, get this one.
  void fill() const;
  void number(int queue_pair, std::uint64_t message) const;
  // Receiver: overwrites every slot with bytes that no run sends. The second form overwrites only the numbers
  // of one slot.
  void poison() const;
  void poison(int queue_pair, std::uint64_t message) const;

  struct Check {
    std::uint64_t checked = 0;
    std::uint64_t wrong = 0;
  };
  // Receiver: compares every used slot with the message that it must hold: the last of the first
  // `messages[queue pair]` messages that belongs to it; with `as_filled`, the first. Counts bytes.
  Check check(std::span<const std::uint64_t> messages, bool as_filled = false) const;
  // Receiver: checks a message of at most one packet, which may be any message of the run. `sender` must be
  // filled like the other end's slots. Compares the numbers at start and end; with `whole`, also the bytes
  // between them.
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
