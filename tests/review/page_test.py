"""The page of a review in a headless Chromium: from a file, without a network, by keyboard, in light and dark.
Usage: page_test.py SAMPLES_PROGRAM. Exit 77 where there is no Chromium."""

import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "reports"))

import browser_test as shared
import chromium

# name: (steps, findings, timelines)
PAGES = {
    "small": (6, 3, 2),
    "no-steps": (0, 0, 0),
    "long": (5000, 3, 2),
    "wide": (4, 3, 2),
    "hostile": (6, 3, 2),
}
MOST_BYTES = 2_000_000
MOST_ELEMENTS = 300 + 60  # of one timeline: its blocks, lanes and axis


def count(browser, selector):
    return browser.evaluate(f"document.querySelectorAll({json.dumps(selector)}).length")


def accessible_name(browser, selector):
    """What a screen reader says, by the browser's own account."""
    root = browser.call("DOM.getDocument")["root"]["nodeId"]
    node = browser.call("DOM.querySelector", nodeId=root, selector=selector)["nodeId"]
    answer = browser.call("Accessibility.getPartialAXTree", nodeId=node, fetchRelatives=False)["nodes"][0]
    return answer["role"]["value"], answer.get("name", {}).get("value", "")


def check_contents(browser, steps, findings, timelines):
    links = browser.evaluate("[...document.querySelectorAll('a')].map((a) => a.getAttribute('href'))")
    assert all(link and browser.evaluate(f"!!document.querySelector({json.dumps(link)})") for link in set(links)), links
    assert count(browser, "section[id^=timeline-]") == timelines
    bars = count(browser, ".bar")
    assert bars == steps if steps <= 240 else 120 <= bars <= 240, bars
    assert count(browser, "#steps-table tbody tr") == bars
    assert browser.evaluate("[...document.querySelectorAll('section[id^=timeline-]')].every((s) => "
                            "s.querySelectorAll('.block').length === s.querySelectorAll('tbody tr').length)"), \
        "a block that the table lacks"
    assert browser.evaluate("[...document.querySelectorAll('section[id^=timeline-] svg')].every((s) => "
                            f"s.querySelectorAll('rect').length <= {MOST_ELEMENTS})")
    # Nothing is drawn outside its drawing.
    outside = browser.evaluate("""[...document.querySelectorAll('svg')].flatMap((s) => {
      const box = s.viewBox.baseVal;
      return [...s.querySelectorAll('rect, text')].map((e) => e.getBBox()).filter((b) =>
        b.x < -1 || b.y < -1 || b.x + b.width > box.width + 1 || b.y + b.height > box.height + 1).length;
    }).reduce((a, b) => a + b, 0)""")
    assert outside == 0, outside
    if steps > 240:
        said = browser.evaluate("document.querySelector('#steps').textContent")
        assert "A bar stands for 21 steps" in said, said[:500]


def check_links_both_ways(browser):
    """A finding with a place leads to its mark, which can be reached by keyboard and leads back by Enter."""
    pairs = browser.evaluate("[...document.querySelectorAll('article a[href^=\"#mark-\"]')].map((a) => "
                             "[a.hash, a.closest('article').id])")
    assert len(pairs) == 2, pairs
    for mark, article in pairs:
        browser.evaluate(f"document.querySelector('#{article} a[href=\"{mark}\"]').focus()")
        browser.key("Enter", 13, "\r")
        assert browser.evaluate("location.hash") == mark
        assert browser.evaluate(f"document.querySelector('{mark}').matches('.mark:target')")
        width = browser.evaluate(f"getComputedStyle(document.querySelector('{mark} rect')).strokeWidth")
        assert width == "4px", ("the mark does not show that it is meant", width)
        seen = browser.evaluate(f"(() => {{ const r = document.querySelector('{mark} rect').getBoundingClientRect();"
                                " return r.bottom > 0 && r.top < innerHeight && r.right > 0 && r.left < innerWidth; })()")
        assert seen, "the mark is out of sight"
        browser.evaluate(f"document.querySelector('{mark}').focus()")
        browser.key("Enter", 13, "\r")
        assert browser.evaluate("location.hash") == "#" + article
        assert browser.evaluate("document.querySelector('article:target') !== null")
    # The strip: a wedge to the finding, and from the finding to a bar that has it.
    assert browser.evaluate("[...document.querySelectorAll('article a[href^=\"#bar-\"]')].every((a) => "
                            "document.querySelector(a.hash).nextElementSibling.matches('.wedge'))")
    for wedge in browser.evaluate("[...document.querySelectorAll('.wedge')].map((a) => a.getAttribute('href'))"):
        browser.evaluate(f"document.querySelector('.wedge[href=\"{wedge}\"]').focus()")
        browser.key("Enter", 13, "\r")
        assert browser.evaluate("location.hash") == wedge


