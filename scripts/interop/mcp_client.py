"""`repro mcp` seen by others: `mcp_client.py PROGRAM`, run at the root of the project.

The official client talks to the server in the newest revision and in one with sessions, and calls every tool. Whole
sessions of each revision are read line by line and held against the official schemas; answers as data are held against
the schemas that the tools declare. Prints one line for each check that passed.
"""
import asyncio
import json
import pathlib
import subprocess
import sys
import time

import jsonschema
from mcp import Client, StdioServerParameters

PROGRAM = str(pathlib.Path(sys.argv[1]).resolve())
PROJECT = pathlib.Path(__file__).parents[2]
MODEL = PROJECT / "receipts/model-cards/data/models/deepseek-v3"
POSTS = PROJECT / "repro"
META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}


def documents(*names):
    return [{"name": name, "text": (MODEL / name).read_text()} for name in names]


def calls():
    """Calls of every tool, with the status that each has to come to."""
    post, text = (POSTS / "fairness.toml").read_text(), (POSTS / "fairness.md").read_text()
    bundle = "receipts/tiny-moe-dense_active-active12-s1"
    return [
        ("check", {"paths": ["receipts/marin-speedrun"]}, "refuted"),
        ("check", {"paths": [bundle], "all": True}, "verified"),
        ("check", {"documents": documents("config.json", "README.md")}, "undecided"),
        ("check", {"paths": ["/etc"]}, "refused"),
        ("verify", {"posts": ["0004"]}, "refuted"),
        ("verify", {"bundles": [bundle], "all": True}, "verified"),
        ("verify", {"post": post, "text": text}, "undecided"),
        ("verify", {"posts": ["no-such-post"]}, "refused"),
        ("draft", {"text": "We trained for 200 steps, with a loss of 1.5.", "evidence": [bundle]}, "undecided"),
        ("stats", {"a": [1.65, 1.66, 1.64], "b": [1.57, 1.58, 1.57]}, "no verdict"),
        ("stats", {"a": ["many"]}, "refused"),
        ("params", {"documents": documents("config.json")}, "no verdict"),
        ("explain", {"name": "value::differs"}, "no verdict"),
        ("explain", {"search": "router"}, "no verdict"),
    ]


async def official(mode):
    """The official client, which validates answers by the schemas of the tools itself."""
    server = StdioServerParameters(command=PROGRAM, args=["--root", str(PROJECT), "mcp"])
    async with Client(server, mode=mode, read_timeout_seconds=120) as client:
        listed = await client.list_tools()
        names = [tool.name for tool in listed.tools]
        assert names == ["check", "verify", "draft", "stats", "params", "explain"], names
        assert all(tool.annotations.read_only_hint and tool.output_schema for tool in listed.tools)
        asked = calls()
        answers = await asyncio.gather(*(client.call_tool(name, arguments) for name, arguments, _ in asked[:6]))
        answers += [await client.call_tool(name, arguments) for name, arguments, _ in asked[6:]]
        for (name, arguments, status), answer in zip(asked, answers):
            found = answer.structured_content["status"]
            assert found == status, (name, list(arguments), found, answer.content[0].text)
            assert answer.content[0].text.startswith(f"status: {status}\n")
            assert answer.content[0].text.endswith(answer.structured_content["scope"])
            assert answer.is_error == (status == "refused")
        return f"{client.protocol_version}: {len(answers)} calls"


class Session:
    """A session whose every message is held against the schema of its revision."""

    def __init__(self, revision):
        self.revision, self.count = revision, 0
        self.schema = json.loads((PROJECT / f"tests/mcp/{revision}.json").read_text())
        self.key = "$defs" if "$defs" in self.schema else "definitions"
        self.is_alone = revision == "2026-07-28"
        self.server = subprocess.Popen([PROGRAM, "mcp"], cwd=PROJECT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def fits(self, value, name):
        schema = {**self.schema, "$ref": f"#/{self.key}/{name}"}
        jsonschema.validators.validator_for(schema)(schema).validate(value)

    def write(self, text):
        self.server.stdin.write(text.encode() + b"\n")
        self.server.stdin.flush()

    def read(self, name=None):
        """The next message: a result of this kind, or an error where it has none."""
        message = json.loads(self.server.stdout.readline())
        self.count += 1
        old = self.revision == "2025-06-18"
        if name:
            self.fits(message, "JSONRPCResponse" if old else "JSONRPCResultResponse")
            self.fits(message["result"], name)
        # The oldest schema knows no answer to what has no id that can be read; JSON-RPC does.
        elif not old or "id" in message:
            self.fits(message, "JSONRPCError" if old else "JSONRPCErrorResponse")
        return message

    def ask(self, method, params, name=None):
        params = {**params, "_meta": META} if self.is_alone else params
        self.write(json.dumps({"jsonrpc": "2.0", "id": self.count, "method": method, "params": params}))
        message = self.read(name)
        return message["result"] if name else message["error"]

    def run(self):
        if self.is_alone:
            self.ask("server/discover", {}, "DiscoverResult")
        else:
            client = {"name": "ci", "version": "0"}
            begun = {"protocolVersion": self.revision, "capabilities": {}, "clientInfo": client}
            assert self.ask("initialize", begun, "InitializeResult")["protocolVersion"] == self.revision
            self.write(json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}))
            self.ask("ping", {}, "EmptyResult")
        tools = {tool["name"]: tool for tool in self.ask("tools/list", {}, "ListToolsResult")["tools"]}
        for tool in tools.values():
            for schema in (tool["inputSchema"], tool["outputSchema"]):
                jsonschema.Draft202012Validator.check_schema(schema)
        for name, arguments, status in calls():
            result = self.ask("tools/call", {"name": name, "arguments": arguments}, "CallToolResult")
            assert result["structuredContent"]["status"] == status, (name, result["content"])
            jsonschema.Draft202012Validator(tools[name]["outputSchema"]).validate(result["structuredContent"])
            is_valid = jsonschema.Draft202012Validator(tools[name]["inputSchema"]).is_valid(arguments)
            assert is_valid or status == "refused"
        assert self.ask("tools/call", {"name": "no such tool", "arguments": {}})["code"] == -32602
        assert self.ask("no/such/method", {})["code"] == -32601
        self.write("no JSON")
        assert self.read()["error"]["code"] == -32700
        if self.is_alone:
            self.special()
        self.server.stdin.close()
        assert self.server.wait(timeout=5) == 0
        return f"{self.revision}: {self.count} messages"

    def special(self):
        """What only the revision without sessions has."""
        other = {**META, "io.modelcontextprotocol/protocolVersion": "1900-01-01"}
        self.write(json.dumps({"jsonrpc": "2.0", "id": "o", "method": "tools/list", "params": {"_meta": other}}))
        self.fits(self.read(), "UnsupportedProtocolVersionError")
        listen = {"notifications": {"toolsListChanged": True}, "_meta": META}
        self.write(json.dumps({"jsonrpc": "2.0", "id": "l", "method": "subscriptions/listen", "params": listen}))
        self.fits(json.loads(self.server.stdout.readline()), "SubscriptionsAcknowledgedNotification")
        self.read("SubscriptionsListenResult")


def told(what, started, passed):
    print(f"{what}, {passed} ({time.time() - started:.1f} s)", flush=True)


for mode in ["auto", "legacy"]:
    began = time.time()
    told(f"official client, mode {mode}", began, asyncio.run(official(mode)))
for revision in ["2025-06-18", "2025-11-25", "2026-07-28"]:
    began = time.time()
    told("official schema", began, Session(revision).run())
