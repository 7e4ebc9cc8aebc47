#include "results/all_rails.h"

#include <gtest/gtest.h>

namespace railbed {
namespace {

Measurement number(const char* rail, const char* operation, double gigabits) {
  Measurement measurement;
  measurement.engine = Engine::kRdma;
  measurement.operation = operation;
  measurement.rail = rail;
  measurement.from.node = "a";
  measurement.to.node = "b";
  measurement.message_bytes = 1 << 20;
  measurement.summary.samples = 20;
  measurement.summary.median = gigabits * 1e9;
  return measurement;
}

TEST(AllRails, ATotalHasItsPartsAndWhatEachCarriedAlone) {
  std::vector<Measurement> all{number("rail0", "write", 390),
                               number("rail1", "write", 380),
                               number("rail1", "send", 300),
                               number("rail0", "write, all rails at once", 200),
                               number("rail1", "write, all rails at once", 190),
                               number("all rails", "write, all rails at once", 390)};
  all.push_back(all[0]);  // one with other messages, one in the other direction
  all.back().message_bytes = 4096;
  all.push_back(all[0]);
  std::swap(all.back().from, all.back().to);
  const auto found = all_rails_of(all);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].total, &all[5]);
  ASSERT_EQ(found[0].rails.size(), 2u);
  EXPECT_EQ(found[0].rails[0].at_once, &all[3]);
  EXPECT_EQ(found[0].rails[1].alone, &all[1]);
  EXPECT_EQ(found[0].alone(), 770e9);
}

TEST(AllRails, WhatWasNotMeasuredAloneHasNoSum) {
  const std::vector<Measurement> all{number("rail0", "all rails at once", 200),
                                     number("all rails", "all rails at once", 200)};
  const auto found = all_rails_of(all);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].rails[0].alone, nullptr);
  EXPECT_EQ(found[0].alone(), 0);
}

}  // namespace
}  // namespace railbed
