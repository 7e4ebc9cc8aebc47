// GPUDirect Storage: cuFile's settings, NVIDIA's kernel module, and what gdscheck prints.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "base/reading.h"

namespace railbed {

class Host;

// A line of gdscheck's DRIVER CONFIGURATION: "NVMe : Supported", since 1.16 "NVMe : nvfs, compat".
struct GdsDriver {
  std::string name = {};  // "NVMe", "NVMe P2PDMA", "NFS"
  std::vector<std::string> modes =
      {};  // "Supported", "Unsupported"; since 1.16 of "p2pdma", "nvfs", "dmabuf", "compat"
  FIELDS(GdsDriver, name, modes);
};

// What `gdscheck -p` prints, GDS 0.9 to 1.17. Values that it does not print are empty.
struct GdsCheck {
  std::string release = {};    // "1.13.1.3"; empty: cut off
  std::string nvidia_fs = {};  // "2.20"; empty: the kernel module is not loaded
  std::vector<GdsDriver> drivers = {};
  std::optional<bool> compat_allowed =
      {};  // properties.use_compat_mode: transfers may be staged in host memory
  std::optional<bool> compat_forced = {};  // properties.force_compat_mode: all are
  std::string iommu = {};                  // of the platform: "disabled", "Pass-through or enabled"
  std::string warning = {};                // what follows "WARN:"
  int gpus = 0;                            // GPUs that are listed
  int gpus_supported = 0;                  // those with "supports GDS"
  FIELDS(GdsCheck, release, nvidia_fs, drivers, compat_allowed, compat_forced, iommu, warning, gpus,
         gpus_supported);
};

struct CufileSettings {
  std::optional<bool> allow_compat_mode = {};
  std::optional<bool> force_compat_mode = {};
  std::optional<bool> use_pci_p2pdma = {};
  FIELDS(CufileSettings, allow_compat_mode, force_compat_mode, use_pci_p2pdma);
};

struct Gds {
  Reading<std::string> nvidia_fs;  // /proc/driver/nvidia-fs/version; absent: the module is not loaded
  Reading<CufileSettings> cufile;  // /etc/cufile.json; absent: cuFile's defaults
  Reading<GdsCheck> check;         // gdscheck -p, where CollectOptions::gds asks for it
  FIELDS(Gds, nvidia_fs, cufile, check);
};

// Return what the text says; nullopt if it is another text. Untrusted.
std::optional<GdsCheck> parse_gdscheck(std::string_view text);
// Reads JSON with comments, as NVIDIA's file has them.
std::optional<CufileSettings> parse_cufile(std::string_view text);
// Returns a file with the settings that parse_cufile() reads, and nothing else.
std::string used_cufile(std::string_view text);

// Runs gdscheck only if `asked`, and only where no other user can change it.
Gds collect_gds(Host& host, bool asked);

// Returns whether files on local NVMe drives reach GPUs without host memory, and how: "nvidia-fs", "P2PDMA"; empty if not.
std::string direct_way_of_nvme(const GdsCheck& check);
// Returns the drives and file systems that do: "NVMeOF", "NFS".
std::vector<std::string> direct_storage(const GdsCheck& check);

}  // namespace railbed
