// DCGM, its host engine and dcgm-exporter.
#include "diagnose/tables/rows.h"

namespace railbed::diagnose::tables {
namespace {

constexpr std::string_view kDcgmSource = "github.com/NVIDIA/dcgm-exporter; github.com/NVIDIA/DCGM";
constexpr std::string_view kNoProfilingTitle =
    "DCGM offers no profiling metrics (DCGM_FI_PROF_…) on this node";
constexpr std::string_view kNoEngineTitle = "DCGM's client does not reach its host engine (nv-hostengine)";

// clang-format off
constexpr Symptom kGpuDcgmSymptoms[] = {
    {"dcgm-no-diag-config",   kError,   kCause, kAnyone, {"Could not read package diag config"}, "github.com/NVIDIA/DCGM, nvvs/src/ConfigFileParser_v2.cpp", "DCGM's diagnostic skips tests: it did not find its table of GPUs"},
    {"dcgm-bad-diag-config",  kError,   kCause, kAnyone, {"bad file: ", "diag-skus.yaml"}, "github.com/NVIDIA/DCGM, nvvs/src/ConfigFileParser_v2.cpp", "DCGM's diagnostic skips tests: it did not find its table of GPUs"},
    {"dcgm-no-profiling",     kWarning, kCause, kAnyone, {"Not collecting DCP metrics"}, kDcgmSource, kNoProfilingTitle},
    {"dcgm-profiling-module", kWarning, kCause, kAnyone, {"Profiling ", "Failed to load"}, kDcgmSource, kNoProfilingTitle},
    {"dcgm-profiling-error",  kError,   kCause, kAnyone, {"third-party Profiling module returned an unrecoverable error"}, kDcgmSource,
     "DCGM could not read the profiling counters of a GPU"},
    {"hostengine-connect",    kError,   kCause, kAnyone, {"rror connecting to nv-hostengine"}, kDcgmSource, kNoEngineTitle},
    {"hostengine-invalid",    kError,   kCause, kAnyone, {"ost engine connection invalid/disconnected"}, "DCGM dcgmlib/src/dcgm_errors.cpp, DCGM_ST_CONNECTION_NOT_VALID", kNoEngineTitle},
    {"hostengine-reach",      kError,   kCause, kAnyone, {"unable to establish a connection to the specified host"}, kDcgmSource, kNoEngineTitle},
    {"dcgm-module",           kError,   kCause, kAnyone, {"serviced by a module of DCGM that is not currently loaded"}, kDcgmSource, "DCGM does not have the part of it that was asked for"},
    {"dcgm-start",            kError,   kCause, kAnyone, {"DCGM initialization error"}, kDcgmSource, "DCGM did not start"},
    {"dcgm-diag-fail",        kError,   kCause, kAnyone, {"| Fail - GPU"}, "dcgmi diag", "A test of DCGM's diagnostic failed on a GPU"},

    // Lines that confirm or refute
    {"dcgm-capability-given", kNote,    kSight, kAnyone, {"docker run", "SYS_ADMIN"}, "docker run --cap-add", "The container has the capability"},
    {"dcgm-capability-listed",kNote,    kSight, kAnyone, {"- SYS_ADMIN"}, "Kubernetes, securityContext", "The container has the capability"},
    {"dcgm-capability-added", kNote,    kSight, kAnyone, {"add:", "SYS_ADMIN"}, "Kubernetes, securityContext", "The container has the capability"},
    {"dcgm-not-privileged",   kNote,    kSight, kAnyone, {"have sufficient privileges to expose profiling metrics"}, "github.com/NVIDIA/dcgm-exporter, docker/dcgm-exporter-entrypoint.sh", "The exporter lacks the capability"},
    {"dcgm-exporter-started", kNote,    kSight, kAnyone, {"docker run", "dcgm-exporter"}, "docker run", "dcgm-exporter was started in a container"},
    {"hostengine-process",    kNote,    kSight, kAnyone, {"/usr/bin/nv-hostengine"}, "pgrep -a", "A host engine of DCGM runs"},
    {"hostengine-loopback",   kNote,    kSight, kAnyone, {"LISTEN", "127.0.0.1:5555"}, "ss -ltn", "DCGM's host engine listens on the loopback address"},
    {"hostengine-everywhere", kNote,    kSight, kAnyone, {"LISTEN", "0.0.0.0:5555"}, "ss -ltn", "DCGM's host engine listens on all addresses"},
    {"hostengine-any",        kNote,    kSight, kAnyone, {"LISTEN", "*:5555"}, "ss -ltn", "DCGM's host engine listens on all addresses"},
    {"dcgm-gpu-busy",         kNote,    kSight, kAnyone, {"busy or unavailable"}, "dcgmi diag", "Another program uses the GPU"},
    {"dcgm-nvml-failed",      kNote,    kSight, kAnyone, {"Failed to initialize NVML"}, kDcgmSource, "NVML did not start"},
    {"dcgm-cache-failed",     kNote,    kSight, kAnyone, {"CacheManager Init Failed"}, "github.com/NVIDIA/dcgm-exporter/issues/34", "DCGM could not set up its store of readings"},
};

constexpr Hypothesis kGpuDcgmHypotheses[] = {
    {.id = "dcgm-no-diag-config", .explains = {"dcgm-no-diag-config", "dcgm-bad-diag-config"}, .stated = true,
     .cause = "The file diag-skus.yaml, which says which tests each GPU takes and with which limits, is not where nvvs looks for it; it is part of the package datacenter-gpu-manager (4.x: datacenter-gpu-manager-4-core). Without it most tests are skipped.",
     .remedy = "dpkg -V datacenter-gpu-manager (rpm -V), then reinstall the package, so that nvvs and its file are of one release; datacenter-gpu-manager-config is not needed. A container of DCGM has to be NVIDIA's, complete.",
     .source = "github.com/NVIDIA/DCGM/issues/121; nvvs/src/ConfigFileParser_v2.cpp"},
    {.id = "profiling-on-geforce", .explains = {"dcgm-no-profiling", "dcgm-profiling-module", "dcgm-profiling-error"}, .common = kUsual, .needs = {"geforce-older"}, .refuted_by = {"gpu-data-center", "geforce-newer"}, .decisive = true,
     .title = "DCGM does not support profiling metrics on this GeForce: of GeForce cards it does so from Blackwell (50xx) on only",
     .cause = "The metrics DCGM_FI_PROF_… need a data-centre GPU, or a GeForce of the Blackwell generation. The other metrics are sound.",
     .remedy = "Take the DCGM_FI_PROF_ lines out of the exporter's list (default-counters.csv), and use DCGM_FI_DEV_GPU_UTIL instead.",
     .settle_by = "nvidia-smi -L; dcgmi profile --list",
     .source = "github.com/NVIDIA/DCGM/issues/234 and 193"},
    {.id = "profiling-not-allowed", .explains = {"dcgm-no-profiling", "dcgm-profiling-module", "dcgm-profiling-error"}, .needs = {"dcgm-no-capability"}, .refuted_by = {"dcgm-capability", "geforce-older"},
     .title = "The exporter's container may not read the profiling counters: it lacks the capability SYS_ADMIN",
     .cause = "Profiling counters are for root with CAP_SYS_ADMIN, unless the driver is set otherwise.",
     .remedy = "docker run --cap-add SYS_ADMIN …, or securityContext capabilities SYS_ADMIN in Kubernetes; or the driver's parameter NVreg_RestrictProfilingToAdminUsers=0.",
     .settle_by = "grep RmProfilingAdminOnly /proc/driver/nvidia/params",
     .source = "github.com/NVIDIA/dcgm-exporter, README"},
    {.id = "profiling-taken", .explains = {"dcgm-profiling-error"}, .needs = {"hostengine-process"}, .refuted_by = {"geforce-older"},
     .title = "Another program holds the GPU's profiling counters, such as a second host engine of DCGM",
     .cause = "One program at a time may read them, and a host engine runs on the node: dcgm-exporter starts its own unless it is told to use that one. Nsight and CUPTI take them, too.",
     .remedy = "Let all use one engine: dcgm-exporter -r localhost:5555, dcgmi --host; or dcgmi profile --pause while a profiler runs.",
     .settle_by = "pgrep -a -e nv-hostengine -e dcgm-exporter -e nsys -e ncu",
     .source = "github.com/NVIDIA/dcgm-exporter/issues/61; DCGM user guide, Profiling Metrics"},
    {.id = "hostengine-not-running", .explains = {"hostengine-connect", "hostengine-reach", "hostengine-invalid"}, .common = kUsual, .refuted_by = {"hostengine-loopback", "hostengine-everywhere", "hostengine-any"},
     .title = "DCGM's host engine is not running there",
     .cause = "Nothing listens on its port (5555): the service was not started, or it found no NVIDIA driver and ended.",
     .remedy = "systemctl enable --now nvidia-dcgm; nv-hostengine -f /tmp/log in the foreground (-n) shows why it ends. With the GPU operator: dcgm.enabled=true, or leave DCGM_REMOTE_HOSTENGINE_INFO unset so that dcgm-exporter has its own.",
     .settle_by = "ss -ltnp | grep 5555; systemctl status nvidia-dcgm",
     .source = "github.com/NVIDIA/gpu-operator/issues/414; github.com/NVIDIA/DCGM/issues/57"},
    {.id = "hostengine-loopback", .explains = {"hostengine-connect", "hostengine-reach", "hostengine-invalid"}, .needs = {"hostengine-loopback"}, .refuted_by = {"hostengine-everywhere", "hostengine-any"},
     .title = "DCGM's host engine listens on the node's loopback address only, and the client is elsewhere",
     .cause = "localhost in a pod or on another node is not the node's.",
     .remedy = "Give the client the host's network (hostNetwork: true) and localhost:5555, or start nv-hostengine -b ALL behind a firewall and name the node's address.",
     .settle_by = "ss -ltnp | grep 5555 on the node",
     .source = "nv-hostengine --help, -b; github.com/NVIDIA/DCGM/issues/287"},
    {.id = "dcgm-module", .explains = {"dcgm-module"}, .stated = true,
     .cause = "The host engine has not loaded that part (mostly profiling or diag). Why is not in this message: its package is not installed or of another release, it was kept off (--denylist-modules), or it does not support this GPU (an older, consumer or virtual one) or this driver.",
     .remedy = "dcgmi modules -l: Not loaded, Failed to load or Denylisted; /var/log/nv-hostengine.log has the reason of a failure. Profiling: dcgmi profile --list shows whether the GPU has such counters. One release of all datacenter-gpu-manager packages (4.x: datacenter-gpu-manager-4-cuda12 and the proprietary ones).",
     .source = kDcgmSource},
    {.id = "dcgm-no-nvml", .explains = {"dcgm-start"}, .common = kUsual, .refuted_by = {"nvml-works", "dcgm-cache-alone"},
     .title = "DCGM did not start: the driver's library (NVML) does not work there",
     .cause = "DCGM asks NVML for the GPUs when it starts. The container has no GPUs or the driver is not loaded.",
     .remedy = "nvidia-smi in the same container has to work first: docker run --gpus all --cap-add SYS_ADMIN, runtimeClassName: nvidia.",
     .settle_by = "nvidia-smi -L in the same container; the line before it (\"Failed to initialize NVML\")",
     .source = kDcgmSource},
    {.id = "dcgm-cache", .explains = {"dcgm-start"}, .needs = {"dcgm-cache-failed"}, .refuted_by = {"dcgm-nvml-failed"}, .decisive = true,
     .title = "DCGM did not start: it could not set up its store of readings",
     .cause = "NVML works, and DCGM failed when it prepared its readings, as an older release does on a node where only some GPUs are in MIG mode.",
     .remedy = "Update DCGM and dcgm-exporter; give the exporter the capability SYS_ADMIN; or set MIG alike on all GPUs of the node (nvidia-smi -mig 0).",
     .settle_by = "nvidia-smi -q | grep -A2 'MIG Mode'; the release of DCGM",
     .source = "github.com/NVIDIA/dcgm-exporter/issues/34"},
    {.id = "dcgm-libraries", .explains = {"dcgm-start"}, .needs = {"nvml-works"}, .refuted_by = {"dcgm-nvml-failed"},
     .title = "DCGM did not start, although the driver works: its own parts do not fit together",
     .cause = "The library is of another release than the engine, or the package is incomplete.",
     .remedy = "dpkg -l 'datacenter-gpu-manager*' (rpm -qa): one release of all packages; nv-hostengine -n -f - --log-level DEBUG shows where it ends.",
     .settle_by = "nv-hostengine -n -f - --log-level DEBUG",
     .source = kDcgmSource},
    {.id = "dcgm-diag-busy", .explains = {"dcgm-diag-fail"}, .common = kRare, .needs = {"dcgm-gpu-busy"}, .refuted_by = {"gpu-reported-xid"}, .decisive = true,
     .title = "A test of DCGM's diagnostic failed: another program uses the GPU, or it is in exclusive mode",
     .cause = "The test could not use the GPU at all (busy or unavailable), so it measured nothing.",
     .remedy = "nvidia-smi --query-compute-apps=pid,name --format=csv; end what runs there; nvidia-smi -c DEFAULT; repeat the test.",
     .settle_by = "nvidia-smi --query-compute-apps=pid,name --format=csv; nvidia-smi -q -d COMPUTE",
     .source = "github.com/NVIDIA/go-dcgm/issues/52"},
    {.id = "dcgm-diag-hardware", .explains = {"dcgm-diag-fail"}, .common = kRare, .needs = {"gpu-reported-xid"}, .refuted_by = {"dcgm-only-busy"},
     .title = "DCGM's diagnostic found a GPU at fault",
     .cause = "The GPU fails under the test, and the driver reports it, too (Xid).",
     .remedy = "Take the GPU out of work; repeat the test alone (dcgmi diag -r TEST -i GPU); give its output to the maker.",
     .settle_by = "dmesg -T | grep Xid: whether it is the same GPU",
     .source = "DCGM user guide, Diagnostics; NVIDIA Xid catalog"},
    {.id = "dcgm-diag-limit", .explains = {"dcgm-diag-fail"}, .refuted_by = {"dcgm-only-busy"},
     .title = "A test of DCGM's diagnostic missed its limit on a GPU",
     .cause = "The lines below it have the reading. The GPU is at fault, or the limit does not fit this machine: other load, a link that is narrower by design, clocks or power that are capped.",
     .remedy = "Repeat the test alone on the idle node (dcgmi diag -r TEST -i GPU). If it fails again, compare the reading with a sound GPU's of the same kind, and then take the GPU out of work.",
     .settle_by = "dcgmi diag -r TEST -i GPU on the idle node; nvidia-smi -q -d CLOCK,POWER,PERFORMANCE",
     .source = "DCGM user guide, Diagnostics; github.com/aws/aws-k8s-tester/pull/806; github.com/NVIDIA/DCGM/issues/272"},
};
// clang-format on

}  // namespace

Table gpu_dcgm() { return {kGpuDcgmSymptoms, kGpuDcgmHypotheses}; }

}  // namespace railbed::diagnose::tables
