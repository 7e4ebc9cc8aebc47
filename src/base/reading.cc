#include "base/reading.h"

namespace railbed {

const Miss& not_collected() {
  static const Miss kMiss{Missing::kAbsent, "not collected"};
  return kMiss;
}

namespace {

thread_local OriginPool* pool = nullptr;

// Sources are untrusted text, so the pool is bounded: long texts, and any beyond this number, are not shared.
constexpr std::size_t kMostShared = 16'384;
constexpr std::size_t kLongestShared = 512;

}  // namespace

SharedOrigin make_origin(std::string from, std::optional<Miss> miss) {
  if (from.empty() && !miss) return nullptr;
  if (pool != nullptr) return pool->find_or_make(std::move(from), std::move(miss));
  return std::make_shared<const Origin>(Origin{std::move(from), std::move(miss)});
}

OriginPool::OriginPool() : before_(std::exchange(pool, this)) {}
OriginPool::~OriginPool() { pool = before_; }

SharedOrigin OriginPool::find_or_make(std::string from, std::optional<Miss> miss) {
  std::string key = from;
  if (miss) ((key += '\0') += static_cast<char>(miss->missing)) += miss->why;
  const bool shared = key.size() <= kLongestShared;
  if (shared)
    if (const auto known = origins_.find(key); known != origins_.end()) return known->second;
  auto made = std::make_shared<const Origin>(Origin{std::move(from), std::move(miss)});
  if (shared && origins_.size() < kMostShared) origins_.emplace(std::move(key), made);
  return made;
}

std::string describe(const Miss& miss, std::string_view from) {
  std::string text(enum_names(miss.missing)[static_cast<std::size_t>(miss.missing)]);
  if (!miss.why.empty()) text += ": " + miss.why;
  if (!from.empty()) text += " (" + std::string(from) + ")";
  return text;
}

}  // namespace railbed
