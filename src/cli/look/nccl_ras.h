// railbed nccl --ras: what NCCL's RAS service knows of a running job, and which rank keeps the others waiting.
#pragma once

#include <string>

#include "base/document.h"
#include "base/fields.h"
#include "diagnose/ras/ras_verdict.h"
#include "host/host.h"

namespace railbed {

struct RasOutput {
  std::string address;
  diagnose::RasVerdict verdict;
  diagnose::RasPair answers;
  FIELDS(RasOutput, address, verdict, answers);
};
inline constexpr Document<RasOutput> kRasDocument{"railbed-nccl-ras"};

struct RasOptions {
  bool asked = false;
  std::string address;  // empty: that of the processes of this node, else the default
  int apart = 5;        // seconds between the two answers
};

// Asks twice, prints the verdict and returns the exit code: 0 no rank lags, 1 one stands while others go on, 2 ranks wait
// for one, a process is silent or a rank reports an error, 3 nothing answers. `host` is this machine.
int look_at_job(Host& host, const RasOptions& options, bool json);

}  // namespace railbed
