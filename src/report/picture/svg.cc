#include "report/picture/svg.h"

namespace railbed::svg {

Html text(double x, double y, double width, Face face, std::string_view content, Anchor anchor,
          std::string_view more_css) {
  if (content.empty()) return {};
  constexpr std::string_view kAnchors[] = {"start", "middle", "end"};
  return html(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="{}" class="{} {}">{}</text>)", x, y,
              kAnchors[static_cast<std::size_t>(anchor)], face.css, more_css,
              fit(content, width, face.size * face.weight));
}

Html rect(const Box& box, double radius, std::string_view css) {
  return html(R"(<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" rx="{:.1f}" class="{}"/>)", box.x,
              box.y, box.width, box.height, radius, css);
}

Html line(double x1, double y1, double x2, double y2, std::string_view css) {
  return html(R"(<path d="M{:.1f} {:.1f}L{:.1f} {:.1f}" class="{}"/>)", x1, y1, x2, y2, css);
}

Html mark(double x, double y, double radius, Health health) {
  constexpr std::string_view kStrokes[] = {
      "M-.45 .05L-.12 .38L.45 -.32",                                        // tick
      "M-.28 -.3C-.2 -.62 .32 -.56 .26 -.2C.22 .02 0 .02 0 .2M0 .5L0 .52",  // question mark
      "M0 -.55L0 .15M0 .5L0 .52",                                           // exclamation mark
      "M-.36 -.36L.36 .36M.36 -.36L-.36 .36",                               // cross
      "M-.4 0L.4 0"};                                                       // dash
  return html(
      R"svg(<g transform="translate({:.1f} {:.1f}) scale({:.1f})" class="mark {}"><circle r="1"/><path d="{}"/></g>)svg",
      x, y, radius, css_class(health), kStrokes[static_cast<std::size_t>(health)]);
}

Html group(std::string_view css, std::string_view title, const Html& inside) {
  const Html tooltip = title.empty() ? Html{} : html("<title>{}</title>", title);
  return html(R"(<g class="{}">{}{}</g>)", css, tooltip, inside);
}

Html picture(double width, double height, std::string_view css, std::string_view title,
             std::string_view description, const Html& inside) {
  return html(
      R"(<svg viewBox="0 0 {:.0f} {:.0f}" class="picture {}" role="img" aria-label="{}"><desc>{}</desc>{}</svg>)",
      width, height, css, title, description, inside);
}

}  // namespace railbed::svg
