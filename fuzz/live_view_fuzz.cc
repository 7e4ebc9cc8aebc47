// `railbed top --from` shows what anybody's page sends: a view is taken or refused, and what is taken is
// drawn in every way with nothing that a terminal obeys, and written and read again unchanged. Between two
// documents a change is found that leads from the one to the other, as the page's script applies it.
//
// Rooms: monitor report
#include <cstdint>
#include <string>

#include "base/fields.h"
#include "base/json.h"
#include "fuzz/require.h"
#include "monitor/live/live_change.h"
#include "monitor/live/live_view.h"
#include "monitor/live/top_frame.h"

using namespace railbed;

namespace {

struct Shown {  // as ask_live_view.cc reads it
  LiveView view;
  FIELDS(Shown, view);
};

void draw(const LiveView& view) {
  for (const TopStyle style : {TopStyle{}, TopStyle{20, 3, false, false}, TopStyle{200, 0, false, true}})
    for (const TopPlace place : {TopPlace{}, TopPlace{1, 2, true, true, false}, TopPlace{.help = true}}) {
      const auto frame = top_frame(view, place, style);
      require(style.height == 0 || frame.size() <= static_cast<std::size_t>(style.height));
      for (const std::string& line : frame) {
        require_printable(line);
        require(line.find('\n') == std::string::npos);
      }
      for (const TopKey key :
           {TopKey::kUp, TopKey::kDown, TopKey::kPageUp, TopKey::kPageDown, TopKey::kOpen, TopKey::kFaults})
        (void)after_key(place, key, view, style);
    }
}

void take_view(std::string_view text) {
  const auto shown = json::read<Shown>(text);
  if (!shown) return require_printable(shown.error().text);
  const std::string once = json::dump(json::encode(*shown));
  const auto again = json::read<Shown>(once);
  require(again && json::dump(json::encode(*again)) == once);
  draw(shown->view);
}

// As live.js applies it.
json::Value applied(json::Value value, const json::Value& change) {
  if (change.contains("=")) return change["="];
  if (change.contains("+")) {
    value.erase(value.begin(), value.begin() + change["-"].get<std::ptrdiff_t>());
    for (const json::Value& one : change["+"]) value.push_back(one);
    return value;
  }
  for (const auto& [key, inner] : change["*"].items()) {
    json::Value& member = value.is_array() ? value[std::stoul(key)] : value[key];
    member = applied(member, inner);
  }
  return value;
}

bool same(const json::Value& a, const json::Value& b) { return nlohmann::json(a) == nlohmann::json(b); }

// Two documents, with a line between them.
void change(std::string_view text) {
  const auto line = text.find('\n');
  if (line == std::string_view::npos) return;
  const auto before = json::parse(text.substr(0, line));
  const auto now = json::parse(text.substr(line + 1));
  if (!before || !now) return;
  const auto change = change_between(*before, *now);
  require(same(change ? applied(*before, *change) : *before, *now));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  take_view(as_text(data, size));
  change(as_text(data, size));
  return 0;
}
