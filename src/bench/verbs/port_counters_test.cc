#include "bench/verbs/port_counters.h"

#include <gtest/gtest.h>

namespace railbed {
namespace {

Reading<std::uint64_t> count(std::uint64_t value) { return {value, ""}; }

TEST(PortCounters, RxeAndMlx5WordsMeanTheSame) {
  RdmaPort rxe;
  rxe.hw_counters = {{"sent_pkts", count(100)},
                     {"rcvd_pkts", count(40)},
                     {"completer_retry_err", count(3)},
                     {"out_of_seq_request", count(2)}};
  const RdmaCounters soft = read_counters(rxe);
  EXPECT_EQ(soft.packets, 100u);
  EXPECT_EQ(soft.received, 40u);
  EXPECT_EQ(soft.lost, 2u) << "retries also come from a busy peer; a gap at the receiver is a loss";
  EXPECT_EQ(soft.troubles,
            (std::map<std::string, std::uint64_t>{{"completer_retry_err", 3}, {"out_of_seq_request", 2}}));

  RdmaPort mlx5;
  mlx5.counters = {
      {"port_xmit_packets", count(200)}, {"port_rcv_packets", count(30)}, {"symbol_error", count(1)}};
  mlx5.hw_counters = {
      {"local_ack_timeout_err", count(2)}, {"packet_seq_err", count(5)}, {"out_of_sequence", count(7)}};
  const RdmaCounters hard = read_counters(mlx5);
  EXPECT_EQ(hard.packets, 200u);
  EXPECT_EQ(hard.received, 30u);
  EXPECT_EQ(hard.lost, 7u);
  EXPECT_EQ(hard.troubles.size(), 4u);
}

TEST(PortCounters, WhatCannotBeReadIsLeftOut) {
  RdmaPort port;
  port.counters = {{"symbol_error", Reading<std::uint64_t>(Miss{Missing::kUnsupported, "N/A (no PMA)"}, "")}};
  EXPECT_TRUE(read_counters(port).troubles.empty());
}

}  // namespace
}  // namespace railbed
