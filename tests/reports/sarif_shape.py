"""The shape of a SARIF 2.1.0 log as far as Refrain writes one: per object its properties, those that must be there,
and what they hold, written down from the specification's section 3. Everything else is a fault, as in the standard's
own schema, which allows no other property."""

import re

TEXT, COUNT, FLAG = str, int, bool
LEVEL = {"none", "note", "warning", "error"}

# name: (required, {property: what}); what: a type, a set of words, the name of an object, or [what] for an array.
OBJECTS = {
    "log": ({"version", "runs"}, {"$schema": "uri", "version": {"2.1.0"}, "runs": ["run"], "properties": "bag"}),
    "run": ({"tool"}, {"tool": "tool", "invocations": ["invocation"], "artifacts": ["artifact"],
                       "results": ["result"], "columnKind": {"utf16CodeUnits", "unicodeCodePoints"}}),
    "tool": ({"driver"}, {"driver": "component"}),
    "component": ({"name"}, {"name": TEXT, "version": TEXT, "informationUri": "uri", "rules": ["descriptor"]}),
    "descriptor": ({"id"}, {"id": TEXT, "name": TEXT, "shortDescription": "multiformat",
                            "fullDescription": "multiformat", "help": "multiformat",
                            "defaultConfiguration": "configuration", "properties": "bag"}),
    "multiformat": ({"text"}, {"text": TEXT, "markdown": TEXT}),
    "configuration": (set(), {"level": LEVEL, "enabled": FLAG}),
    "invocation": ({"executionSuccessful"}, {"executionSuccessful": FLAG, "exitCode": COUNT,
                                             "toolExecutionNotifications": ["notification"],
                                             "toolConfigurationNotifications": ["notification"]}),
    "notification": ({"message"}, {"message": "message", "level": LEVEL, "associatedRule": "reference",
                                   "locations": ["location"]}),
    "reference": (set(), {"id": TEXT, "index": COUNT}),
    "artifact": (set(), {"location": "artifactLocation"}),
    "artifactLocation": (set(), {"uri": "uri", "index": COUNT}),
    "message": ({"text"}, {"text": "string"}),
    "result": ({"message"}, {"ruleId": TEXT, "ruleIndex": COUNT, "level": LEVEL, "message": "message",
                             "locations": ["location"], "relatedLocations": ["location"],
                             "partialFingerprints": "prints", "occurrenceCount": COUNT,
                             "baselineState": {"new", "unchanged", "updated", "absent"},
                             "suppressions": ["suppression"], "properties": "bag"}),
    "location": (set(), {"id": COUNT, "physicalLocation": "physical", "logicalLocations": ["logical"],
                         "message": "message"}),
    "physical": (set(), {"artifactLocation": "artifactLocation", "region": "region"}),
    "region": (set(), {"startLine": COUNT}),
    "logical": (set(), {"name": TEXT, "fullyQualifiedName": TEXT, "kind": TEXT}),
    "suppression": ({"kind"}, {"kind": {"inSource", "external"}, "justification": TEXT}),
}

URI = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*:)?(?:[A-Za-z0-9._~:/?#@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*\Z")


def check(value, what="log", path="$"):
    """Raises AssertionError with the path of the first fault."""
    if isinstance(what, list):
        assert isinstance(value, list), (path, "an array")
        for i, element in enumerate(value):
            check(element, what[0], f"{path}[{i}]")
    elif isinstance(what, set):
        assert value in what, (path, value, what)
    elif what == "uri":
        assert isinstance(value, str) and URI.match(value), (path, value)
    elif what == "string":  # a message's text: a brace that is no placeholder stands doubled (3.11.5)
        assert isinstance(value, str) and value, (path, value)
        assert not re.search(r"[{}]", re.sub(r"\{\{|\}\}", "", value)), (path, value)
        assert not re.search(r"\[[^\]]*\]\(", value), (path, "a name became a link", value)
    elif what == "bag":
        assert isinstance(value, dict), (path, value)
        tags = value.get("tags", [])
        assert isinstance(tags, list) and len(tags) == len(set(tags)), (path, tags)
    elif what == "prints":
        assert isinstance(value, dict) and all(isinstance(v, str) for v in value.values()), (path, value)
    elif isinstance(what, type):
        assert type(value) is what, (path, value, what)
        assert what is not int or value >= 0, (path, value)
    else:
        required, properties = OBJECTS[what]
        assert isinstance(value, dict), (path, what)
        assert required <= value.keys(), (path, "lacks", required - value.keys())
        for key, inner in value.items():
            assert key in properties, (path, what, "has no property", key)
            check(inner, properties[key], f"{path}.{key}")


def check_references(log):
    """What a schema cannot say: indices that lead to what they name, and no two rules of one id."""
    for run in log["runs"]:
        rules = run["tool"]["driver"]["rules"]
        artifacts = [a["location"]["uri"] for a in run["artifacts"]]
        assert len({r["id"] for r in rules}) == len(rules)
        for result in run["results"]:
            assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
            for location in result["locations"]:
                place = location["physicalLocation"]["artifactLocation"]
                assert artifacts[place["index"]] == place["uri"]
                assert location["physicalLocation"]["region"]["startLine"] >= 1
        for invocation in run["invocations"]:
            for note in invocation["toolExecutionNotifications"]:
                assert rules[note["associatedRule"]["index"]]["id"] == note["associatedRule"]["id"]
