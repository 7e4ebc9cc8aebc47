#include "bench/verbs/message_slots.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

namespace railbed {
namespace {

// Sends without a network: numbers each message and copies it where an RDMA write would put it.
struct Pair {
  Pair(std::size_t message_bytes, int queue_pairs, int most_slots, int mtu = 1024)
      : from(1 << 16),
        to(1 << 16),
        sender(from, message_bytes, queue_pairs, most_slots, mtu, 99),
        receiver(to, message_bytes, queue_pairs, most_slots, mtu, 99),
        messages(static_cast<std::size_t>(queue_pairs)) {
    sender.fill();
    receiver.poison();
  }
  void write(int qp) {
    const std::uint64_t message = messages[static_cast<std::size_t>(qp)]++;
    sender.number(qp, message);
    const auto bytes = sender.slot(qp, message);
    std::memcpy(to.data() + receiver.offset(qp, message), bytes.data(), bytes.size());
  }
  std::vector<std::byte> from;
  std::vector<std::byte> to;
  MessageSlots sender;
  MessageSlots receiver;
  std::vector<std::uint64_t> messages;
};

TEST(MessageSlots, WhatWasWrittenChecksOut) {
  for (const std::size_t size : {1u, 7u, 8u, 15u, 16u, 100u, 1024u, 1025u, 4096u, 10000u}) {
    Pair pair(size, 2, 4);
    ASSERT_GE(pair.sender.count(), 1) << size;
    for (int i = 0; i < 11; ++i) pair.write(i % 3 == 0 ? 1 : 0);
    const auto check = pair.receiver.check(pair.messages);
    EXPECT_EQ(check.wrong, 0u) << size;
    EXPECT_GT(check.checked, 0u) << size;
  }
}

TEST(MessageSlots, UnusedSlotsAreNotCounted) {
  Pair pair(100, 2, 4);
  pair.write(0);
  EXPECT_EQ(pair.receiver.check(pair.messages).checked, 100u);
  for (int i = 0; i < 100; ++i) pair.write(0);
  EXPECT_EQ(pair.receiver.check(pair.messages).checked, 400u);
}

TEST(MessageSlots, MessageThatNeverArrivedIsSeen) {
  Pair pair(4096, 1, 4);
  for (int i = 0; i < 8; ++i) pair.write(0);
  ++pair.messages[0];  // the sender counts one more: its slot still holds an older message, all pattern right
  EXPECT_GT(pair.receiver.check(pair.messages).wrong, 0u);
}

TEST(MessageSlots, OnePacketThatNeverArrivedIsSeen) {
  Pair pair(4096, 1, 1, 1024);
  pair.write(0);
  std::vector<std::byte> third(pair.to.begin() + 2048, pair.to.begin() + 3072);
  pair.write(0);
  std::copy(third.begin(), third.end(), pair.to.begin() + 2048);  // as if the new one had been lost
  EXPECT_GT(pair.receiver.check(pair.messages).wrong, 0u);
}

TEST(MessageSlots, OneFlippedBitIsOneWrongByte) {
  Pair pair(4096, 2, 4);
  for (int i = 0; i < 8; ++i) pair.write(i % 2);
  pair.to[pair.receiver.offset(1, 2) + 3000] ^= std::byte{1};
  EXPECT_EQ(pair.receiver.check(pair.messages).wrong, 1u);
}

TEST(MessageSlots, NothingWrittenIsAllWrong) {
  Pair pair(4096, 1, 4);
  pair.messages[0] = 4;
  EXPECT_GT(pair.receiver.check(pair.messages).wrong, 4u * 4000);
}

TEST(MessageSlots, TooLargeMessagesHaveNoSlot) {
  std::vector<std::byte> memory(4096);
  EXPECT_EQ(MessageSlots(memory, 4097, 1, 128, 1024, 0).count(), 0);
  EXPECT_EQ(MessageSlots(memory, 4096, 2, 128, 1024, 0).count(), 0);
  EXPECT_EQ(MessageSlots(memory, 4096, 1, 128, 1024, 0).count(), 1);
  EXPECT_EQ(MessageSlots(memory, 64, 1, 16, 1024, 0).count(), 16);
}

TEST(MessageSlots, WhatWasReadChecksOutAndWhatWasNotDoesNot) {
  Pair pair(5000, 2, 4);
  const auto read = [&](std::uint64_t message) {
    pair.receiver.poison(1, message);
    std::memcpy(pair.receiver.slot(1, message).data(), pair.sender.slot(1, message).data(), 5000);
  };
  for (std::uint64_t message = 0; message < 6; ++message) read(message);
  EXPECT_EQ(pair.receiver.check(std::vector<std::uint64_t>{0, 6}, true).wrong, 0u);
  pair.receiver.poison(1, 6);  // posted, and never arrived
  EXPECT_GT(pair.receiver.check(std::vector<std::uint64_t>{0, 7}, true).wrong, 0u);
}

TEST(MessageSlots, DatagramsAreToldByTheirNumber) {
  for (const std::size_t size : {8u, 15u, 16u, 17u, 100u, 1024u}) {
    Pair pair(size, 1, 4);
    const MessageSlots twin = pair.sender;
    for (const std::uint64_t message : {0u, 3u, 9u}) {
      pair.sender.number(0, message);
      std::vector<std::byte> got(pair.sender.slot(0, message).begin(), pair.sender.slot(0, message).end());
      const auto good = pair.receiver.check_datagram(0, got, twin, true);
      EXPECT_EQ(good.checked, size) << size;
      EXPECT_EQ(good.wrong, 0u) << size;
      if (size < 16) continue;
      got[size / 2] ^= std::byte{1};
      EXPECT_EQ(pair.receiver.check_datagram(0, got, twin, true).wrong, 1u) << size;
    }
  }
  Pair pair(64, 1, 4);
  EXPECT_EQ(pair.receiver.check_datagram(0, std::vector<std::byte>(63), pair.sender, false).wrong, 64u);
}

}  // namespace
}  // namespace railbed
