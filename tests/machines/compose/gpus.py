"""What NVML and CUDA answer for the composed machines' GPUs: the data sheets' numbers in the shape that H200s answered in."""
import json

GIB = 1 << 30

# field → NVML's function or field, and what a sound GPU answers; None where the model decides
SOUND = [
    ("name", "nvmlDeviceGetName", None),
    ("uuid", "nvmlDeviceGetUUID", None),
    ("vbios", "nvmlDeviceGetVbiosVersion", None),
    ("inforom_valid", "nvmlDeviceValidateInforom", True),
    ("persistence", "nvmlDeviceGetPersistenceMode", True),
    ("compute_mode", "nvmlDeviceGetComputeMode", "default"),
    ("mig", "nvmlDeviceGetMigMode", None),
    ("ecc", "nvmlDeviceGetEccMode", None),
    ("ecc_pending", "nvmlDeviceGetEccMode", None),
    ("ecc_volatile_uncorrectable", "nvmlDeviceGetTotalEccErrors", None),
    ("sram_aggregate_uncorrectable", "nvmlDeviceGetSramEccErrorStatus", None),
    ("remap_pending", "nvmlDeviceGetRemappedRows", None),
    ("remap_failed", "nvmlDeviceGetRemappedRows", None),
    ("retired_pages", "NVML_FI_DEV_RETIRED_DBE", None),
    ("retired_pending", "NVML_FI_DEV_RETIRED_PENDING", None),
    ("sm_clock_max", "nvmlDeviceGetMaxClockInfo", None),
    ("event_reasons", "nvmlDeviceGetCurrentClocksEventReasons", 1),
    ("power_limit", "nvmlDeviceGetEnforcedPowerLimit", None),
    ("power_limit_default", "nvmlDeviceGetPowerManagementDefaultLimit", None),
    ("temperature", "nvmlDeviceGetTemperature", 32),
    ("pcie_generation_max", "nvmlDeviceGetMaxPcieLinkGeneration", None),
    ("pcie_generation_gpu", "nvmlDeviceGetGpuMaxPcieLinkGeneration", None),
    ("pcie_width", "nvmlDeviceGetCurrPcieLinkWidth", None),
    ("pcie_width_max", "nvmlDeviceGetMaxPcieLinkWidth", None),
    ("bar1", "nvmlDeviceGetBAR1MemoryInfo", None),
    ("memory", "nvmlDeviceGetMemoryInfo_v2", None),
    ("memory_used", "nvmlDeviceGetMemoryInfo_v2", 0),
    ("processes", "nvmlDeviceGetComputeRunningProcesses_v3", []),
    ("utilisation", "nvmlDeviceGetUtilizationRates", 0),
    ("nvlinks", "nvmlDeviceGetNvLinkState", None),
    ("fabric", "nvmlDeviceGetGpuFabricInfoV", None),
]


def ecc():
    return {"ecc": True, "ecc_pending": True, "ecc_volatile_uncorrectable": 0}


def pcie(generation, width=16):
    return {"pcie_generation_max": generation, "pcie_generation_gpu": generation, "pcie_width": width,
            "pcie_width_max": width}


def remapping():
    return {"remap_pending": False, "remap_failed": False, "sram_aggregate_uncorrectable": 0}


def power(watts):
    return {"power_limit": float(watts), "power_limit_default": float(watts)}


# By model name; what stands in none is unsupported there.
MODELS = {
    "Tesla V100-PCIE-16GB": ecc() | pcie(3) | power(250) | {
        "vbios": "88.00.1A.00.03", "retired_pages": 0, "retired_pending": False, "sm_clock_max": 1380,
        "bar1": 16 * GIB, "memory": 16 * GIB},
    "Tesla T4": ecc() | pcie(3) | power(70) | {
        "vbios": "90.04.38.00.03", "retired_pages": 0, "retired_pending": False, "sm_clock_max": 1590,
        "bar1": 256 << 20, "memory": 15 * GIB},
    "NVIDIA H100 80GB HBM3": ecc() | pcie(5) | remapping() | power(700) | {
        "vbios": "96.00.74.00.01", "mig": False, "sm_clock_max": 1980, "bar1": 128 * GIB, "memory": 85520809984,
        "nvlinks": {f"{n:02}": {"active": True, "speed_mbps": 26562, "errors": {"recovery": 0}} for n in range(18)},
        "fabric": {"state": "completed", "status": "NVML_SUCCESS", "health": ""}},
    # Its memory is the processor's: NVML has neither framebuffer, BAR1, ECC nor a power limit to tell of.
    "NVIDIA GB10": {"vbios": "9A.0B.20.00.00", "sm_clock_max": 3003},
}


def wrapped(answer):
    """One member a line, as railbed itself writes it."""
    text = json.dumps
    return "{\n" + ",\n".join(f" {text(name)}: {text(value, separators=(',', ':'))}" for name, value in answer.items()) + "\n}"


def nvml(model, uuid):
    own = MODELS[model] | {"name": model, "uuid": uuid}
    answer = {}
    for field, function, sound in SOUND:
        value = own.get(field, sound)
        answer[field] = ({"missing": "unsupported", "why": "NVML_ERROR_NOT_SUPPORTED (3)"} if value is None
                         else {"value": value}) | {"from": function}
    return wrapped(answer)


def system(driver, cuda, count):
    values = {"driver_version": (driver, "nvmlSystemGetDriverVersion"),
              "nvml_version": (f"{cuda // 1000}.{driver}", "nvmlSystemGetNVMLVersion"),
              "cuda_version": (cuda, "nvmlSystemGetCudaDriverVersion_v2"), "gpus": (count, "nvmlDeviceGetCount_v2")}
    return wrapped({"library": "libnvidia-ml.so.1"} | {name: {"value": value, "from": function}
                                                       for name, (value, function) in values.items()})


def cuda(version, model, opened):
    """DMA-BUF is exported by the open kernel module alone; GB10's memory is out of reach by any route."""
    direct = "GB10" not in model
    return wrapped({"version": version, "error": "", "wrong_words": 0, "memory": MODELS[model].get("memory", 120 * GIB),
                    "dma_buf": direct and opened, "gpudirect_rdma": direct, "init_ms": 310.0, "total_ms": 400.0})


def peers(addresses):
    return wrapped({one: {other: {"read": "ok", "nvlink": "ok"} for other in addresses if other != one}
                    for one in addresses})
