// Short names for the columns of the tables beside it.
#pragma once

#include "diagnose/hypothesis.h"
#include "diagnose/symptom.h"

namespace railbed::diagnose {

constexpr auto kError = Severity::kError;
constexpr auto kWarning = Severity::kWarning;
constexpr auto kNote = Severity::kNote;
constexpr auto kCause = Role::kCause;
constexpr auto kEcho = Role::kEcho;
constexpr auto kAside = Role::kAside;
constexpr auto kSight = Role::kSight;
constexpr auto kWarned = Said::kWarning;
constexpr auto kNccl = Said::kNccl;
constexpr auto kAnyone = Said::kAnyone;
constexpr auto kRare = Common::kRare;
constexpr auto kUsual = Common::kUsual;

// Sources that several rows share.
constexpr std::string_view kIbSource = "NCCL src/transport/net_ib; ibv_wc_status of libibverbs";
constexpr std::string_view kCudaErrors = "CUDA Runtime API, cudaError";
constexpr std::string_view kEnvGuide = "NCCL user guide, Environment Variables";
constexpr std::string_view kTroubleGuide = "NCCL user guide, Troubleshooting";

}  // namespace railbed::diagnose
