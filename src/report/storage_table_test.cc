#include "report/storage_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railbed {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Measurement bandwidth(const std::string& operation, int streams, double gigabytes) {
  Measurement measurement;
  measurement.engine = Engine::kStorage;
  measurement.operation = operation;
  measurement.rail = "/scratch";
  measurement.from.node = "gpu01";
  measurement.message_bytes = 1 << 20;
  measurement.streams = streams;
  measurement.summary.samples = 1;
  measurement.summary.median = gigabytes * 8e9;
  measurement.ceiling.limits = {{"PCIe Gen3 x4 at 0000:02:00.0 of gpu01", BitRate::gigabytes(3.57), "sysfs"}};
  return measurement;
}

StoragePlace place() {
  StoragePlace place{"gpu01", {}, {}};
  place.answer.folder = "/scratch";
  place.answer.mount = Mount{"/scratch", "xfs", "/dev/nvme0n1p1", {"nvme0n1"}};
  place.answer.bytes = std::uint64_t{1} << 30;
  place.answer.free = std::uint64_t{100} << 30;
  place.measurements = {bandwidth("sequential read", 1, 1.8), bandwidth("sequential read", 16, 3.4),
                        bandwidth("sequential write", 16, 1.2)};
  return place;
}

TEST(StorageTable, SaysWhatBindsEachNumber) {
  const StoragePlace storage_place = place();
  EXPECT_EQ(bound_of(storage_place.measurements[0], storage_place), "one request at a time");
  EXPECT_EQ(bound_of(storage_place.measurements[1], storage_place), "the PCIe link");
  EXPECT_EQ(bound_of(storage_place.measurements[2], storage_place), "the drive");
}

TEST(StorageTable, AFileServerIsNotADrive) {
  StoragePlace storage_place = place();
  storage_place.answer.mount = Mount{"/mnt", "nfs4", "server:/export", {}};
  storage_place.measurements[2].ceiling = {};
  EXPECT_EQ(bound_of(storage_place.measurements[2], storage_place), "what serves nfs4");
  EXPECT_THAT(storage_table(storage_place), HasSubstr("nfs4 from server:/export"));
}

TEST(StorageTable, NumberStandsBesideItsShareOfTheCeiling) {
  const std::string text = storage_table(place());
  EXPECT_THAT(text, HasSubstr("storage, gpu01 /scratch: xfs on nvme0n1; 1 GiB of the 100 GiB that are free"));
  EXPECT_THAT(text, HasSubstr("3.40 GB/s"));
  EXPECT_THAT(text, HasSubstr("95 %"));
  EXPECT_THAT(text, HasSubstr("ceiling 3.57 GB/s: PCIe Gen3 x4 at 0000:02:00.0 of gpu01 = sysfs"));
}

TEST(StorageTable, BufferedAndMemoryAreSaid) {
  StoragePlace storage_place = place();
  storage_place.answer.not_direct = "Invalid argument";
  EXPECT_THAT(storage_table(storage_place), HasSubstr("refuses direct I/O (Invalid argument)"));
  storage_place.answer.memory = true;
  EXPECT_THAT(storage_table(storage_place), HasSubstr("no storage was measured"));
}

TEST(StorageTable, FailuresSayCauseAndRemedyAndNoTerminalCodes) {
  StoragePlace storage_place = place();
  storage_place.answer.failure = Failure{"start", "/scratch\x1b[31m: not there", "name another"};
  const std::string text = storage_table(storage_place);
  EXPECT_THAT(text, HasSubstr("FAILED (start)"));
  EXPECT_THAT(text, HasSubstr("do: name another"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace railbed
