#include "report/page_sections.h"

namespace railbed {

std::string_view page_style() {
  return R"css(
:root{--paper:#fbfbf9;--panel:#f3f3ef;--ink:#1c1e21;--quiet:#5c6168;--rule:#dcdcd6;--edge:#c4c5be;
--good:#256b45;--warn:#875400;--bad:#b42318;--unknown:#6a4aa3;--gone:#6b6f75;
--good-wash:#eef4ef;--warn-wash:#faf1df;--bad-wash:#fbeae7;--unknown-wash:#f1ecf8;--tcp:#7d8794;--rdma:#0d6f93;--wire:#8a9097}
@media (prefers-color-scheme:dark){:root{--paper:#15171a;--panel:#1d2024;--ink:#e8e9ea;--quiet:#a3a8af;--rule:#2e3237;--edge:#464b52;
--good:#7cc69a;--warn:#e3b04b;--bad:#ff8f83;--unknown:#c0a6f2;--gone:#8d9299;
--good-wash:#18221c;--warn-wash:#2a2313;--bad-wash:#321b19;--unknown-wash:#231d30;--tcp:#929cab;--rdma:#4fb3d6;--wire:#747a82}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;text-size-adjust:100%}
body{margin:0;background:var(--paper);color:var(--ink);
font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
main{max-width:1040px;margin:0 auto;padding:48px 20px 64px;overflow-wrap:anywhere}
code,pre{font-family:ui-monospace,"SF Mono",Menlo,Consolas,"Liberation Mono","DejaVu Sans Mono",monospace;font-size:.875em}
h1{font-size:clamp(1.5rem,1.1rem + 1.7vw,2.25rem);line-height:1.2;font-weight:650;letter-spacing:-.015em;margin:10px 0 18px;max-width:30em;text-wrap:balance}
h2{font-size:1.25rem;font-weight:650;letter-spacing:-.01em;margin:56px 0 18px;padding-top:14px;border-top:1px solid var(--rule)}
h3{font-size:1.0625rem;font-weight:600;line-height:1.4;margin:0 0 8px}
h4{font-size:.8125rem;font-weight:600;color:var(--quiet);margin:22px 0 6px}
p{margin:8px 0}
.quiet{color:var(--quiet)}.good{color:var(--good)}.warn{color:var(--warn)}.bad{color:var(--bad)}.unknown{color:var(--unknown)}.gone{color:var(--gone)}
.unseen{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
.eyebrow{display:flex;flex-wrap:wrap;gap:4px 18px;margin:0;font-size:.875rem;color:var(--quiet)}
.eyebrow strong{color:var(--ink);font-weight:600}
header h1{color:var(--ink);border-left:4px solid currentColor;padding-left:16px}
header .figures,header .eyebrow{color:var(--ink)}
header.good h1{border-color:var(--good)}header.warn h1{border-color:var(--warn)}header.bad h1{border-color:var(--bad)}header.unknown h1{border-color:var(--unknown)}
ul.tallies{display:flex;flex-wrap:wrap;gap:6px 22px;margin:0;padding:0;list-style:none;font-size:.9375rem;font-weight:550}
.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(190px,1fr));gap:1px;margin:30px 0 0;background:var(--rule);border:1px solid var(--rule);border-radius:10px;overflow:hidden}
.figure{background:var(--paper);padding:16px 18px}
.figure dt{font-size:.8125rem;color:var(--quiet)}
.figure dd{margin:4px 0 0}
.figure strong{display:block;font-size:1.375rem;line-height:1.25;font-weight:620;letter-spacing:-.01em;font-variant-numeric:tabular-nums}
.figure small{font-size:.8125rem;color:var(--quiet)}
.key::before{content:"";display:inline-block;width:.7em;height:.7em;border-radius:2px;margin-right:.45em;background:var(--tcp)}
.key.rdma::before{background:var(--rdma)}
.cluster{margin:0}
.picture{display:block;width:100%;height:auto}
.picture.narrow{display:none}
@media (max-width:720px){.picture.wide{display:none}.picture.narrow{display:block}}
.picture text{fill:var(--ink);font-family:inherit}
.picture .name{font-size:16px;font-weight:620}.picture .label{font-size:13px;font-weight:550}.picture .note{font-size:11.5px}.picture .tiny{font-size:10px}
.picture text.quiet{fill:var(--quiet)}.picture text.good{fill:var(--good)}.picture text.warn{fill:var(--warn)}.picture text.bad{fill:var(--bad)}.picture text.unknown{fill:var(--unknown)}.picture text.gone{fill:var(--gone)}
.body{fill:var(--panel);stroke:var(--edge)}
.node.bad>.body{stroke:var(--bad);stroke-width:1.5}.node.warn>.body{stroke:var(--warn)}
.node.gone>.body{fill:none;stroke:var(--gone);stroke-dasharray:5 4}.node.gone text{fill:var(--gone)}
.chip{fill:var(--paper);stroke:var(--edge)}
.port.bad>.chip,.gpu.bad>.chip{fill:var(--bad-wash);stroke:var(--bad);stroke-width:1.5}.port.warn>.chip,.gpu.warn>.chip{fill:var(--warn-wash);stroke:var(--warn)}
.port.unknown>.chip,.gpu.unknown>.chip{fill:var(--unknown-wash);stroke:var(--unknown)}.port.gone>.chip{fill:none;stroke:var(--gone);stroke-dasharray:4 3}
.pcie{fill:none;stroke:var(--edge);stroke-width:1}.trunk{stroke-width:3;stroke-linecap:round}
.wire{fill:none;stroke:var(--wire);stroke-width:2.5}
.manage{fill:none;stroke:var(--edge);stroke-width:1.5;stroke-dasharray:2 3}.management{margin-top:26px}
.fine .wire{stroke-width:1.5}
.rail.good .wire{stroke:var(--wire)}.rail.warn .wire{stroke:var(--warn)}.rail.unknown .wire{stroke:var(--unknown)}
.rail.bad .wire{stroke:var(--bad);stroke-dasharray:7 5}.rail.gone .wire{stroke:var(--gone);stroke-dasharray:2 5}
.switch{fill:var(--paper);stroke:var(--wire);stroke-width:1.5}.rail.bad .switch{stroke:var(--bad)}.rail.warn .switch{stroke:var(--warn)}
.mark circle{fill:currentColor}.mark path{fill:none;stroke:var(--paper);stroke-width:.24;stroke-linecap:round;stroke-linejoin:round}
.cell.good{fill:var(--good);opacity:.34}.cell.bad{fill:var(--bad)}.cell.warn{fill:var(--warn)}.cell.unknown{fill:var(--unknown)}.cell.gone{fill:var(--gone)}
.finding{border-left:3px solid currentColor;padding:2px 0 2px 18px;margin:0 0 30px}
.finding>*{color:var(--ink)}
.finding .status{margin:0 0 2px;font-size:.8125rem;font-weight:600}
.finding.bad .status{color:var(--bad)}.finding.warn .status{color:var(--warn)}.finding.unknown .status{color:var(--unknown)}
.rule{color:var(--quiet);font-weight:400;margin-left:.5em}
.sign{display:inline-block;min-width:1em}
.commands{position:relative;margin:10px 0}
pre{margin:0;padding:11px 14px;background:var(--panel);border:1px solid var(--rule);border-radius:7px;overflow-x:auto;white-space:pre;line-height:1.5}
.commands pre{padding-right:74px}
.commands button{position:absolute;top:6px;right:6px;font:inherit;font-size:.75rem;padding:3px 9px;border:1px solid var(--edge);border-radius:5px;background:var(--paper);color:var(--ink);cursor:pointer}
dl{margin:10px 0}
.finding dl{display:grid;gap:4px;font-size:.875rem}
.finding dl div{display:grid;grid-template-columns:6.5em 1fr;gap:8px}
dt{color:var(--quiet)}dd{margin:0}
details{margin:10px 0}
summary{cursor:pointer;padding:3px 0}
summary:focus-visible,.scroll:focus-visible,button:focus-visible{outline:2px solid var(--rdma);outline-offset:2px;border-radius:3px}
.consequences{margin:8px 0;padding-left:0;list-style:none;font-size:.9375rem}
.consequences li{padding:4px 0 4px 16px;border-left:1px solid var(--rule)}
.scroll{overflow-x:auto;overflow-wrap:normal;margin:6px 0}
table{border-collapse:collapse;width:100%;font-size:.875rem;font-variant-numeric:tabular-nums}
th,td{text-align:left;vertical-align:top;padding:6px 18px 6px 0;border-bottom:1px solid var(--rule);white-space:nowrap}
th{font-weight:550;color:var(--quiet)}
td.number,th.number{text-align:right}
.methods td:last-child{white-space:normal;min-width:24em}
dl.facts{display:grid;grid-template-columns:repeat(auto-fill,minmax(220px,1fr));gap:10px 24px;font-size:.875rem}
dl.facts dt{font-size:.8125rem}
.node-facts{border-bottom:1px solid var(--rule);margin:0;padding:8px 0}
.path{margin:0 0 44px}
.path h3 span{font-weight:450}
.path h3 .quiet{font-size:.875rem;font-weight:400;margin-left:.4em}
.meaning{list-style:none;margin:0 0 14px;padding:0;font-size:.9375rem}
.meaning .remark{color:var(--quiet);padding-left:1.15em}
.legend{display:flex;flex-wrap:wrap;gap:4px 20px;font-size:.875rem}
.panels{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,400px),1fr));gap:20px 44px}
.chart{table-layout:auto}
.chart caption{text-align:left;font-size:.875rem;font-weight:550;padding:0 0 8px}
.chart th,.chart td{border:0;padding:2px 12px 2px 0;vertical-align:middle}
.chart th[scope=row]{color:var(--ink);font-weight:450}
.chart .engine{color:var(--quiet);font-size:.8125rem}
.chart td.number{padding-right:0}.chart td.number+td.number,.chart th.number+th.number{padding-left:12px}
.chart th.number{padding-right:0;font-size:.8125rem}
.bandwidth tr:has(th[scope=row]:not(:empty)) td,.bandwidth tr:has(th[scope=row]:not(:empty)) th{padding-top:9px}
.track{width:100%}
.track div{position:relative;height:15px}
.track b{display:block;height:15px;min-width:1px;border-radius:0 2px 2px 0;background:var(--tcp)}.track b.rdma{background:var(--rdma)}
.track i{position:absolute;display:block}
.track .spread{top:7px;height:1px;background:var(--ink);min-width:1px}
.tick{width:0;height:21px;border-left:2px solid var(--ink)}
.track .tick{top:-3px;margin-left:-1px}
.tick.nominal{border-left-style:dotted;border-color:var(--quiet)}
.legend .tick{display:inline-block;height:.9em;vertical-align:-.1em;margin-right:.35em}
.dots div{height:26px}
.track .dot{width:12px;height:12px;top:7px;margin-left:-6px;border-radius:50%;background:var(--tcp);box-shadow:0 0 0 2px var(--paper)}
.track .dot.rdma{background:var(--rdma);border-radius:2px;transform:rotate(45deg) scale(.86)}
.track .between{top:12px;height:2px;background:var(--edge)}
.track .grid{top:0;bottom:0;border-left:1px solid var(--rule)}
.axis div{height:18px}
.axis .decade{top:0;transform:translateX(-50%);font-size:.75rem;line-height:18px;font-style:normal;color:var(--quiet);white-space:nowrap}
.axis .decade.first{transform:none}.axis .decade.last{transform:translateX(-100%)}
.chart td.axis{font-size:.75rem}
.spark{display:flex;flex-wrap:wrap;align-items:center;gap:4px 12px;margin:12px 0 0;font-size:.8125rem}
.spark .key{min-width:4.2em}
.spark svg{width:180px;height:24px;border-bottom:1px solid var(--rule)}
.spark polyline{fill:none;stroke:var(--tcp);stroke-width:1.5;vector-effect:non-scaling-stroke}.spark polyline.rdma{stroke:var(--rdma)}
.bars th[scope=row]{white-space:normal;min-width:15em}.bars td.quiet:not(.number),.bars td.bad{white-space:normal;min-width:9em;padding-left:12px}
.bars td.number.quiet{padding-left:12px}.track b.bad{background:var(--bad)}
.caption,.heat caption{text-align:left;font-size:.875rem;font-weight:550;margin:0;padding:0 0 8px}
.heat{width:auto;margin-top:18px}
.heat th,.heat td{padding:5px 9px;border:1px solid var(--paper);text-align:right}
.heat tbody td{background:color-mix(in srgb,var(--bad) var(--lack,0%),var(--good-wash))}
.heat tbody td.quiet{background:none}.heat td.failed{background:var(--bad);color:var(--paper);font-weight:700}
.square{display:block;width:100%;max-width:560px;background:var(--panel)}
.h0{fill:var(--ink);background:var(--ink)}.h1{fill:var(--bad);background:var(--bad)}.h2{fill:color-mix(in srgb,var(--bad) 70%,var(--good-wash))}
.h3{fill:color-mix(in srgb,var(--bad) 45%,var(--good-wash));background:color-mix(in srgb,var(--bad) 45%,var(--good-wash))}
.h4{fill:color-mix(in srgb,var(--bad) 20%,var(--good-wash))}.h5{fill:color-mix(in srgb,var(--good) 30%,var(--paper));background:color-mix(in srgb,var(--good) 30%,var(--paper))}
.scale i{display:inline-block;width:.9em;height:.9em;margin-left:.6em;vertical-align:-.1em}
.plot{position:relative;height:240px;margin:14px 26px 34px 84px}
.plot svg{position:absolute;inset:0;width:100%;height:100%;overflow:visible}
.plot path,.plot polyline{fill:none;vector-effect:non-scaling-stroke;stroke-width:1;stroke:var(--rule)}
.plot polyline{stroke:var(--rdma);stroke-width:2}.plot path.limit{stroke:var(--ink);stroke-width:2}
.plot polygon.band{fill:var(--rdma);opacity:.16;stroke:none}.plot polyline.forecast{stroke-width:1;stroke-dasharray:4 3}
.plot svg{border-left:1px solid var(--edge);border-bottom:1px solid var(--edge)}
.plot i{position:absolute;font-style:normal;font-size:.75rem;line-height:1;white-space:nowrap;color:var(--quiet)}
.plot .y{right:100%;padding-right:8px;transform:translateY(50%)}
.plot .x{top:100%;padding-top:8px;transform:translateX(-50%)}
.plot i.limit{left:8px;padding-bottom:4px;color:var(--ink)}
.plot i.limit.low{padding:0;transform:translateY(100%)}
.plot .point{width:9px;height:9px;margin:0 0 -4.5px -4.5px;border-radius:50%;background:var(--rdma)}
.plot .point.bad{width:17px;height:17px;margin:0 0 -8.5px -8.5px;background:var(--bad);color:var(--paper);font-weight:700;line-height:17px;text-align:center}
.stack{display:flex;height:34px;margin:6px 0 10px;border-radius:4px;overflow:hidden}
.stack b{display:block;min-width:2px}
.stack .alone,.key.alone::before{background:var(--tcp)}.stack .exposed,.key.exposed::before{background:var(--bad)}
.stack .hidden,.key.hidden::before{background:repeating-linear-gradient(45deg,var(--rdma) 0 5px,var(--tcp) 5px 10px)}
ul.legend{list-style:none;padding:0;margin:0 0 18px}
footer{font-size:.875rem}
@media (max-width:720px){main{padding:28px 16px 48px}h2{margin-top:44px}.finding{padding-left:14px}.finding dl div{grid-template-columns:1fr;gap:0}
.figures{grid-template-columns:1fr 1fr}.figure{padding:12px 14px}.figure strong{font-size:1.125rem}
.bars th[scope=row]{min-width:6.5em}.bars td.quiet:not(.number),.bars td.bad{min-width:4em}.bars .track{min-width:40px}.bars .aside{display:none}
.axis .decade.mid{display:none}}
@media print{
:root{color-scheme:light;--paper:#fff;--panel:#f6f6f3;--ink:#000;--quiet:#4a4e54;--rule:#d0d0ca;--edge:#a9aaa4;
--good:#256b45;--warn:#875400;--bad:#b42318;--unknown:#6a4aa3;--gone:#6b6f75;--good-wash:#eef4ef;--warn-wash:#faf1df;--bad-wash:#fbeae7;--unknown-wash:#f1ecf8;--tcp:#7d8794;--rdma:#0d6f93;--wire:#8a9097}
*{print-color-adjust:exact;-webkit-print-color-adjust:exact}
body{font-size:10.5pt}main{max-width:none;padding:0}
.picture.wide{display:block}.picture.narrow,.commands button{display:none}
details::details-content{content-visibility:visible;display:block;height:auto}
.finding,.panel,.figures,.picture,.spark,tr{break-inside:avoid}h2,h3,h4,summary,caption{break-after:avoid}
.scroll{overflow:visible}.scroll th,.scroll td{white-space:normal;padding-right:8pt}pre{white-space:pre-wrap}
@page{margin:16mm 14mm}}
)css";
}

// Conveniences only: a button that copies, and everything unfolded on paper.
std::string_view page_script() {
  return R"js(
document.querySelectorAll(".commands").forEach(function(box){
  var button=document.createElement("button");button.type="button";button.textContent="Copy";
  button.addEventListener("click",function(){
    navigator.clipboard.writeText(box.querySelector("code").textContent).then(function(){
      button.textContent="Copied";setTimeout(function(){button.textContent="Copy"},1500)})});
  if(navigator.clipboard)box.appendChild(button)});
addEventListener("beforeprint",function(){document.querySelectorAll("details:not([open])").forEach(function(d){d.open=true;d.dataset.shut="1"})});
addEventListener("afterprint",function(){document.querySelectorAll("details[data-shut]").forEach(function(d){d.open=false})});
)js";
}

}  // namespace railbed
