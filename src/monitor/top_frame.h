// What `railbed top` shows of a view, as lines of text: a pure function of the view, of where the person is
// in it, and of the terminal's size and abilities. What came from nodes is made harmless here.
//
// A frame has a head (who, how it stands, the sentence that a pager would read), then as much as fits of one
// long body: findings, nodes, rails, GPUs, events. The body is shown from where the selected finding is in
// sight.
#pragma once

#include <string>
#include <vector>

#include "monitor/live_view.h"

namespace railbed {

struct TopStyle {
  int width = 80;
  int height = 24;  // 0: as many lines as there are
  bool colour = false;
  bool unicode = true;  // else ASCII alone
};

struct TopPlace {
  std::size_t selected = 0;  // of the findings
  std::size_t scrolled = 0;  // lines of the body above the first one that is shown
  bool opened = false;       // the selected finding's remedy and story are shown
  bool faults_only = false;
  bool help = false;
};

// At most `height` lines of at most `width` characters.
std::vector<std::string> top_frame(const LiveView& view, const TopPlace& place, const TopStyle& style);

enum class TopKey { kQuit, kUp, kDown, kPageUp, kPageDown, kOpen, kFaults, kHelp };
// Where the person is after a key that does not quit.
TopPlace after_key(TopPlace place, TopKey key, const LiveView& view, const TopStyle& style);

}  // namespace railbed
