// Storage results as a table: one block for each folder, and the limit behind each number.
#pragma once

#include <string>
#include <vector>

#include "results/measurement.h"
#include "results/storage.h"

namespace railbed {

// Returns "2.21 GB/s", decimal, as drives are sold; MB/s below 1 GB/s.
std::string bytes_rate_text(BitRate rate);

// Returns what limited this bandwidth: "the PCIe link", "one request at a time", "the drive".
std::string bound_of(const Measurement& measurement, const StoragePlace& place);

std::string storage_table(const StoragePlace& place);

}  // namespace railbed
