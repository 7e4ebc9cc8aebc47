#include "hardware/mig.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iterator>

#include "base/text.h"
#include "hardware/gpu_product.h"

namespace railbed {
namespace {

// A shape of GPU: 7 slices of multiprocessors over 8 of memory (A100 and what followed it), or 4 over 4 (A30, RTX PRO 6000).
// The profiles and their places: MIG user guide, "Supported MIG Profiles", and its output of `nvidia-smi mig -lgipp`.
struct Shape {
  int compute;
  int memory;
};
constexpr Shape kSeven{7, 8};
constexpr Shape kFour{4, 4};
constexpr int kMediaEngines = 4;  // of RTX PRO 6000

struct ProfileShape {
  int compute;
  int memory;
  std::vector<int> starts;
  int most;
  std::string_view suffix;
  int media = 0;
};

// A product of one memory size. `sizes` are the gigabytes in the names of profiles with 1, 2, 4 and all slices of memory.
struct MigProduct {
  std::string_view name;
  int memory_gb;
  Shape shape;
  std::array<int, 4> sizes;
  bool graphics = false;  // it has profiles for graphics, without media engines and with all of them
};

// Names: the MIG user guide for A30, A100, H100, H200, B200 and RTX PRO 6000; the others by the default configuration of
// github.com/NVIDIA/mig-parted (deployments/systemd/config-default.yaml). GB200's profiles were renamed between drivers:
// github.com/NVIDIA/gpu-operator/pull/1303 has the older names.
constexpr MigProduct kMigProducts[] = {
    {"A30", 24, kFour, {6, 12, 24, 24}},        {"A100", 40, kSeven, {5, 10, 20, 40}},
    {"A100", 80, kSeven, {10, 20, 40, 80}},     {"A800", 40, kSeven, {5, 10, 20, 40}},
    {"A800", 80, kSeven, {10, 20, 40, 80}},     {"H100", 80, kSeven, {10, 20, 40, 80}},
    {"H100", 94, kSeven, {12, 24, 47, 94}},     {"H100", 96, kSeven, {12, 24, 48, 96}},
    {"H800", 80, kSeven, {10, 20, 40, 80}},     {"H800", 94, kSeven, {12, 24, 47, 94}},
    {"H20", 96, kSeven, {12, 24, 48, 96}},      {"H200", 141, kSeven, {18, 35, 71, 141}},
    {"GH200", 96, kSeven, {12, 24, 48, 96}},    {"GH200", 144, kSeven, {18, 36, 72, 144}},
    {"B200", 180, kSeven, {23, 45, 90, 180}},   {"GB200", 186, kSeven, {23, 47, 93, 186}},
    {"GB200", 186, kSeven, {24, 47, 95, 189}},  {"B300", 268, kSeven, {34, 67, 135, 269}},
    {"GB300", 277, kSeven, {35, 70, 139, 278}}, {"RTX PRO 6000", 96, kFour, {24, 48, 96, 96}, true},
};

std::vector<ProfileShape> shapes_of(const MigProduct& product) {
  const std::vector<int> four = {0, 1, 2, 3};
  const std::vector<int> seven = {0, 1, 2, 3, 4, 5, 6};
  if (product.graphics)
    return {{1, 1, four, 4, "", 1},       {1, 1, four, 1, "+me", 1},     {1, 1, four, 4, "+gfx", 1},
            {1, 1, four, 4, "-me"},       {1, 1, four, 1, "+me.all", 4}, {2, 2, {0, 2}, 2, "", 2},
            {2, 2, {0, 2}, 2, "+gfx", 2}, {2, 2, {0, 2}, 2, "-me"},      {2, 2, {0, 2}, 1, "+me.all", 4},
            {4, 4, {0}, 1, "", 4},        {4, 4, {0}, 1, "+gfx", 4}};
  if (product.shape.compute == kFour.compute)
    return {{1, 1, four, 4, ""},
            {1, 1, four, 1, "+me"},
            {2, 2, {0, 2}, 2, ""},
            {2, 2, {0, 2}, 1, "+me"},
            {4, 4, {0}, 1, ""}};
  return {{1, 1, seven, 7, ""},     {1, 1, seven, 1, "+me"}, {1, 2, {0, 2, 4, 6}, 4, ""},
          {2, 2, {0, 2, 4}, 3, ""}, {3, 4, {0, 4}, 2, ""},   {4, 4, {0}, 1, ""},
          {7, 8, {0}, 1, ""}};
}

int size_in_name(const MigProduct& product, int memory) {
  if (memory == product.shape.memory) return product.sizes[3];
  return product.sizes[memory == 1 ? 0 : memory == 2 ? 1 : 2];
}

MigProfiles profiles_of(const MigProduct& product) {
  MigProfiles profiles;
  for (ProfileShape& shape : shapes_of(product))
    profiles.push_back(
        {fmt::format("{}g.{}gb{}", shape.compute, size_in_name(product, shape.memory), shape.suffix),
         shape.compute, shape.memory, std::move(shape.starts), shape.most, shape.media});
  return profiles;
}

// Returns the gigabytes that the name states, "80" of "A100-SXM4-80GB", or those of its product; 0: neither does, as for
// "H100" alone. The size in "GH200 480GB" is its processor's.
int memory_of(std::string_view small, const GpuProduct& product) {
  for (const std::string_view unit : {"gb", "g "}) {
    const std::string text = std::string(small) + ' ';
    const std::size_t end = text.find(unit);
    std::size_t begin = end;
    if (end == std::string::npos) continue;
    while (begin > 0 && is_digit(text[begin - 1])) --begin;
    const auto size = parse_number<int>(std::string_view(text).substr(begin, end - begin));
    if (size && *size != 480) return *size;
  }
  return product.name == "GH200" || small == lower(product.name) ? 0 : product.memory_gb;
}

bool has_memory(const MigProduct& product, int memory) {
  constexpr int kRounded = 150;  // B200 is sold with 192 GB and shows 180
  const int tolerance = product.memory_gb > kRounded ? product.memory_gb / 10 : 0;
  return memory == 0 || std::abs(product.memory_gb - memory) <= tolerance;
}

int total_memory(const MigProfiles& table) { return table.back().memory; }

// The search for places: the largest instances first, each in its first free place.
struct Search {
  const MigProfiles& table;
  std::vector<const MigProfile*> wanted;
  std::vector<MigPlace> found = {};
  unsigned used = 0;  // slices of memory, a bit each

