#include "monitor/live_page.h"

#include <fmt/format.h>

#include "base/base64.h"
#include "base/sha256.h"
#include "monitor/live_script.h"
#include "report/page_sections.h"

namespace railbed {
namespace {

constexpr std::string_view kStyle = R"css(
.skip{position:absolute;left:-9999px}.skip:focus{position:fixed;left:12px;top:12px;z-index:2;padding:8px 14px;background:var(--paper);border:2px solid var(--rdma);border-radius:6px;color:var(--ink)}
#todo{max-width:46em;margin:0 0 14px;color:var(--ink)}#todo:empty{display:none}
#lost{position:sticky;top:0;z-index:1;margin:0 0 18px;padding:10px 14px;background:var(--warn-wash);border:1px solid var(--warn);border-radius:7px;font-weight:550}
#lost[hidden]{display:none}
.stale .live{opacity:.5;transition:opacity .4s}
.live tr.stale,.live .node.stale{opacity:.55}
.picture{transition:none}
.finding:focus{outline:2px solid var(--rdma);outline-offset:6px;border-radius:2px}
.finding .since{font-size:.875rem;margin:0 0 6px;color:var(--quiet)}
.finding .before{margin:6px 0;padding-left:1.1em;font-size:.9375rem}
.rail-box,.node-box{border-bottom:1px solid var(--rule);margin:0;padding:6px 0}
.rail-box>summary,.node-box>summary{display:grid;align-items:center;gap:2px 14px;padding:6px 0;list-style-position:inside;font-size:.9375rem;font-variant-numeric:tabular-nums}
.rail-box>summary{grid-template-columns:minmax(9em,1.3fr) minmax(6em,.8fr) minmax(7em,1fr) minmax(7em,1fr) minmax(6em,.8fr)}
.node-box>summary{grid-template-columns:minmax(8em,1fr) minmax(6em,.6fr) minmax(12em,2fr) 9.5em}
#nodes{display:flex;flex-direction:column}.node-box.first{order:-1}
summary .name{font-weight:600}
summary>span:first-child::before{content:"▸";display:inline-block;width:1.1em;color:var(--quiet)}
details[open]>summary>span:first-child::before{content:"▾"}
.node-box>summary:only-child>span:first-child::before{content:""}
.line{display:inline-block;vertical-align:middle;width:72px;height:18px;margin-left:8px;overflow:visible}
.line path{fill:none;stroke:var(--rdma);stroke-width:1.5;vector-effect:non-scaling-stroke}.line.bad path{stroke:var(--bad)}.line.tcp path{stroke:var(--tcp)}
.scroll td{vertical-align:middle}
.rates td{height:2.2rem}.rates td,.rates th{padding-right:14px}
td.why{white-space:normal;min-width:14em}
td .off{color:var(--bad);font-weight:600}
ol.events{list-style:none;margin:0;padding:0;font-size:.875rem}
ol.events li{display:grid;grid-template-columns:8em 7em 1fr;gap:2px 12px;padding:5px 0;border-bottom:1px solid var(--rule)}
dialog{border:1px solid var(--edge);border-radius:10px;background:var(--paper);color:var(--ink);max-width:26em;padding:20px 24px}
dialog::backdrop{background:rgba(0,0,0,.4)}
dialog dl{display:grid;grid-template-columns:5em 1fr;gap:6px 12px}
dialog dl div{display:contents}
kbd{font:inherit;font-weight:600;border:1px solid var(--edge);border-radius:4px;padding:0 6px;background:var(--panel)}
dialog button,footer button{font:inherit;font-size:.875rem;padding:4px 12px;border:1px solid var(--edge);border-radius:6px;background:var(--paper);color:var(--ink);cursor:pointer}
a{color:var(--rdma)}
@media (max-width:720px){
.rail-box>summary{grid-template-columns:1fr 1fr}.node-box>summary{grid-template-columns:1fr 1fr}
.rail-box>summary>span:first-child,.node-box>summary>span:nth-child(3){grid-column:1/-1}
ol.events li{grid-template-columns:1fr auto}ol.events li>span:last-child{grid-column:1/-1}}
@media (prefers-reduced-motion:reduce){*{transition:none!important}}
@media print{#lost,footer button,.skip{display:none}.line{display:none}}
)css";

constexpr std::string_view kBody = R"html(
<a class="skip" href="#findings">Skip to the findings</a>
<main>
<p id="lost" role="status" hidden></p>
<header id="head" class="live unknown"><p class="eyebrow"><strong id="title">railbed</strong><span id="made"></span></p>
<h1 id="sentence">Asking …</h1><p id="todo"></p><ul class="tallies" id="tallies"></ul></header>
<section class="live" aria-labelledby="cluster"><h2 id="cluster">Cluster</h2><div id="picture"></div></section>
<section class="live" aria-labelledby="findings-head"><h2 id="findings-head">Findings</h2><div id="findings" tabindex="-1"></div></section>
<section class="live" aria-labelledby="rails-head"><h2 id="rails-head">Rails</h2><div id="rails"></div></section>
<section class="live" aria-labelledby="nodes-head"><h2 id="nodes-head">Nodes and GPUs</h2><div id="nodes"></div></section>
<section class="live" aria-labelledby="events-head"><h2 id="events-head">Events</h2><ol class="events" id="events"></ol></section>
<footer><p class="quiet"><button type="button" id="keys">Keys</button> <kbd>j</kbd> <kbd>k</kbd> go through the findings.</p></footer>
</main>
<dialog id="help" aria-labelledby="help-head"><h3 id="help-head">Keys</h3><dl>
<div><dt><kbd>j</kbd> <kbd>↓</kbd></dt><dd>the next finding</dd></div><div><dt><kbd>k</kbd> <kbd>↑</kbd></dt><dd>the finding before</dd></div>
<div><dt><kbd>g</kbd></dt><dd>to the top</dd></div><div><dt><kbd>o</kbd></dt><dd>all rails and nodes open, or shut</dd></div>
<div><dt><kbd>?</kbd></dt><dd>this help; Escape shuts it</dd></div></dl>
<form method="dialog"><button>Shut</button></form></dialog>
)html";

std::string sha256_bytes(std::string_view text) {
  const std::string hex = sha256_hex(text);
  std::string bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2)
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return bytes;
}

const std::string& policy() {
  static const std::string kPolicy = fmt::format(
      "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{}'; connect-src 'self'; "
      "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
      base64_encoded(sha256_bytes(live_script())));
  return kPolicy;
}

}  // namespace

std::string live_page() {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
      R"(<meta name="viewport" content="width=device-width, initial-scale=1">)"
      R"(<meta name="color-scheme" content="light dark"><meta name="referrer" content="no-referrer">)"
      "<title>railbed</title>\n<style>{}{}</style></head>\n<body>{}<script>{}</script></body></html>\n",
      page_style(), kStyle, kBody, live_script());
}

std::vector<std::pair<std::string, std::string>> live_headers() {
  return {{"Content-Security-Policy", policy()},
          {"X-Content-Type-Options", "nosniff"},
          {"Referrer-Policy", "no-referrer"}};
}

}  // namespace railbed
