// The basic shapes of the pictures. Units are SVG user units; text that might not fit is cut.
#pragma once

#include <string_view>

#include "report/page/html.h"
#include "report/picture/scene.h"

namespace railbed::svg {

struct Box {
  double x = 0;
  double y = 0;
  double width = 0;
  double height = 0;
  double right() const { return x + width; }
  double bottom() const { return y + height; }
  double middle() const { return y + height / 2; }
  double centre() const { return x + width / 2; }
};

enum class Anchor { kStart, kMiddle, kEnd };

// A style of lettering: its CSS class and its height.
struct Face {
  std::string_view css;
  double size = 12;
  double weight = 1;  // width relative to regular letters
};
inline constexpr Face kName{"name", 16, 1.15};
inline constexpr Face kLabel{"label", 13, 1.13};
inline constexpr Face kNote{"note", 11.5};
inline constexpr Face kTiny{"tiny", 10};

// Draws text; `width` is the room for it.
Html text(double x, double y, double width, Face face, std::string_view content,
          Anchor anchor = Anchor::kStart, std::string_view more_css = "");
Html rect(const Box& box, double radius, std::string_view css);
Html line(double x1, double y1, double x2, double y2, std::string_view css);
// Draws a tick, an exclamation mark, a cross, a question mark or a dash in a disc, so that health never
// depends on color alone.
Html mark(double x, double y, double radius, Health health);
// Makes a group with a tooltip; `inside` is drawn as is.
Html group(std::string_view css, std::string_view title, const Html& inside);
Html picture(double width, double height, std::string_view css, std::string_view title,
             std::string_view description, const Html& inside);

}  // namespace railbed::svg
