"""Every report format of `refrain audit` is read by a parser that shares no code with its writer, over samples and
over a graph whose names are hostile. Usage: parse_test.py PROGRAM"""

import copy
import html.parser
import json
import re
import sys
import tempfile
import unicodedata
import xml.etree.ElementTree as ET

import inputs
import sarif_shape


def findings_of(program, files):
    return json.loads(inputs.audit(program, ["--format", "json", *files]))


def check_junit(program, files):
    report = findings_of(program, files)
    root = ET.fromstring(inputs.audit(program, ["--format", "junit", *files]))
    assert root.tag == "testsuites"
    suites = root.findall("testsuite")
    assert len(suites) == len(files)
    failing = {(f["input"], f["rule"]) for f in report["findings"] if f["severity"] == "error"}
    told = {(f["input"], f["rule"]) for f in report["findings"]}
    open_rules = {(n["input"], n["rule"]) for n in report["not_checked"]}
    for total, suite in [(root, None)] + [(suite, suite) for suite in suites]:
        cases = total.findall(".//testcase")
        assert int(total.get("tests")) == len(cases)
        assert int(total.get("failures")) == sum(c.find("failure") is not None for c in cases)
        assert int(total.get("skipped")) == sum(c.find("skipped") is not None for c in cases)
    for file, suite in zip(files, suites):
        for case in suite.findall("testcase"):
            key = (file, case.get("name")[:5])
            assert (case.find("failure") is not None) == (key in failing), key
            assert (case.find("skipped") is not None) == (key in open_rules - told), key


def check_sarif(program, files):
    report = findings_of(program, files)
    log = json.loads(inputs.audit(program, ["--format", "sarif", *files]))
    sarif_shape.check(log)
    sarif_shape.check_references(log)
    results = log["runs"][0]["results"]
    key = lambda rule, level, fingerprint: (rule, level, fingerprint)
    assert [key(r["ruleId"], r["level"], r["partialFingerprints"]["refrain/v1"]) for r in results] == \
        [key(f["rule"], f["severity"], f["fingerprint"]) for f in report["findings"]]
    notes = log["runs"][0]["invocations"][0]["toolExecutionNotifications"]
    assert len(notes) == len(report["not_checked"])
    # The checks can fail: a property that SARIF does not know, an index that leads elsewhere, a lone brace.
    for spoil in (lambda run: run["results"][0].update(where="x"), lambda run: run["results"][0].update(level="bad"),
                  lambda run: run["results"][0].update(ruleIndex=0, ruleId="RF999"),
                  lambda run: run["results"][0]["message"].update(text="{0}"),
                  lambda run: run["artifacts"][0]["location"].update(uri="a b")):
        broken = copy.deepcopy(log)
        spoil(broken["runs"][0])
        try:
            sarif_shape.check(broken)
            sarif_shape.check_references(broken)
        except AssertionError:
            continue
        raise AssertionError("a broken log passed")


class Page(html.parser.HTMLParser):
    VOID = {"meta", "link", "br", "input", "img"}

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.ids, self.links, self.tags, self.open, self.text = [], [], set(), [], []
        self.feed(text)
        assert self.open == [], self.open

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        if tag not in self.VOID:
            self.open.append(tag)
        for name, value in attributes:
            assert not name.startswith("on"), (tag, name)
            assert name not in ("src", "srcset", "action", "data", "xlink:href"), (tag, name)
            if name == "id":
                self.ids.append(value)
            if name == "href":
                self.links.append(value)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, (tag, self.getpos())

    def handle_data(self, data):
        self.text.append(data)


def check_html(program, files):
    text = inputs.audit(program, ["--format", "html", *files]).decode()
    page = Page(text)
    assert len(page.ids) == len(set(page.ids))
    assert all(link.startswith("#") and link[1:] in page.ids for link in page.links), page.links
    assert "script" not in page.tags and "img" not in page.tags
    assert "url(" not in text and "@import" not in text
    findings = findings_of(program, files)["findings"]
    assert sum(name.startswith("finding-") and name[8:].isdigit() for name in page.ids) == len(findings)
    said = "".join(page.text)
    for finding in findings:
        assert finding["fingerprint"] in said


def check_lines(program, file):
    """No name can begin a line, move a terminal's cursor, or issue a workflow command of its own."""
    for name in ("text", "github", "markdown"):
        text = inputs.audit(program, ["--format", name, file]).decode()
        for char in text.replace("\n", ""):
            assert unicodedata.category(char) != "Cc" and char not in "\u2028\u2029\u202e", (name, char)
        for line in text.split("\n"):
            assert not line.startswith(("line", "break", "::error title=x")), (name, line)
    for line in inputs.audit(program, ["--format", "github", file]).decode().splitlines():
        if line.startswith("::"):
            assert re.match(r"::(error|warning|notice) title=[^:]*::", line), line
            assert "\n" not in line and not re.search(r"%(?!25|3A|2C)", line), line
    markdown = inputs.audit(program, ["--format", "markdown", file]).decode()
    assert "<script" not in markdown and not re.search(r"(?<!\\)\[", markdown) and "@" not in markdown


def main(program):
    with tempfile.TemporaryDirectory() as folder:
        hostile = inputs.write_graph(folder, "hostile <&> \"'.json", inputs.hostile_graph())
        for files in (inputs.samples(), [hostile], [hostile, *inputs.samples()]):
            check_junit(program, files)
            check_sarif(program, files)
            check_html(program, files)
        check_lines(program, hostile)
    print("junit, sarif, html, text, github, markdown: as their readers want them")


if __name__ == "__main__":
    main(sys.argv[1])