  bool place(std::size_t next) {
    if (next == wanted.size()) return true;
    const MigProfile& profile = *wanted[next];
    for (const int start : profile.starts) {
      const unsigned bits = ((1U << profile.memory) - 1) << start;
      if ((used & bits) != 0) continue;
      used |= bits;
      found.push_back({profile.name, start});
      if (place(next + 1)) return true;
      found.pop_back();
      used &= ~bits;
    }
    return false;
  }
};

const MigProfile* find_profile(const MigProfiles& table, std::string_view name) {
  const auto found = std::ranges::find(table, name, &MigProfile::name);
  return found == table.end() ? nullptr : &*found;
}

void add_names(const MigProfiles& table, std::vector<std::string>& names) {
  for (const MigProfile& profile : table)
    if (std::ranges::find(names, profile.name) == names.end()) names.push_back(profile.name);
}

}  // namespace

MigCapability mig_capability(std::string_view model) {
  const std::string small = lower(model);
  const GpuProduct* product = find_gpu_product(model);
  if (product == nullptr) return {};
  MigCapability capability;
  // H20-3e has other memory, and no published profiles.
  const bool other_edition = small.find("-3e") != std::string::npos;
  for (const MigProduct& row : kMigProducts)
    if (is_gpu_called(model, row.name) && has_memory(row, memory_of(small, *product)) && !other_edition)
      capability.tables.push_back(profiles_of(row));
  if (!capability.tables.empty())
    capability.support = MigSupport::kKnown;
  else if (product->mig == 0 && product->name != "RTX PRO")  // some of that series have MIG
    capability.support = MigSupport::kNone;
  return capability;
}

std::vector<std::string> all_mig_profiles() {
  std::vector<std::string> names;
  for (const MigProduct& product : kMigProducts) add_names(profiles_of(product), names);
  return names;
}

MigInstances mig_instances_of(const std::vector<std::string>& profiles) {
  MigInstances instances;
  for (const std::string& profile : profiles) ++instances[profile];
  return instances;
}

std::string mig_text(const MigInstances& instances) {
  std::string text;
  for (const auto& [profile, count] : instances)
    text += fmt::format("{}{}{}", text.empty() ? "" : " + ", count > 1 ? fmt::format("{} × ", count) : "",
                        profile);
  return text.empty() ? "none" : text;
}

std::optional<std::vector<MigPlace>> place_mig(const MigProfiles& table, const MigInstances& instances) {
  Search search{table, {}};
  int compute = 0;
  int extended = 0;
  int media = 0;
  for (const auto& [name, count] : instances) {
    const MigProfile* profile = find_profile(table, name);
    if (profile == nullptr || count < 0 || count > profile->most) return std::nullopt;
    compute += count * profile->compute;
    if (name.find("+me") != std::string::npos) extended += count;
    media += count * profile->media;
    search.wanted.insert(search.wanted.end(), static_cast<std::size_t>(count), profile);
  }
  if (compute > table.back().compute || extended > 1 || media > kMediaEngines) return std::nullopt;
  std::ranges::stable_sort(search.wanted, [](const MigProfile* a, const MigProfile* b) {
    return std::pair(a->memory, a->compute) > std::pair(b->memory, b->compute);
  });
  if (!search.place(0)) return std::nullopt;
  std::ranges::sort(search.found, {}, &MigPlace::start);
  return std::move(search.found);
}

std::optional<std::vector<MigPlace>> place_mig(std::string_view model, const MigInstances& instances) {
  for (const MigProfiles& table : mig_capability(model).tables)
    if (auto places = place_mig(table, instances)) return places;
  return std::nullopt;
}

std::string mig_fault(std::string_view model, const MigInstances& instances) {
  MigCapability capability = mig_capability(model);
  const std::string who = model.empty() ? "a GPU" : printable(model);
  if (model.empty()) {
    capability.support = MigSupport::kKnown;
    for (const MigProduct& product : kMigProducts) capability.tables.push_back(profiles_of(product));
  }
  if (capability.support == MigSupport::kNone) return fmt::format("{} has no MIG", who);
  if (capability.support == MigSupport::kUnknown) return "";
  std::vector<std::string> names;
  for (const MigProfiles& table : capability.tables) add_names(table, names);
  for (const auto& [profile, count] : instances) {
    if (std::ranges::find(names, profile) != names.end()) continue;
    const std::string meant = did_you_mean(profile, {names.begin(), names.end()});
    const std::string hint = meant.empty() ? ";" : meant;
    if (model.empty())
      return fmt::format("no GPU has a MIG profile \"{}\"{} `nvidia-smi mig -lgip` lists those of a GPU",
                         printable(profile), hint);
    return fmt::format("{} has no MIG profile \"{}\"{} it has {}", who, printable(profile), hint,
                       fmt::join(names, ", "));
  }
  for (const MigProfiles& table : capability.tables)
    if (place_mig(table, instances)) return "";
  int compute = 0;
  int memory = 0;
  const MigProfiles* table = nullptr;
  for (const MigProfiles& one : capability.tables)
    if (std::ranges::all_of(instances,
                            [&](const auto& item) { return find_profile(one, item.first) != nullptr; }))
      table = &one;
  if (table == nullptr)
    return fmt::format("no {} has all of {}", model.empty() ? "GPU" : who, mig_text(instances));
  for (const auto& [profile, count] : instances) {
    compute += count * find_profile(*table, profile)->compute;
    memory += count * find_profile(*table, profile)->memory;
  }
  return fmt::format(
      "{} has no room for {}: they take {} of {} compute slices and {} of {} memory slices, in fixed places",
      who, mig_text(instances), compute, table->back().compute, memory, total_memory(*table));
}

}  // namespace railbed
