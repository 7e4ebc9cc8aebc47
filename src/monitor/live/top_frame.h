// Draws a view for `railbed top` as lines of text: a pure function of the view, of the user's place in it,
// and of the terminal's size and abilities. Text that comes from nodes is made printable here.
//
// A frame has a head (title, health, the sentence for a pager), then the part of one long body that fits:
// findings, nodes, rails, GPUs, events. The body is scrolled so that the selected finding is visible.
#pragma once

#include <string>
#include <vector>

#include "monitor/live/live_view.h"

namespace railbed {

// The size and the abilities of the terminal.
struct TopStyle {
  int width = 80;
  int height = 24;  // 0 for no limit
  bool colour = false;
  bool unicode = true;  // otherwise only ASCII
};

// The user's place in the view.
struct TopPlace {
  std::size_t selected = 0;  // index of a finding
  std::size_t scrolled = 0;  // lines of the body above the first one shown
  bool opened = false;       // whether the selected finding's remedy and history are shown
  bool faults_only = false;
  bool help = false;
};

// Returns at most `height` lines (all lines if it is 0) of at most `width` characters.
std::vector<std::string> top_frame(const LiveView& view, const TopPlace& place, const TopStyle& style);

enum class TopKey { kQuit, kUp, kDown, kPageUp, kPageDown, kOpen, kFaults, kHelp };
// Returns the user's place after a key. kQuit changes nothing.
TopPlace after_key(TopPlace place, TopKey key, const LiveView& view, const TopStyle& style);

}  // namespace railbed
