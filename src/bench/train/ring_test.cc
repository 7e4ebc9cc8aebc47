#include "bench/train/ring.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cstring>
#include <thread>

#include "bench/core/pattern.h"

namespace railbed {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

constexpr milliseconds kPatience{20'000};

// The two ends of each rank: to the next, and from the one before.
struct Ends {
  Socket to_next;
  Socket from_previous;
};
std::vector<Ends> ends_of(int ranks) {
  std::vector<Ends> all(static_cast<std::size_t>(ranks));
  for (int i = 0; i < ranks; ++i) {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    all[static_cast<std::size_t>(i)].to_next = Socket(ends[0]);
    all[static_cast<std::size_t>((i + 1) % ranks)].from_previous = Socket(ends[1]);
  }
  return all;
}

Ring ring_of(int rank, int ranks, Ends ends, milliseconds patience = kPatience, std::stop_token stop = {}) {
  const Neighbours names{"node" + std::to_string((rank + 1) % ranks),
                         "node" + std::to_string((rank + ranks - 1) % ranks)};
  return Ring(rank, ranks, tcp_ring_links(std::move(ends.to_next), std::move(ends.from_previous), names),
              patience, std::move(stop));
}

// Runs `body(rank, ring)` on every rank at the same time.
template <class Body>
void on_every_rank(int ranks, Body body) {
  auto ends = ends_of(ranks);
  std::vector<std::jthread> threads;
  for (int i = 0; i < ranks; ++i)
    threads.emplace_back([&, i] {
      Ring ring = ring_of(i, ranks, std::move(ends[static_cast<std::size_t>(i)]));
      body(i, ring);
    });
}

template <class Word>
Word word_at(std::span<const std::byte> bytes, std::size_t index) {
  Word word;
  std::memcpy(&word, bytes.data() + index * sizeof word, sizeof word);
  return word;
}

template <class Word>
void expect_exact_sum(int ranks, std::size_t bytes) {
  std::vector<std::vector<std::byte>> inputs;
  for (int i = 0; i < ranks; ++i) inputs.push_back(make_pattern(bytes, static_cast<std::uint64_t>(i) + 1));
  std::vector<std::vector<std::byte>> outputs(inputs.size(), std::vector<std::byte>(bytes));
  on_every_rank(ranks, [&](int rank, Ring& ring) {
    const auto i = static_cast<std::size_t>(rank);
    EXPECT_TRUE(ring.all_reduce(inputs[i], outputs[i], sizeof(Word)));
  });
  for (std::size_t at = 0; at < bytes / sizeof(Word); ++at) {
    Word sum = 0;
    for (const auto& input : inputs) sum = static_cast<Word>(sum + word_at<Word>(input, at));
    for (const auto& output : outputs)
      ASSERT_EQ(word_at<Word>(output, at), sum) << ranks << " ranks, word " << at;
  }
}

TEST(Ring, SumsAreExactOnEveryRank) {
  for (const int ranks : {2, 3, 4, 7})
    for (const std::size_t bytes : {std::size_t{64}, std::size_t{64 * 5}, std::size_t{1 << 20}}) {
      expect_exact_sum<std::uint32_t>(ranks,
                                      bytes);  // fewer lines than ranks, too
      expect_exact_sum<std::uint16_t>(ranks, bytes);
    }
}

TEST(Ring, EverybodyDoesWhatTheFirstWants) {
  for (const bool wanted : {true, false})
    on_every_rank(3, [&](int rank, Ring& ring) {
      const auto agreed = ring.agree(rank == 0 ? wanted : !wanted);
      ASSERT_TRUE(agreed);
      EXPECT_EQ(*agreed, wanted);
    });
}

TEST(Ring, ANeighbourThatLeavesIsNamed) {
  auto ends = ends_of(3);
  ends[1] = {};
  Ring ring = ring_of(2, 3, std::move(ends[2]));
  EXPECT_FALSE(ring.agree(true));
  ASSERT_TRUE(ring.failure());
  EXPECT_THAT(ring.failure()->cause, HasSubstr("node1 closed the connection"));
}

TEST(Ring, ASilentNeighbourIsNamedAfterThePatience) {
  auto ends = ends_of(3);
  Ring ring = ring_of(2, 3, std::move(ends[2]), milliseconds(100));
  EXPECT_FALSE(ring.agree(true));
  EXPECT_THAT(ring.failure()->cause, HasSubstr("no data from node1 for 0.1 s"));
}

TEST(Ring, AStopEndsTheWait) {
  auto ends = ends_of(3);
  std::stop_source stop;
  stop.request_stop();
  Ring ring = ring_of(2, 3, std::move(ends[2]), kPatience, stop.get_token());
  EXPECT_FALSE(ring.agree(true));
  EXPECT_EQ(ring.failure()->cause, "stopped on request");
}

}  // namespace
}  // namespace railbed
