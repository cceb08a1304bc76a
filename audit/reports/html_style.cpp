#include "audit/reports/html_style.hpp"

namespace refrain {

std::string_view html_style() noexcept {
  return R"css(
:root { color-scheme: light dark;
  --ground: #ffffff; --panel: #f3f5f8; --text: #1b1f24; --soft: #4b5563; --line: #8a94a3; --link: #0b4fa8;
  --error: #a8121b; --warning: #7a4800; --note: #0b5560; --marked: #fdecec; --target: #fff0b3; --focus: #0b4fa8; }
@media (prefers-color-scheme: dark) { :root {
  --ground: #14171b; --panel: #20252b; --text: #e6e8eb; --soft: #b3bac4; --line: #77818f; --link: #8cc2ff;
  --error: #ff9b9b; --warning: #f0c060; --note: #7fd6e0; --marked: #3a1f22; --target: #4a4000; --focus: #8cc2ff; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 76rem; padding: 1rem; background: var(--ground); color: var(--text);
  font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
a { color: var(--link); }
:focus-visible { outline: 3px solid var(--focus); outline-offset: 2px; }
.skip { position: absolute; left: -100rem; background: var(--ground); padding: .5rem; }
.skip:focus { left: 1rem; }
nav ul { display: flex; flex-wrap: wrap; gap: 1rem; padding: 0; list-style: none; }
article { border: 1px solid var(--line); border-left-width: .4rem; border-radius: .3rem; padding: .2rem 1rem;
  margin: 1rem 0; background: var(--panel); }
article.error { border-left-color: var(--error); }
article.warning { border-left-color: var(--warning); }
article.note { border-left-color: var(--note); }
article:target { background: var(--target); }
article h4 { margin: .5rem 0; }
.severity { text-transform: uppercase; font-size: .85rem; }
.error > h4 .severity { color: var(--error); }
.warning > h4 .severity { color: var(--warning); }
.note > h4 .severity { color: var(--note); }
.soft { color: var(--soft); }
code { font-family: ui-monospace, monospace; font-size: .9em; }
.scroll { overflow: auto; max-height: 80vh; border: 1px solid var(--line); border-radius: .3rem; }
table { border-collapse: collapse; width: 100%; }
th, td { border-bottom: 1px solid var(--line); padding: .3rem .6rem; text-align: left; vertical-align: top; }
caption { text-align: left; padding: .3rem 0; color: var(--soft); }
summary { cursor: pointer; padding: .3rem 0; }
svg { display: block; font: 12px ui-monospace, monospace; }
svg text { fill: var(--text); }
.node rect { fill: var(--panel); stroke: var(--line); }
.marked rect { fill: var(--marked); stroke: var(--error); stroke-width: 3; }
.node:target rect { fill: var(--target); stroke: var(--text); stroke-width: 4; stroke-dasharray: 6 3; }
.node:focus-visible rect { stroke: var(--focus); stroke-width: 5; }
.edge { fill: none; stroke: var(--line); stroke-width: 1.5; }
.programmatic, .stub { stroke-dasharray: 4 4; }
@media print { .skip, nav { display: none } .scroll { overflow: visible; max-height: none; border: 0; }
  svg { max-width: 100%; height: auto; print-color-adjust: exact; } article, tr { break-inside: avoid; } }
)css";
}

}  // namespace refrain
