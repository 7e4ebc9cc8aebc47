// Multi-Instance GPU: which instances a GPU can be cut into, and where they lie in it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace railbed {

// A profile as `nvidia-smi mig -lgip` and `-lgipp` print it. Slices of memory are counted from 0.
struct MigProfile {
  std::string name;         // "3g.40gb", "1g.10gb+me"
  int compute = 0;          // slices of multiprocessors
  int memory = 0;           // slices of memory, one behind the other
  std::vector<int> starts;  // the first slice of memory, in each place that it may have
  int most = 0;             // instances of it on one GPU
  int media = 0;            // decoders that it takes, where they are fewer than instances could ask for
};
// The profiles of one product, the smallest first.
using MigProfiles = std::vector<MigProfile>;

enum class MigSupport {
  kNone,     // the GPU has no MIG
  kUnknown,  // no table has it: nothing is known of its profiles
  kKnown
};
struct MigCapability {
  MigSupport support = MigSupport::kUnknown;
  // The tables of all products that the name may mean, by their memory or by how releases of the driver call their
  // profiles; empty unless kKnown.
  std::vector<MigProfiles> tables = {};
};
// Returns what is known of a GPU that the driver or a person calls `model`.
MigCapability mig_capability(std::string_view model);
// Returns the names of all profiles of all products, each once.
std::vector<std::string> all_mig_profiles();

// Instances by their profiles: how many of each.
using MigInstances = std::map<std::string, int>;
// Counts profiles: of the devices that a GPU shows.
MigInstances mig_instances_of(const std::vector<std::string>& profiles);
// Returns them as people write them: "3g.40gb + 2 × 1g.10gb".
std::string mig_text(const MigInstances& instances);

struct MigPlace {
  std::string profile;
  int start = 0;  // its first slice of memory
  bool operator==(const MigPlace&) const = default;
};
// Returns a place for each instance, by their starts; nullopt if they do not fit beside each other, or if the table lacks a
// profile.
std::optional<std::vector<MigPlace>> place_mig(const MigProfiles& table, const MigInstances& instances);
// The same for a GPU by its name: the places in the first of its tables in which they fit.
std::optional<std::vector<MigPlace>> place_mig(std::string_view model, const MigInstances& instances);

// Returns why the GPU cannot have these instances, with the profiles that it has; empty if it can, or if nobody knows. An
// empty model means any GPU with MIG.
std::string mig_fault(std::string_view model, const MigInstances& instances);

}  // namespace railbed
