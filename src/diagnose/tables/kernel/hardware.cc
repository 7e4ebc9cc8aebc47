// Processors, memory and firmware that report errors of the hardware.
#include "diagnose/tables/rows.h"

namespace railbed::diagnose::tables {
namespace {

// clang-format off
constexpr Symptom kKernelHardwareSymptoms[] = {
    {"machine-reset",         kWarning, kCause, kAnyone, {"The last boot followed a crash: "}, "last(1)",
     "The machine went down without a shutdown before its last boot"},
    {"machine-check",         kError,   kCause, kAnyone, {"mce: [Hardware Error]", "Machine Check Exception"}, "Linux arch/x86/kernel/cpu/mce", "A processor stopped for a hardware error (machine check exception)"},
    {"machine-check-logged",  kWarning, kCause, kAnyone, {"mce: [Hardware Error]", "Machine Check: "}, "Linux arch/x86/kernel/cpu/mce", "A processor recorded a hardware error (machine check)"},
    {"boot-error-record",     kWarning, kCause, kAnyone, {"BERT: Error records from previous boot"}, "Linux drivers/acpi/apei/bert.c", "The firmware kept a record of a hardware error of the boot before"},
    {"hardware-fatal",        kError,   kCause, kAnyone, {"[Hardware Error]: event severity: fatal"}, "Linux drivers/acpi/apei/ghes.c", "The firmware reported a fatal hardware error"},
    {"hardware-corrected",    kNote,    kCause, kAnyone, {"[Hardware Error]: event severity: corrected"}, "Linux drivers/acpi/apei/ghes.c", "The firmware reported a hardware error that was corrected"},
    {"memory-corrected",      kWarning, kCause, kAnyone, {"EDAC MC", " CE "}, "Linux drivers/edac/edac_mc.c", "Memory errors were corrected"},
    {"memory-uncorrected",    kError,   kCause, kAnyone, {"EDAC MC", " UE "}, "Linux drivers/edac/edac_mc.c", "Memory has an error that could not be corrected"},
    {"processor-hot",         kWarning, kCause, kAnyone, {"temperature is above threshold, cpu clock is throttled"}, "Linux drivers/thermal/intel/therm_throt.c", "A processor was too hot and slowed down"},
    {"processor-hot-older",   kWarning, kCause, kAnyone, {"temperature above threshold, cpu clock throttled"}, "Linux arch/x86/kernel/cpu/mce/therm_throt.c", "A processor was too hot and slowed down"},
    {"acpi-bios-error", kNote, kCause, kAnyone, {"ACPI BIOS Error (bug)"}, "Linux drivers/acpi/acpica", "Mostly harmless: the BIOS describes its devices with an error"},

    // Lines that confirm or refute
    {"uptime-shown",          kNote,    kSight, kAnyone, {" up ", "load average"}, "uptime(1)", "How long the node has run"},
    {"kernel-panicked",       kNote,    kSight, kAnyone, {"Kernel panic - not syncing"}, "Linux kernel/panic.c", "The kernel panicked"},
    {"journal-unclean",       kNote,    kSight, kAnyone, {"uncleanly shut down, renaming and replacing"}, "systemd-journald", "The journal was not closed"},
};

constexpr Hypothesis kKernelHardwareHypotheses[] = {
    {.id = "reset-power-budget", .explains = {"machine-reset"}, .needs = {"power-over-budget"}, .refuted_by = {"power-within-budget", "kernel-panicked"},
     .title = "The machine went down without a shutdown, and its GPUs may take almost all that its power supply gives",
     .cause = "The GPUs' power limits leave too little for the rest: when they go from idle to load, the supply switches off.",
     .remedy = "nvidia-smi -pl WATTS on each GPU, so that all limits and the processors stay below the supply's capacity (at each boot); for good a larger supply.",
     .settle_by = "dmidecode -t 39; nvidia-smi --query-gpu=power.limit --format=csv",
     .source = "github.com/olafkfreund/nixos_config/pull/1396"},
    {.id = "reset-by-panic", .explains = {"machine-reset"}, .needs = {"kernel-panicked"}, .refuted_by = {"pstore-empty"},
     .title = "The machine went down by a panic of its kernel",
     .cause = "The kernel panicked; its last lines name the place.",
     .remedy = "Read the trace in /sys/fs/pstore, /var/crash or the serial console: the first module in square brackets is the suspect. Update it, and the kernel.",
     .settle_by = "ls /sys/fs/pstore /var/crash; journalctl -k -b -1 -e",
     .source = "Linux kernel/panic.c"},
    {.id = "reset-by-hardware", .explains = {"machine-reset"}, .needs = {"pstore-empty"}, .refuted_by = {"kernel-panicked"},
     .title = "The machine went down without a shutdown, and its kernel recorded nothing",
     .cause = "No panic was kept, so the kernel did not end it: power, firmware or hardware of this machine did. These lines cannot tell which.",
     .remedy = "Look at the BMC's event log (ipmitool sel elist) and run the maker's diagnostic on that machine (DGX Spark: sudo ./partnerdiag --field; elsewhere "
     "dcgmi diag -r 3). Exchange it with another of the same kind: what goes with the machine is its hardware.",
     .settle_by = "journalctl -b -1 -e; ls /sys/fs/pstore; the maker's diagnostic",
     .source = "github.com/tonyd2wild/DeepSeek-v4-Flash-Vision-Exp-DSpark-1M-NVFP4-KV-2x-DGX-Spark/issues/31"},
    {.id = "machine-check", .explains = {"machine-check"}, .stated = true,
     .cause = "The processor's own checks found an error in it, in memory or on a bus (a PCIe device that did not answer counts here, too); the bank and status in the message name the part.",
     .remedy = "ras-mc-ctl --errors, mcelog or the BMC's event log (ipmitool sel elist) name the module, socket or slot. Drain the node. Memory: replace the module. A bus: look at that device first. A processor: BIOS and microcode, then swap the sockets to see what the fault follows.",
     .source = "Linux Documentation/arch/x86/x86_64/machinecheck.rst"},
    {.id = "machine-check-logged", .explains = {"machine-check-logged"}, .stated = true,
     .cause = "The record was made without an exception: the error was corrected, or the record is of before a restart. Bit 61 of the status (a first hexadecimal digit of a, b, e or f) is set if it was not corrected.",
     .remedy = "ras-mc-ctl --errors or the BMC's event log (ipmitool sel elist) name the module, socket or slot. Not corrected, or many of one part: drain the node. A memory module is to be replaced; for a bus look at the device in that slot, for a processor at BIOS and microcode first.",
     .source = "Linux arch/x86/kernel/cpu/mce/core.c"},
    {.id = "boot-error-record", .explains = {"boot-error-record"}, .stated = true,
     .cause = "The lines below it have the severity and the part: memory (with the module), a PCIe device (with its address) or a processor. After a reset by hand or a loss of power some firmware leaves such a record, too.",
     .remedy = "Read \"event severity\", section_type and what follows; the BMC's event log of that moment (ipmitool sel elist) has the same by slot. Fatal: drain the node. A memory module is to be replaced; with a PCIe device look first at what it did then (a reset, its driver, ASPM), and at its seat and riser.",
     .source = "UEFI specification, Appendix N; Linux drivers/acpi/apei"},
    {.id = "hardware-fatal", .explains = {"hardware-fatal"}, .stated = true,
     .cause = "The firmware found an error that cannot be corrected; the lines below it name the section: memory (with the module), a PCIe device (with its address) or a processor.",
     .remedy = "Read section_type and what follows; the BMC's event log of that moment (ipmitool sel elist) has the same by slot. Drain the node. A memory module is to be replaced; with a PCIe device look first at what it did then (a reset, its driver, ASPM), and at its seat and riser.",
     .source = "UEFI specification, Appendix N; Linux drivers/acpi/apei; github.com/olafkfreund/nixos_config/pull/1824"},
    {.id = "hardware-corrected", .explains = {"hardware-corrected"}, .stated = true,
     .cause = "The firmware corrected it; the lines below name the section (memory, PCIe, processor). One is no fault; many of one part are.",
     .remedy = "Count them by module or address; many: plan its replacement.",
     .source = "Linux drivers/acpi/apei/ghes.c"},
    {.id = "memory-corrected", .explains = {"memory-corrected"}, .stated = true,
     .cause = "ECC corrected errors of the module in the message (its label, or socket, channel and slot). Single ones are normal; many at one module precede an error that cannot be corrected.",
     .remedy = "ras-mc-ctl --error-count; more than some per day at one module: replace it at the next maintenance.",
     .source = "Linux Documentation/admin-guide/ras.rst"},
    {.id = "memory-uncorrected", .explains = {"memory-uncorrected"}, .stated = true,
     .cause = "The module in the message (its label, or socket, channel and slot) has an error that ECC could not correct.",
     .remedy = "Drain the node and replace the module; the BMC's event log names its slot.",
     .source = "Linux Documentation/admin-guide/ras.rst"},
    {.id = "processor-hot", .explains = {"processor-hot", "processor-hot-older"}, .stated = true,
     .cause = "The processor reached its limit of temperature and lowered its clock by itself.",
     .remedy = "ipmitool sdr type Temperature; ipmitool sdr type Fan; the BMC's fan mode; dust, blank panels, the heat sink's seat, inlet temperature. The total in the message grows while it lasts.",
     .source = "Linux drivers/thermal/intel/therm_throt.c"},
    {.id = "acpi-bios-error", .explains = {"acpi-bios-error"}, .stated = true,
     .cause = "A table of the BIOS names something that it does not define, or defines it twice; the kernel leaves it out.",
     .remedy = "Nothing, unless a device is missing; then update the BIOS.",
     .source = "Linux drivers/acpi/acpica"},
};
// clang-format on

}  // namespace

Table kernel_hardware() { return {kKernelHardwareSymptoms, kKernelHardwareHypotheses}; }

}  // namespace railbed::diagnose::tables
