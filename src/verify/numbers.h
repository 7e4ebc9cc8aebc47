// Helpers of the rules that judge measured numbers.
#pragma once

#include <initializer_list>
#include <string>

#include "results/measurement.h"
#include "verify/judge.h"

namespace railbed {

// Returns true if the measurement succeeded and has at least one sample.
bool has_number(const Measurement& measurement);
// Returns true if processors rather than an adapter limit this measurement: TCP, software RDMA, virtual
// links.
bool is_software(const Survey& survey, const Measurement& measurement);
// Returns the operation's name, such as "RDMA send". A write is the usual operation, so it is not named.
std::string name_of(const Measurement& measurement);

// Returns "gpu01 was busy …; gpu02 was busy …" for the ends that were busy during a measurement; empty if
// none was.
std::string busy_ends(std::initializer_list<const Measurement*> numbers);
// Ends the case for a slow number: as failed if `fails`, else as a warning. If an end was busy (`busy` is not
// empty), a number that does not fail ends as unknown: the load may have slowed it.
void accuse(Case& each, bool fails, const std::string& busy, Complaint complaint);

// Ends the case for a slow number as unknown if other traffic can be why, and returns true then.
bool excused_by_traffic(Case& each, const Measurement& number, bool can_be_why, const Complaint& complaint);

}  // namespace railbed
