// The cluster as inline SVG. Each function draws the whole scene at one of two widths: a page's (wide) or a
// phone's.
#pragma once

#include "report/page/html.h"
#include "report/picture/scene.h"

namespace railbed {

enum class Width { kWide, kNarrow };

// Selects a picture by the number of nodes and draws both widths; CSS shows one of them.
Html draw_cluster(const Scene& scene);

Html draw_pair(const Scene& scene, Width width);    // one or two nodes, every GPU and port
Html draw_spine(const Scene& scene, Width width);   // up to 8 nodes on switches
Html draw_grid(const Scene& scene, Width width);    // up to 32 nodes, ports as squares
Html draw_matrix(const Scene& scene, Width width);  // more: one cell a node and rail, only trouble drawn

// Draws the part below it: the management network, each node's address on it, and its BMC with its state.
// Empty if none of these is known.
Html draw_management(const Scene& scene, Width width);

}  // namespace railbed
