#include "base/student.h"

#include <gtest/gtest.h>

#include <cmath>

namespace railbed {
namespace {

// From the printed tables: t(0.01; 1) = 31.82, t(0.025; 10) = 2.228, t(0.01; 14) = 2.624; normal far out.
TEST(Student, AgreesWithTheTables) {
  EXPECT_NEAR(student_quantile(0.01, 1), 31.82, 0.01);
  EXPECT_NEAR(student_quantile(0.025, 10), 2.228, 0.001);
  EXPECT_NEAR(student_quantile(0.01, 14), 2.624, 0.001);
  EXPECT_NEAR(student_quantile(0.025, 1e6), 1.95997, 0.0001);
  EXPECT_NEAR(student_tail(0, 5), 0.5, 1e-12);
  EXPECT_NEAR(student_tail(-2.228, 10), 0.975, 1e-4);
}

TEST(Student, AnArgumentOutsideItsDomainGivesNoNumber) {
  EXPECT_TRUE(std::isnan(student_tail(1, 0)));
  EXPECT_TRUE(std::isnan(student_tail(std::nan(""), 5)));
}

}  // namespace
}  // namespace railbed