def check_marks_at_their_time(browser):
    """Step 3 of the small page takes 900 us and its copy begins after 20; marks' lines end at their time."""
    at = browser.evaluate("""(() => {
      const axis = [...document.querySelectorAll('#timeline-3 .tick')].map((t) => t.getBBox().x);
      const line = document.querySelector('#mark-1 path').getAttribute('d').match(/L([\\d.]+)/)[1];
      return [axis[0], axis[1], Number(line)];
    })()""")
    zero, hundred, mark = at
    assert abs((mark - zero) / (hundred - zero) - 0.2) < 0.01, at


def check_names(browser):
    browser.call("Accessibility.enable")
    role, name = accessible_name(browser, "#mark-1")
    assert role == "link" and name == "finding 1, RF103 pageable-copy, 20.0 us after the step's begin", (role, name)
    role, name = accessible_name(browser, ".wedge")
    assert role == "link" and name == "step 2 (decode_step_2): 1 finding", (role, name)
    role, name = accessible_name(browser, "a.bar")
    assert role == "link" and name == "step 2 (decode_step_2): 400.0 us, drawn below", (role, name)
    for selector in ("main", "nav", "section", "[role=region]"):
        role, name = accessible_name(browser, selector)
        assert role in ("main", "navigation", "region"), (selector, role)
        assert name or selector == "main", selector
    unnamed = browser.evaluate("[...document.querySelectorAll('a')].filter((a) => !(a.getAttribute('aria-label') || "
                               "a.textContent).trim()).length")
    assert unnamed == 0


def check_without_colour(browser):
    """What a colour says, a form says: findings are wedges, syncs thick, copies dashed, other steps' work dotted."""
    style = ("(() => { const e = document.querySelector('.{0} rect'); if (!e) return null; const s = getComputedStyle(e);"
             " return [s.strokeWidth, s.strokeDasharray]; })()")
    forms = {kind: browser.evaluate(style.replace("{0}", kind)) for kind in ("call", "sync", "copy", "replay")}
    assert len({json.dumps(form) for form in forms.values()}) == len(forms), forms


def check_print(browser):
    browser.call("Emulation.setEmulatedMedia", media="print")
    assert browser.evaluate("getComputedStyle(document.querySelector('nav')).display") == "none"
    assert browser.evaluate("[...document.querySelectorAll('.scroll')].every((s) => "
                            "getComputedStyle(s).overflow === 'visible')")
    browser.call("Emulation.setEmulatedMedia", media="")


def check_page(browser, folder, name):
    steps, findings, timelines = PAGES[name]
    page = pathlib.Path(folder) / f"{name}.html"
    assert page.stat().st_size < MOST_BYTES, page.stat().st_size
    browser.open(page.as_uri())
    shared.check_structure(browser, findings)
    check_contents(browser, steps, findings, timelines)
    shared.check_keyboard(browser, findings)
    if findings:
        check_links_both_ways(browser)
    if name == "small":
        check_marks_at_their_time(browser)
        check_names(browser)
        check_without_colour(browser)
        check_print(browser)
    shared.check_contrast(browser)
    assert not browser.complaints(), browser.complaints()


def check_the_checks(browser, folder):
    """Each of these faults is seen."""
    faults = (
        ("document.querySelector('#finding-2').remove()", lambda: check_contents(browser, *PAGES["small"])),
        ("document.querySelector('#timeline-3-table tbody tr').remove()",
         lambda: check_contents(browser, *PAGES["small"])),
        ("document.querySelector('.bar rect').setAttribute('y', -40)",
         lambda: check_contents(browser, *PAGES["small"])),
        ("document.querySelector('#mark-1').setAttribute('href', '#finding-2')", lambda: check_links_both_ways(browser)),
        ("document.querySelector('#mark-1 path').setAttribute('d', 'M0 0 L400 54 V90')",
         lambda: check_marks_at_their_time(browser)),
        ("document.querySelector('#mark-1').removeAttribute('aria-label')", lambda: check_names(browser)),
        ("document.querySelectorAll('.sync rect').forEach((r) => r.style.strokeWidth = '1px')",
         lambda: check_without_colour(browser)),
    )
    for fault, check in faults:
        browser.open((pathlib.Path(folder) / "small.html").as_uri())
        check()
        browser.evaluate(fault + ", 0")
        try:
            check()
        except AssertionError:
            continue
        raise AssertionError(f"no check sees this fault: {fault}")


def main(program):
    found = chromium.find()
    if not found:
        print("browser: skipped, no Chromium here; ./dev browser installs it")
        return 77
    browser = chromium.Browser(found)
    try:
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([program, folder], check=True, timeout=60)
            for name in PAGES:
                check_page(browser, folder, name)
            check_the_checks(browser, folder)
    finally:
        browser.close()
    print(f"browser: {len(PAGES)} pages of reviews, in {found}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
