"""Takes from the official schemas of the Model Context Protocol the definitions that our server's messages reach:

    scripts/interop/mcp_schemas.py CLONE     writes tests/mcp/REVISION.json from CLONE/schema/REVISION/schema.json

Descriptions are left out. CLONE is a clone of https://github.com/modelcontextprotocol/modelcontextprotocol.
"""
import json
import pathlib
import sys

SESSION = ["InitializeResult", "ListToolsResult", "CallToolResult", "EmptyResult"]
MESSAGES = {
    "2025-06-18": ["JSONRPCResponse", "JSONRPCError", *SESSION],
    "2025-11-25": ["JSONRPCResultResponse", "JSONRPCErrorResponse", *SESSION],
    "2026-07-28": ["JSONRPCResultResponse", "JSONRPCErrorResponse", "DiscoverResult", "ListToolsResult", "CallToolResult",
                   "UnsupportedProtocolVersionError", "SubscriptionsAcknowledgedNotification", "SubscriptionsListenResult"],
}


def references(schema):
    if isinstance(schema, list):
        for item in schema:
            yield from references(item)
    elif isinstance(schema, dict):
        for key, value in schema.items():
            if key == "$ref":
                yield value.rsplit("/", 1)[1]
            else:
                yield from references(value)


def without_descriptions(schema):
    if isinstance(schema, list):
        return [without_descriptions(item) for item in schema]
    if isinstance(schema, dict):
        told = {key: value for key, value in schema.items() if not (key == "description" and isinstance(value, str))}
        return {key: without_descriptions(value) for key, value in told.items()}
    return schema


clone = pathlib.Path(sys.argv[1])
folder = pathlib.Path(__file__).parents[2] / "tests/mcp"
for revision, wanted in MESSAGES.items():
    schema = json.loads((clone / "schema" / revision / "schema.json").read_text())
    key = "$defs" if "$defs" in schema else "definitions"
    reached = set()
    while wanted:
        name = wanted.pop()
        if name not in reached:
            reached.add(name)
            wanted.extend(references(schema[key][name]))
    kept = {name: definition for name, definition in schema[key].items() if name in reached}
    text = json.dumps(without_descriptions({"$schema": schema["$schema"], key: kept}), indent=1)
    (folder / f"{revision}.json").write_text(text + "\n")
