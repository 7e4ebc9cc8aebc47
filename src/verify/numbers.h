// Measured numbers as rules speak of them.
#pragma once

#include <initializer_list>
#include <string>

#include "results/measurement.h"
#include "verify/judge.h"

namespace railbed {

bool has_number(const Measurement& one);
// What processors do, not an adapter: TCP, software RDMA, virtual links.
bool is_software(const Survey& survey, const Measurement& one);
// "RDMA send": a write is the usual operation and not named.
std::string name_of(const Measurement& one);

// "gpu01 was busy …; gpu02 was busy …", of all who were.
std::string busy_ends(std::initializer_list<const Measurement*> numbers);
// A slow number that a busy node may have made cannot be held against the path, unless it is far too slow.
void accuse(Case& each, bool fails, const std::string& busy, Complaint complaint);

}  // namespace railbed
