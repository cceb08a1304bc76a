"""The HTML report in a headless Chromium: from a file, without a network, by keyboard, in light and dark.
Usage: browser_test.py PROGRAM. Exit 77 where there is no Chromium."""

import json
import pathlib
import sys
import tempfile

import chromium
import inputs

# Luminance and contrast as WCAG 2 defines them, over every element with text of its own. The ground of an SVG text is
# its node's rectangle; of other text, the nearest ground that is not transparent.
CONTRAST = """(() => {
  const parse = (c) => c.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255).map((v) => v <= 0.03928 ? v / 12.92
    : ((v + 0.055) / 1.055) ** 2.4).reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = (e) => {
    if (e.ownerSVGElement) return parse(getComputedStyle(e.parentNode.querySelector('rect')).fill);
    for (; e; e = e.parentElement) {
      const c = parse(getComputedStyle(e).backgroundColor);
      if (c.length < 4 || c[3] > 0) return c;
    }
    return [255, 255, 255];
  };
  const bad = [];
  let seen = 0;
  for (const e of document.body.querySelectorAll('*')) {
    if (e.tagName === 'title' || ![...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim())) continue;
    const style = getComputedStyle(e), a = light(parse(e.ownerSVGElement ? style.fill : style.color)), b = light(ground(e));
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    ++seen;
    if (ratio < 4.5) bad.push([e.tagName, e.textContent.slice(0, 40), ratio]);
  }
  return JSON.stringify({seen, bad});
})()"""

FINDING_AT_FOCUS = """(() => { const a = document.activeElement;
  const article = a.closest('article');
  return JSON.stringify({tag: a.tagName, href: a.getAttribute('href'), finding: article ? article.id : null,
    visible: a === document.body || getComputedStyle(a).outlineStyle !== 'none'}); })()"""


def check_structure(browser, findings):
    ids = browser.evaluate("[...document.querySelectorAll('[id]')].map((e) => e.id)")
    assert len(ids) == len(set(ids)), "an id stands twice"
    assert browser.evaluate("document.querySelectorAll('article').length") == findings
    for one in ("main", "header", "nav", "h1", "html[lang]"):
        assert browser.evaluate(f"document.querySelectorAll('{one}').length") == 1, one
    assert browser.evaluate("[...document.querySelectorAll('section')].every((s) => "
                            "document.getElementById(s.getAttribute('aria-labelledby')))")
    assert browser.evaluate("[...document.querySelectorAll('th')].every((h) => h.scope)")
    assert browser.evaluate("[...document.querySelectorAll('table')].every((t) => t.caption)")
    assert browser.evaluate("[...document.querySelectorAll('svg')].every((s) => "
                            "s.getAttribute('aria-labelledby').split(' ').concat(s.getAttribute('aria-describedby'))"
                            ".every((id) => document.getElementById(id)))")
    assert browser.evaluate("document.querySelectorAll('script, img, iframe, link').length") == 0
    # The page as a whole must not scroll sideways: wide drawings scroll in their own box.
    assert browser.evaluate("document.documentElement.scrollWidth <= innerWidth")


def check_keyboard(browser, findings):
    """Tab from the top to the end: the skip link first, then each finding in turn, each with a focus that is seen."""
    reached, first = [], None
    stops = browser.evaluate("document.querySelectorAll('a, summary, [tabindex]').length")
    for _ in range(stops + 2):
        browser.key("Tab", 9)
        focus = json.loads(browser.evaluate(FINDING_AT_FOCUS))
        first = first or focus
        assert focus["visible"], focus
        if focus["finding"] and focus["finding"] not in reached:
            reached.append(focus["finding"])
    assert first["href"] == "#findings", first
    in_page = browser.evaluate("[...document.querySelectorAll('article')].map((a) => a.id)")
    assert reached == in_page and len(reached) == findings, (reached, in_page)


def check_marking(browser):
    """A click on a finding's node marks it in the drawing; Enter on the node leads back."""
    links = browser.evaluate("[...document.querySelectorAll('article a[href^=\"#node-\"]')].map((a) => a.hash)")
    assert links
    for link in links[:5]:
        browser.evaluate(f"document.querySelector('article a[href=\"{link}\"]').scrollIntoView({{block: 'center'}})")
        box = json.loads(browser.evaluate(
            f"JSON.stringify(document.querySelector('article a[href=\"{link}\"]').getClientRects()[0])"))
        browser.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        assert browser.evaluate("location.hash") == link
        assert browser.evaluate(f"document.querySelector('{link}').matches('.node.marked:target')")
        dashes = browser.evaluate(f"getComputedStyle(document.querySelector('{link} rect')).strokeDasharray")
        assert dashes != "none", "the node of a finding is not marked"
        assert browser.evaluate(f"(() => {{ const r = document.querySelector('{link}').getBoundingClientRect();"
                                " return r.bottom > 0 && r.top < innerHeight; })()"), "the node is out of sight"
    browser.evaluate(f"document.querySelector('{links[0]}').focus()")
    browser.key("Enter", 13, "\r")
    assert browser.evaluate("location.hash").startswith("#finding-")
    assert browser.evaluate("document.querySelector('article:target') !== null")


def check_contrast(browser):
    for scheme in ("light", "dark"):
        browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        result = json.loads(browser.evaluate(CONTRAST))
        assert result["seen"] > 20 and not result["bad"], (scheme, result)
    # The check can fail: a link on its own colour.
    browser.evaluate("document.querySelector('nav a').style.background = 'var(--link)'")
    assert json.loads(browser.evaluate(CONTRAST))["bad"]


def check_page(browser, program, folder, files):
    page = pathlib.Path(folder) / "report.html"
    page.write_bytes(inputs.audit(program, ["--format", "html", *files]))
    findings = len(json.loads(inputs.audit(program, ["--format", "json", *files]))["findings"])
    browser.open(page.as_uri())
    check_structure(browser, findings)
    check_keyboard(browser, findings)
    if findings:
        check_marking(browser)
    check_contrast(browser)
    assert not browser.complaints(), browser.complaints()
    return findings


def main(program):
    found = chromium.find()
    if not found:
        print("browser: skipped, no Chromium here; ./dev browser installs it")
        return 77
    browser = chromium.Browser(found)
    try:
        with tempfile.TemporaryDirectory() as folder:
            hostile = inputs.write_graph(folder, "hostile <&> \"'.json", inputs.hostile_graph())
            long = inputs.write_graph(folder, "long.json", inputs.chain_graph(3000, (1500, 1503, 2999)))
            samples = inputs.samples()
            pages = [samples[:2], samples[2:], [hostile], [long, *samples]]
            counts = [check_page(browser, program, folder, files) for files in pages]
    finally:
        browser.close()
    print(f"browser: {len(counts)} pages with {counts} findings, in {found}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
