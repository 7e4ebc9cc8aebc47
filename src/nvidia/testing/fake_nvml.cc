// A libnvidia-ml for fault paths only. The GPU's PCI address selects its behavior:
//   0000:01:00.0 works · :02: hangs in the query of its ECC mode · :03: returns "not available" everywhere ·
//   :04: supports nothing · :05: ends the process · anything else is lost
// The list of GPUs has the first and the fourth. The first has performance samples, and counters that grow by 2,000,000
// bytes from one reading to the next; it counts the time of the power brake, and of no other reason.
// The functions that it lacks are those that an old driver lacks.
#include <unistd.h>

#include <cstring>
#include <string>

namespace {

struct Gpu {
  char kind;
};
Gpu gpus[] = {{'1'}, {'2'}, {'3'}, {'4'}, {'5'}};

constexpr int kInvalidArgument = 2, kNotSupported = 3, kLost = 15;

int number(Gpu* gpu, unsigned* value, unsigned healthy) {
  if (gpu->kind == '4') return kNotSupported;
  *value = gpu->kind == '3' ? ~0U : healthy;
  return 0;
}

struct PciInfo {
  char legacy[16];
  unsigned domain, bus, device, ids[2];
  char address[32];
};
struct FieldValue {
  unsigned id, scope;
  long long times[2];
  int type, code;
  unsigned long long value;
};
struct Metric {
  unsigned id;
  int code;
  double value;
  const char* texts[3];
};
struct Metrics {
  unsigned version, count;
  void* samples[2];
  Metric values[210];  // NVML_GPM_METRIC_MAX; only `count` of them are there
};

}  // namespace

extern "C" {

int nvmlInit_v2() { return 0; }
int nvmlSystemGetDriverVersion(char* text, unsigned) { return std::strcpy(text, "999.1"), 0; }
int nvmlSystemGetNVMLVersion(char* text, unsigned) { return std::strcpy(text, "99.999.1"), 0; }
int nvmlSystemGetCudaDriverVersion_v2(int* version) { return *version = 99000, 0; }
int nvmlDeviceGetCount_v2(unsigned* count) { return *count = 2, 0; }
int nvmlDeviceGetHandleByPciBusId_v2(const char* address, Gpu** gpu) {
  const char kind = address[6];
  if (kind < '1' || kind > '5') return kLost;
  *gpu = &gpus[kind - '1'];
  return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, Gpu** gpu) { return *gpu = &gpus[index == 0 ? 0 : 3], 0; }
int nvmlDeviceGetPciInfo_v3(Gpu* gpu, PciInfo* info) {
  *info = {};
  info->bus = static_cast<unsigned>(gpu->kind - '0');
  return 0;
}
int nvmlDeviceGetFieldValues(Gpu* gpu, int count, FieldValue* values) {
  static unsigned long long counted[512];
  for (int i = 0; i < count; ++i) {
    const bool has = gpu->kind == '1' && (values[i].id == 197 || values[i].id == 198 || values[i].id == 271);
    values[i].type = 3;  // NVML_VALUE_TYPE_UNSIGNED_LONG_LONG
    values[i].code = has ? 0 : kNotSupported;
    if (has) values[i].value = counted[values[i].id] += 2000000;
  }
  return 0;
}
int nvmlGpmQueryDeviceSupport(Gpu* gpu, unsigned* support) { return support[1] = gpu->kind == '1', 0; }
int nvmlGpmSampleAlloc(void** sample) { return *sample = gpus, 0; }
int nvmlGpmSampleGet(Gpu*, void*) { return 0; }
int nvmlGpmMetricsGet(Metrics* metrics) {
  for (unsigned i = 0; i < metrics->count; ++i) {
    Metric& one = metrics->values[i];
    one.code = one.id == 11 ? kNotSupported : 0;
    one.value = one.id == 2 ? 250 : 12.5;  // a share of 250 % is none
  }
  return 0;
}
// A device of MIG is a Gpu of kind 'm' or 'n'.
int nvmlDeviceGetName(Gpu* gpu, char* text, unsigned) {
  const char* name = gpu->kind == 'm'   ? "Fake 9000 MIG 3g.40gb"
                     : gpu->kind == 'n' ? "Fake 9000 MIG 1g.10gb"
                                        : "Fake 9000";
  return std::strcpy(text, name), 0;
}
int nvmlDeviceGetMigMode(Gpu* gpu, unsigned* now, unsigned* pending) {
  *pending = 0;
  return number(gpu, now, 1);
}
int nvmlDeviceGetMaxMigDeviceCount(Gpu*, unsigned* count) { return *count = 7, 0; }
int nvmlDeviceGetMigDeviceHandleByIndex(Gpu*, unsigned index, Gpu** part) {
  static Gpu parts[] = {{'m'}, {'n'}};
  if (index == 1 || index > 2) return 6;  // NVML_ERROR_NOT_FOUND
  return *part = &parts[index / 2], 0;
}
int nvmlDeviceValidateInforom(Gpu* gpu) { return gpu->kind == '1' ? 14 : kNotSupported; }
int nvmlDeviceGetPersistenceMode(Gpu* gpu, unsigned* mode) { return number(gpu, mode, 1); }
int nvmlDeviceGetComputeMode(Gpu* gpu, unsigned* mode) { return number(gpu, mode, 9); }
int nvmlDeviceGetEccMode(Gpu* gpu, unsigned* now, unsigned* pending) {
  if (gpu->kind == '2')
    for (;;) pause();
  if (gpu->kind == '5') _exit(7);
  *pending = 0;
  return number(gpu, now, 1);
}
int nvmlDeviceGetTotalEccErrors(Gpu* gpu, int, int, unsigned long long* count) {
  *count = gpu->kind == '3' ? 9223372036854775794ULL : 3;
  return gpu->kind == '4' ? kNotSupported : 0;
}
int nvmlDeviceGetPowerUsage(Gpu* gpu, unsigned* milliwatts) { return number(gpu, milliwatts, 123456); }
int nvmlDeviceGetNvLinkState(Gpu* gpu, unsigned link, unsigned* active) {
  if (gpu->kind == '4') return kNotSupported;
  if (link > 1) return kInvalidArgument;
  *active = link == 0 ? 1 : 0;
  return 0;
}

}  // extern "C"
