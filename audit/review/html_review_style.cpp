#include "audit/review/html_review_style.hpp"

namespace refrain {

std::string_view html_review_style() noexcept {
  return R"css(
:root { --sync: #ffe0b8; --launch: #d9e6fb; --work: #d5efdc; --moved: #eadcf7; --busy: #3f7f55; --mark: #a8121b;
  --on-mark: #ffffff; }
@media (prefers-color-scheme: dark) { :root { --sync: #5c3d0c; --launch: #1f3b66; --work: #1d4a2d; --moved: #46305c;
  --busy: #6fc48b; --mark: #ff9b9b; --on-mark: #14171b; } }
.plate { fill: var(--ground); }
.bar > rect { fill: var(--panel); stroke: var(--line); }
.bar > rect.busy { fill: var(--busy); stroke: none; }
.bar > rect.cut { stroke-dasharray: 3 3; }
.bar .foot { stroke: var(--text); stroke-width: 2; }
.bar:target > rect { stroke: var(--text); stroke-width: 3; }
.wedge path { fill: var(--mark); }
.bar:focus-visible, .wedge:focus-visible, .mark:focus-visible { outline: 3px solid var(--focus); }
.tick { stroke: var(--line); stroke-dasharray: 1 5; }
.block rect { fill: var(--panel); stroke: var(--line); }
.sync rect { fill: var(--sync); stroke: var(--text); stroke-width: 2.5; }
.launch rect { fill: var(--launch); }
.kernel rect { fill: var(--work); }
.copy rect, .fill rect { fill: var(--moved); stroke: var(--text); stroke-dasharray: 4 3; }
.replay rect { fill: var(--launch); stroke: var(--text); stroke-width: 1.5; }
.elsewhere rect { fill: var(--ground); stroke-dasharray: 1 3; }
.mark path { fill: none; stroke: var(--mark); stroke-width: 1.5; stroke-dasharray: 6 3; }
.mark rect { fill: var(--mark); }
.mark text { fill: var(--on-mark); }
.mark:target rect, .mark:target path { stroke: var(--text); stroke-width: 4; }
section:target > h3 { background: var(--target); }
.scroll table { min-width: 60rem; overflow-wrap: normal; }
#totals td, #totals th { padding-block: .1rem; }
.scroll + .scroll { margin-top: 1rem; }
)css";
}

}  // namespace refrain
