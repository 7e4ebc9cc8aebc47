#include "report/page/page_sections.h"

namespace railbed {

std::string_view page_style() {
  return
#include "report/page/page.css.text"
      ;
}

// The script is a convenience: a button that copies, and everything unfolded on paper.
std::string_view page_script() {
  return
#include "report/page/page.js.text"
      ;
}

}  // namespace railbed
