#include "ci/report/style.hpp"

namespace nightgate::report {

// Colours: blue and orange of Okabe and Ito (2008), told apart by colour-blind readers too; text has at least 4.5 : 1.
std::string_view style_sheet() {
  return R"css(:root{--bg:#fff;--fg:#1b1f24;--soft:#57606a;--edge:#d0d7de;--box:#f6f8fa;--good:#0b5cad;--bad:#a33b00;--unsure:#5d4a00;--goodbox:#e8f1fb;--badbox:#fdeee2;--unsurebox:#fbf3d8;--band:#dbe9f8;--line:#0b5cad;color-scheme:light dark}
@media (prefers-color-scheme:dark){:root{--bg:#0d1117;--fg:#e6edf3;--soft:#9da7b3;--edge:#3d444d;--box:#161b22;--good:#6cb6ff;--bad:#ffa657;--unsure:#e3c04f;--goodbox:#10233a;--badbox:#33200f;--unsurebox:#2c2510;--band:#16304e;--line:#6cb6ff}}
*{box-sizing:border-box}
body{margin:0 auto;padding:1.2rem 1rem 4rem;max-width:80rem;background:var(--bg);color:var(--fg);font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;overflow-wrap:anywhere}
h1{font-size:1.65rem;line-height:1.25;margin:.6rem 0}h2{font-size:1.2rem;line-height:1.3;margin:2.4rem 0 .6rem;padding-top:.8rem;border-top:1px solid var(--edge)}
a{color:var(--good)}nav{font-size:.92rem}nav a{display:inline-block;margin-right:1.1rem;padding:.15rem 0}
.lead{font-size:1.12rem;padding:.8rem 1rem;border-left:.4rem solid var(--edge);border-radius:.2rem;background:var(--box);margin:1rem 0}
.lead.good{border-color:var(--good);background:var(--goodbox)}.lead.bad{border-color:var(--bad);background:var(--badbox)}.lead.unsure{border-color:var(--unsure);background:var(--unsurebox)}
.box{overflow-x:auto;margin:.8rem 0}.box:focus-visible,pre:focus-visible{outline:2px solid var(--good);outline-offset:2px}
table{border-collapse:collapse;font-size:.92rem;font-variant-numeric:tabular-nums}
caption{text-align:left;color:var(--soft);padding:.2rem 0 .4rem}
th,td{padding:.34rem .7rem;border-bottom:1px solid var(--edge);text-align:left;vertical-align:top;overflow-wrap:break-word}
thead th{border-bottom:2px solid var(--edge);color:var(--soft);font-weight:600;white-space:nowrap}
tbody th{font-weight:600;min-width:8rem;max-width:26rem}td small{color:var(--soft);font-size:.88em}tbody th small{display:block;font-weight:400;font-size:.88em}td{max-width:30rem}td.w{min-width:15rem}time{white-space:nowrap}td.n,th.n{text-align:right;white-space:nowrap}tbody th.n{min-width:0}
tr.bad th,tr.bad td{background:var(--badbox)}tbody tr:hover th,tbody tr:hover td{background:var(--box)}
.badge{white-space:nowrap;font-weight:600}.badge.good{color:var(--good)}.badge.bad{color:var(--bad)}.badge.unsure{color:var(--unsure)}.badge.plain{color:var(--soft)}
pre{background:var(--box);border:1px solid var(--edge);border-radius:.3rem;padding:.7rem 1rem;overflow-x:auto;font-size:.9rem}
dl{display:grid;grid-template-columns:minmax(7rem,max-content) minmax(0,1fr);gap:.2rem 1rem;margin:.6rem 0}dt{color:var(--soft)}dd{margin:0}
details{margin:.6rem 0}summary{cursor:pointer;padding:.2rem 0}
.soft{color:var(--soft)}.tiles{display:flex;flex-wrap:wrap;gap:.8rem;margin:1rem 0;padding:0;list-style:none}
.tiles li{flex:1 1 9rem;padding:.7rem 1rem;border:1px solid var(--edge);border-radius:.4rem;background:var(--box)}
.tiles b{display:block;font-size:1.5rem;line-height:1.3;font-variant-numeric:tabular-nums}.tiles .bad b{color:var(--bad)}.tiles .good b{color:var(--good)}.tiles .unsure b{color:var(--unsure)}
figure[data-read] .chart-box{direction:rtl}figure[data-read] svg{direction:ltr}figure{margin:.8rem 0}figcaption{font-size:.88rem}.chart-box{overflow-x:auto}
.chart-title{font-weight:600;margin:0 0 .2rem}svg.chart{width:100%;min-width:40rem;height:auto;display:block}svg.spark{width:8rem;height:1.5rem;display:block}
svg text{fill:var(--fg);font:12px system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}svg .soft{fill:var(--soft)}svg .strong{font-weight:600}
svg .axis{stroke:var(--soft);stroke-width:1}svg .grid{stroke:var(--edge);stroke-width:1}
svg .band{fill:var(--band)}svg .line{fill:none;stroke:var(--line);stroke-width:1.6;stroke-linejoin:round}svg .thin{fill:none;stroke:var(--line);stroke-width:1}svg .level{fill:none;stroke:var(--soft);stroke-dasharray:5 4}svg .step{stroke:var(--fg);stroke-width:2}
svg .dot{fill:var(--line)}svg .hollow{fill:var(--bg);stroke:var(--line);stroke-width:1.6}svg .cross{fill:none;stroke:var(--bad);stroke-width:2.2}
svg .bar{fill:var(--line)}svg .barbad{fill:var(--bad)}svg .barsoft{fill:var(--soft)}svg .mark{stroke:var(--bad);stroke-width:1.4;stroke-dasharray:3 3}svg .turn{stroke:var(--soft);stroke-width:1.2;stroke-dasharray:2 3}svg .gap{fill:var(--edge)}
svg .good{fill:var(--good)}svg .bad{fill:var(--bad)}svg .whisker{stroke:var(--line);stroke-width:2}svg .whiskerbad{stroke:var(--bad);stroke-width:2}
svg .hit{fill:transparent}svg .hit:hover{fill:var(--fg);fill-opacity:.1}
.calendar{display:grid;grid-auto-flow:column;grid-template-rows:repeat(7,1.5rem);grid-auto-columns:1.5rem;gap:2px;list-style:none;padding:2px;margin:0;width:max-content}
.calendar a{display:flex;align-items:center;justify-content:center;width:1.5rem;height:1.5rem;border-radius:.2rem;text-decoration:none;font-size:.8rem;font-weight:700;border:1px solid var(--edge);background:var(--box);color:var(--soft)}
.calendar .good a{background:var(--goodbox);color:var(--good)}.calendar .bad a{background:var(--bad);color:var(--bg);border-color:var(--bad)}.calendar .suspect a{background:var(--badbox);color:var(--bad);border-color:var(--bad)}.calendar .unsure a{background:var(--unsurebox);color:var(--unsure)}
.filter{display:block;margin:.8rem 0;font-size:.92rem}.filter input{font:inherit;display:block;width:100%;max-width:28rem;padding:.35rem .6rem;color:var(--fg);background:var(--bg);border:1px solid var(--soft);border-radius:.3rem}
.readout{min-height:1.5em;font-size:.92rem;font-variant-numeric:tabular-nums}
@media screen and (max-width:40rem){table{width:max-content}td{max-width:18rem}.tiles li{flex-basis:8rem;padding:.5rem .7rem}body{padding:.8rem .8rem 3rem}h1{font-size:1.35rem}th,td{padding:.3rem .45rem}tbody th{min-width:7rem;max-width:14rem}dl{grid-template-columns:minmax(0,1fr)}dd{margin-bottom:.4rem}}
@page{margin:14mm 12mm}
@media print{:root{--bg:#fff;--fg:#000;--soft:#444;--edge:#999;--box:#fff;--good:#0b5cad;--bad:#a33b00;--unsure:#5d4a00;--goodbox:#fff;--badbox:#fff;--unsurebox:#fff;--band:#dbe9f8;--line:#0b5cad;color-scheme:light}
html{print-color-adjust:exact;-webkit-print-color-adjust:exact}body{max-width:none;margin:0;padding:0;font-size:10pt;line-height:1.4}nav,.filter,.readout{display:none}
h1,h2,caption,.chart-title,summary,dt{break-after:avoid}h2{margin-top:1.4rem}figure,tr,.lead,.tiles,dd{break-inside:avoid}thead{display:table-header-group}p,dd{orphans:3;widows:3}
.box,.chart-box,pre{overflow:visible}table{width:100%;font-size:8.5pt}th,td{padding:.15rem .35rem;max-width:none}thead th,td.n,th.n{white-space:normal}tbody th,td.w{min-width:0}tbody th,td.w{overflow-wrap:anywhere}pre{white-space:pre-wrap;overflow-wrap:anywhere}
svg.chart{min-width:0}svg.spark{width:5rem}a{color:var(--good);text-decoration:underline}.calendar{grid-template-rows:repeat(7,1rem);grid-auto-columns:1rem;width:auto}.calendar a{width:1rem;height:1rem;font-size:.6rem;text-decoration:none}
details::details-content{content-visibility:visible;display:block;height:auto}details>*{display:block}summary{list-style:none}}
)css";
}

std::string_view site_script() {
  return R"js("use strict";
document.querySelectorAll("[data-filter]").forEach(function (box, i) {
  var rows = Array.from(box.querySelectorAll("tbody tr"));
  if (rows.length < 12) return;
  var label = document.createElement("label"), input = document.createElement("input"), said = document.createElement("span");
  label.className = "filter";
  input.type = "search";
  label.append("Show only rows that contain ", input);
  said.className = "soft";
  said.setAttribute("role", "status");
  label.append(said);
  input.addEventListener("input", function () {
    var words = input.value.toLowerCase().split(/\s+/).filter(Boolean), shown = 0;
    rows.forEach(function (row) {
      var text = row.textContent.toLowerCase();
      row.hidden = !words.every(function (word) { return text.includes(word); });
      if (!row.hidden) shown++;
    });
    said.textContent = words.length ? shown + " of " + rows.length : "";
  });
  box.before(label);
});
document.querySelectorAll("figure[data-read] svg").forEach(function (svg) {
  svg.parentNode.scrollLeft = svg.parentNode.scrollWidth; // the newest nights are at the right
  var line = document.createElement("p");
  line.className = "readout";
  line.textContent = "Point at a night to read it here.";
  svg.closest("figure").append(line);
  svg.addEventListener("pointermove", function (event) {
    var mark = event.target.closest("[data-at],.hit,.dot,.hollow,.cross"), title = mark && mark.querySelector("title");
    if (title) line.textContent = title.textContent;
  });
});
)js";
}

}  // namespace nightgate::report
