#include "bench/storage/fio.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace railbed {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

// The output of fio 3.33, shortened to the fields that are read and a few more.
constexpr std::string_view kAnswer = R"(note: both iodepth >= 1 and synchronous I/O engine are selected
{
  "fio version" : "fio-3.33",
  "jobs" : [
    {
      "jobname" : "railbed", "error" : 0, "job options" : {"bs" : "1048576"},
      "read" : {"io_bytes" : 0, "bw_bytes" : 0, "iops" : 0.0, "runtime" : 0, "total_ios" : 0,
                "lat_ns" : {"min" : 0, "max" : 0, "mean" : 0.0, "stddev" : 0.0, "N" : 0}},
      "write" : {"io_bytes" : 1961885696, "bw_bytes" : 1956017643, "iops" : 1865.403789, "runtime" : 1003,
                 "total_ios" : 1871, "short_ios" : 0,
                 "lat_ns" : {"min" : 1384567, "max" : 36867115, "mean" : 8481386.972742,
                             "stddev" : 4127149.042657, "N" : 1871,
                             "percentile" : {"50.000000" : 7110656, "99.000000" : 22675456,
                                             "99.900000" : 36962304, "99.990000" : 36962304}}}
    }
  ]
}
)";

std::string with(std::string_view from, std::string_view to) {
  std::string text(kAnswer);
  text.replace(text.find(from), from.size(), to);
  return text;
}

TEST(ParseFio, TakesWhatWasMeasured) {
  const auto result = parse_fio(kAnswer, false);
  ASSERT_TRUE(result) << result.error().text;
  EXPECT_EQ(result->version, "fio-3.33");
  EXPECT_EQ(result->bytes_per_second, 1956017643);
  EXPECT_EQ(result->bytes, 1961885696u);
  EXPECT_EQ(result->requests, 1871u);
  EXPECT_DOUBLE_EQ(result->seconds, 1.003);
  EXPECT_EQ(result->median, 7110656);
  EXPECT_EQ(result->p99, 22675456);
  EXPECT_EQ(result->maximum, 36867115);
  EXPECT_EQ(result->p9999, 36867115);  // the edge of a bucket is beyond the maximum
}

TEST(ParseFio, ADirectionThatDidNothingIsNoNumber) { EXPECT_FALSE(parse_fio(kAnswer, true)); }

TEST(ParseFio, NonsenseIsAnErrorNotANumber) {
  for (const std::string& text :
       {std::string(), std::string("fio: failed"), std::string("{}"), std::string("{\"jobs\": []}"),
        with("fio-3.33", "dd-1"), with("\"error\" : 0", "\"error\" : 28"), with("1956017643", "-5"),
        with("1956017643", "1e300"), with("1956017643", "\"fast\""),
        with("\"total_ios\" : 1871", "\"x\" : 1"), with("\"runtime\" : 1003", "\"runtime\" : 1e12"),
        with("7110656", "32000000"), with("36867115", "1e20"),
        std::string(kAnswer.substr(0, kAnswer.size() / 2))})
    EXPECT_FALSE(parse_fio(text, false)) << text;
  EXPECT_THAT(parse_fio(with("\"error\" : 0", "\"error\" : 28"), false).error().text,
              HasSubstr("No space left"));
}

TEST(ParseFio, DamagedTextNeverGivesAnInsaneNumber) {
  std::mt19937 random(7);
  int understood = 0;
  for (int trial = 0; trial < 4000; ++trial) {
    std::string text(kAnswer);
    for (int i = 0; i < 3; ++i) text[random() % text.size()] = static_cast<char>(random());
    const auto result = parse_fio(text, false);
    if (!result) continue;
    ++understood;
    EXPECT_GT(result->bytes_per_second, 0);
    EXPECT_LE(result->bytes_per_second, 1e12);
    EXPECT_LE(result->median, result->p99);
    EXPECT_LE(result->p9999, result->maximum);
  }
  EXPECT_GT(understood, 0);
}

FioJob job() {
  FioJob job;
  job.folder = "/scratch/a:b";
  job.block_bytes = 4096;
  job.file_bytes = 1 << 20;
  job.seconds = 0.5;
  return job;
}

TEST(FioWords, SayExactlyWhatIsWanted) {
  const auto words = fio_words(job());
  EXPECT_EQ(words.front(), "fio");
  EXPECT_THAT(words, Contains("--directory=/scratch/a\\:b"));
  EXPECT_THAT(words, Contains("--bs=4096"));
  EXPECT_THAT(words, Contains("--size=1048576"));
  EXPECT_THAT(words, Contains("--direct=1"));
  EXPECT_THAT(words, Contains("--runtime=500ms"));
  EXPECT_THAT(words, Contains("--ioengine=psync"));
  EXPECT_THAT(words, Contains("--fallocate=none"));
  EXPECT_THAT(words, Contains("--thread"));
  EXPECT_THAT(words, Not(Contains("--end_fsync=1")));
}

TEST(FioWords, ManyRequestsUnderWayAreLibaiosOrThreads) {
  FioJob deep = job();
  deep.depth = 32;
  EXPECT_THAT(fio_words(deep), Contains("--iodepth=32"));
  EXPECT_THAT(fio_words(deep), Contains("--numjobs=1"));
  deep.native = false;
  EXPECT_THAT(fio_words(deep), Contains("--ioengine=psync"));
  EXPECT_THAT(fio_words(deep), Contains("--numjobs=32"));
  EXPECT_THAT(fio_words(deep), Contains("--filename=data.0"));
}

TEST(FioWords, EachThreadOfACheckpointHasAFileOfItsOwn) {
  FioJob checkpoint = job();
  checkpoint.threads = 4;
  checkpoint.seconds = 0;
  checkpoint.sync_at_end = true;
  const auto words = fio_words(checkpoint);
  EXPECT_THAT(words, Contains("--numjobs=4"));
  EXPECT_THAT(words, Contains("--filename_format=data.$jobnum"));
  EXPECT_THAT(words, Contains("--end_fsync=1"));
  EXPECT_THAT(words, Not(Contains("--time_based")));
}

}  // namespace
}  // namespace railbed
