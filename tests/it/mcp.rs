//! `repro mcp`: whole sessions with the program: what it answers, what it refuses, and that it writes nothing and never hangs.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::draft::{TEXT, project};
use crate::schemas::Schema;

/// The most time that an answer may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// A config that is counted, and a card that says another number.
const CONFIG: &str = r#"{"model_type": "llama", "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 4, "vocab_size": 1000, "tie_word_embeddings": false}"#;

/// The state of a training, in which what is asked holds.
const HOLDS: &str =
    r#"{"global_step": 2, "log_history": [{"step": 1, "loss": 2.5}, {"step": 2, "loss": 2.25}]}"#;

/// A server and its client.
struct Session {
    server: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    /// Where private folders are made.
    private: TempDir,
    asked: u64,
}

impl Session {
    fn start(folder: &Path, arguments: &[&str]) -> Self {
        let private = tempfile::tempdir().unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_repro"));
        command.arg("mcp").args(arguments).current_dir(folder).env("TMPDIR", private.path());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut server = command.spawn().unwrap();
        let stdout = BufReader::new(server.stdout.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            stdout.lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
        });
        let stdin = server.stdin.take();
        Self { server, stdin, lines, private, asked: 0 }
    }

    /// A session of the newest revision that has sessions.
    fn begun(folder: &Path, arguments: &[&str]) -> Self {
        let mut session = Self::start(folder, arguments);
        let begun = session.ask(
            "initialize",
            json!({"protocolVersion": "2025-11-25",
            "capabilities": {}, "clientInfo": {"name": "it", "version": "0"}}),
        );
        assert_eq!(begun["result"]["protocolVersion"], "2025-11-25");
        session.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        session
    }

    fn write(&mut self, line: &[u8]) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(line).and_then(|()| stdin.write_all(b"\n")).unwrap();
        stdin.flush().unwrap();
    }

    fn send(&mut self, message: &Value) {
        self.write(message.to_string().as_bytes());
    }

    /// The next message. Nothing but messages stands on the standard output.
    fn next(&mut self) -> Value {
        let line = self.lines.recv_timeout(PATIENCE).expect("an answer in time");
        let message: Value = serde_json::from_str(&line).expect(&line);
        assert_eq!(message["jsonrpc"], "2.0");
        message
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.asked += 1;
        let id = self.asked;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        let answer = self.next();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    /// The result of a call of a tool.
    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let mut answer = self.ask("tools/call", json!({"name": tool, "arguments": arguments}));
        answer["result"].take()
    }

    /// The code of the first error of a call that is refused.
    fn refusal(&mut self, tool: &str, arguments: Value) -> String {
        let result = self.call(tool, arguments.clone());
        assert_eq!(result["isError"], true, "{arguments}: {result}");
        assert_eq!(result["structuredContent"]["status"], "refused");
        assert!(text(&result).starts_with("status: refused"), "{result}");
        result["structuredContent"]["errors"][0]["code"].as_str().unwrap_or_default().to_owned()
    }

    /// Ends the input; answers how long the server took to end, which leaves nothing behind.
    fn end(mut self) -> Duration {
        drop(self.stdin.take());
        let since = Instant::now();
        let status = self.server.wait().unwrap();
        assert_eq!(status.code(), Some(0));
        assert_eq!(left_in(self.private.path()), 0, "private folders are taken away");
        since.elapsed()
    }
}

fn left_in(folder: &Path) -> usize {
    fs::read_dir(folder).unwrap().count()
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap()
}

fn status(result: &Value) -> &str {
    assert_eq!(result["isError"], result["structuredContent"]["status"] == "refused");
    assert!(text(result).ends_with(result["structuredContent"]["scope"].as_str().unwrap()));
    result["structuredContent"]["status"].as_str().unwrap()
}

/// What is asked of a server in the revision without sessions.
fn alone(mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    params
}

/// Every file below a folder with its bytes.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(files(&path)),
            false => drop(found.insert(path.clone(), fs::read(&path).unwrap())),
        }
    }
    found
}

#[test]
fn every_revision_is_spoken_as_the_client_asks() {
    let folder = tempfile::tempdir().unwrap();
    for (asked, spoken) in
        [("2025-06-18", "2025-06-18"), ("2025-11-25", "2025-11-25"), ("2024-11-05", "2025-11-25")]
    {
        let mut session = Session::start(folder.path(), &[]);
        let begun = session.ask("initialize", json!({"protocolVersion": asked}));
        assert_eq!(begun["result"]["protocolVersion"], spoken);
        assert_eq!(begun["result"]["serverInfo"]["name"], "repro");
        assert_eq!(session.ask("ping", json!({}))["result"], json!({}));
        let tools = session.ask("tools/list", json!({}));
        let names: Vec<_> =
            tools["result"]["tools"].as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
        assert_eq!(names, ["check", "verify", "draft", "stats", "params", "explain"]);
        assert!(tools["result"].get("resultType").is_none());
        session.end();
    }
    let mut session = Session::start(folder.path(), &[]);
    let found = session.ask("server/discover", alone(json!({})));
    assert_eq!(
        found["result"]["supportedVersions"],
        json!(["2026-07-28", "2025-11-25", "2025-06-18"])
    );
    assert_eq!(found["result"]["resultType"], "complete");
    let tools = session.ask("tools/list", alone(json!({})));
    assert_eq!(tools["result"]["cacheScope"], "public");
    let said = session
        .ask("tools/call", alone(json!({"name": "explain", "arguments": {"name": "scope"}})));
    assert_eq!(said["result"]["resultType"], "complete");
    assert_eq!(said["result"]["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "repro");
    session.send(&json!({"jsonrpc": "2.0", "id": "s", "method": "subscriptions/listen",
        "params": alone(json!({"notifications": {"toolsListChanged": true}}))}));
    assert_eq!(session.next()["params"]["notifications"], json!({}), "nothing ever changes");
    assert_eq!(session.next()["id"], "s");
    session.end();
}

#[test]
fn what_the_protocol_does_not_know_is_an_error_of_the_protocol() {
    let folder = tempfile::tempdir().unwrap();
    let mut session = Session::start(folder.path(), &[]);
    let code = |answer: &Value| answer["error"]["code"].as_i64().unwrap();
    assert_eq!(
        code(&session.ask("tools/list", json!({}))),
        -32602,
        "neither a session nor `_meta`"
    );
    assert_eq!(code(&session.ask("initialize", json!({}))), -32602);
    let mut other = alone(json!({}));
    other["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("1900-01-01");
    let refused = session.ask("tools/list", other);
    assert_eq!(code(&refused), -32022);
    assert_eq!(refused["error"]["data"]["requested"], "1900-01-01");
    assert_eq!(code(&session.ask("ping", alone(json!({})))), -32601, "that revision has none");
    session.ask("initialize", json!({"protocolVersion": "2025-11-25"}));
    for (method, params, expected) in [
        ("resources/list", json!({}), -32601),
        ("tools/list", json!({"cursor": "2"}), -32602),
        ("tools/call", json!({}), -32602),
        ("tools/call", json!({"name": "rm"}), -32602),
        ("tools/call", json!({"name": "check", "arguments": []}), -32602),
    ] {
        assert_eq!(code(&session.ask(method, params)), expected, "{method}");
    }
    let deep = format!("{}1{}", "[".repeat(5000), "]".repeat(5000));
    for (line, expected) in [
        ("{\"jsonrpc\"", -32700),
        ("\u{fffd}", -32700),
        ("[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]", -32600),
        ("{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}", -32600),
        (deep.as_str(), -32700),
    ] {
        session.write(line.as_bytes());
        assert_eq!(code(&session.next()), expected, "{line:.60}");
    }
    let whole =
        json!({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"a": ["\u{e9}", 1.5e3]}})
            .to_string();
    for cut in 1..whole.len() {
        session.write(&whole.as_bytes()[..cut]);
        assert_eq!(code(&session.next()), -32700, "{cut}");
    }
    session.write(b"\xff\xfe{}");
    assert_eq!(code(&session.next()), -32700);
    session.write(&vec![b' '; (16 << 20) + 2]);
    assert_eq!(code(&session.next()), -32600, "a message that is too long is passed over");
    // What expects no answer gets none: the next answer is that to `ping`.
    session.write(b"");
    session.send(&json!({"jsonrpc": "2.0", "id": 7, "result": {}}));
    session.send(&json!({"jsonrpc": "2.0", "method": "notifications/nobody/knows"}));
    session.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 99}}));
    assert_eq!(session.ask("ping", json!({}))["result"], json!({}));
    session.end();
}

#[test]
fn tools_say_what_the_commands_say_and_write_nothing() {
    let folder = project(TEXT);
    let before = files(folder.path());
    let mut session = Session::begun(folder.path(), &[]);

    let bundle = session.call("verify", json!({"bundles": ["receipts/moe-1"], "all": true}));
    assert_eq!(status(&bundle), "verified", "{bundle}");
    let report = &bundle["structuredContent"]["report"];
    assert_eq!(Schema::closed("report").fault(report), None);

    let drafted = session.call("draft", json!({"path": "mine.md"}));
    assert_eq!(status(&drafted), "undecided", "nobody has confirmed anything");
    let by_text = session.call("draft", json!({"text": TEXT, "name": "mine.md"}));
    assert_eq!(by_text["structuredContent"]["post"], drafted["structuredContent"]["post"]);
    let post = by_text["structuredContent"]["post"].as_str().unwrap();
    assert!(post.contains("# drafted"), "{post}");
    let open = by_text["structuredContent"]["numbers"].as_array().unwrap().iter();
    let open: Vec<_> = open.filter(|number| number["expression"].is_null()).collect();
    assert_eq!(open.len(), 1);
    assert_eq!(open[0]["printed"], "731");

    let unconfirmed = session.call("verify", json!({"post": post, "text": TEXT}));
    assert_eq!(status(&unconfirmed), "undecided", "a draft is no pass: {unconfirmed}");
    let marks = |line: &&str| !line.starts_with("# drafted");
    let confirmed: String = post.split_inclusive('\n').filter(marks).collect();
    let verified = session.call("verify", json!({"post": confirmed, "text": TEXT}));
    assert_eq!(status(&verified), "verified", "{verified}");
    let unbound =
        session.call("verify", json!({"post": confirmed, "text": TEXT, "all_bound": true}));
    assert_eq!(status(&unbound), "undecided");
    let (wrong, lie) = (
        confirmed.replace("gap of 0.1100", "gap of 0.1200"),
        TEXT.replace("gap of 0.1100", "gap of 0.1200"),
    );
    let refuted = session.call("verify", json!({"post": wrong, "text": lie}));
    assert_eq!(status(&refuted), "refuted", "{refuted}");
    let report = &refuted["structuredContent"]["report"];
    assert_eq!(Schema::closed("report").fault(report), None);
    let verdicts: Vec<_> = report["posts"][0]["claims"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["verdict"])
        .collect();
    assert!(
        verdicts.contains(&&json!("refuted")) && !verdicts.contains(&&json!("verified")),
        "{verdicts:?}"
    );
    let none = session.call("verify", json!({}));
    assert_eq!(status(&none), "undecided", "a project without posts is no pass");

    let checked = session.call("check", json!({"paths": ["receipts"]}));
    assert_eq!(status(&checked), "verified", "{checked}");
    let report = &checked["structuredContent"]["report"];
    assert_eq!(Schema::closed("check").fault(report), None);
    let card = json!([{"name": "config.json", "text": CONFIG}, {"name": "README.md", "text": "# Tiny\n\nIt has 7B parameters.\n"}]);
    let odd = session.call("check", json!({"documents": card, "all": true}));
    assert_ne!(status(&odd), "verified", "{odd}");
    assert!(text(&odd).contains("inline"), "{odd}");
    assert_eq!(Schema::closed("check").fault(&odd["structuredContent"]["report"]), None);

    let counted =
        session.call("params", json!({"documents": [{"name": "config.json", "text": CONFIG}]}));
    assert_eq!(status(&counted), "no verdict");
    assert_eq!(Schema::closed("params").fault(&counted["structuredContent"]["report"]), None);
    let tested = session.call("stats", json!({"a": [1.0, 2.0, 3.5], "b": [-2, 3.1, 4e-3]}));
    assert_eq!(status(&tested), "no verdict");
    assert_eq!(Schema::open("stats").fault(&tested["structuredContent"]["report"]), None);
    let counts = session.call(
        "stats",
        json!({"counts": [{"successes": 8, "trials": 10}, {"successes": 3, "trials": 10}]}),
    );
    assert_eq!(status(&counts), "no verdict");
    let explained = session.call("explain", json!({"search": "welch"}));
    assert_eq!(status(&explained), "no verdict");
    assert_ne!(explained["structuredContent"]["found"], json!([]));

    session.end();
    assert!(before == files(folder.path()), "the project is as it was");
}

#[test]
fn arguments_that_do_not_fit_are_told_to_the_model() {
    let folder = project(TEXT);
    let mut session = Session::begun(folder.path(), &[]);
    let documents = |name: &str| json!({"documents": [{"name": name, "text": CONFIG}]});
    for (tool, arguments) in [
        ("check", json!({})),
        ("check", json!({"paths": ["mine.md"], "documents": [{"name": "a.md", "text": ""}]})),
        ("check", json!({"path": "mine.md"})),
        ("check", json!({"paths": "mine.md"})),
        ("check", json!({"paths": [], "documents": [{"name": "config.json", "text": CONFIG}]})),
        ("verify", json!({"posts": []})),
        ("verify", json!({"bundles": []})),
        ("draft", json!({"text": TEXT, "evidence": []})),
        ("stats", json!({"a": []})),
        ("verify", json!({"post": "schema = 1"})),
        ("verify", json!({"text": "a"})),
        ("verify", json!({"post": "", "text": "", "posts": ["a"]})),
        ("draft", json!({})),
        ("draft", json!({"path": "mine.md", "name": "a.md"})),
        ("stats", json!({"a": [1, 2], "summary_a": {"mean": 1, "sd": 1, "n": 3}})),
        ("stats", json!({"a": ["1"]})),
        ("explain", json!({"name": "scope", "search": "scope"})),
    ] {
        assert_eq!(
            session.refusal(tool, arguments.clone()),
            "mcp::bad-arguments",
            "{tool} {arguments}"
        );
    }
    for (tool, arguments, code) in [
        ("stats", json!({}), "cli::bad-usage"),
        ("stats", json!({"a": [1, 2], "level": 2}), "cli::bad-number"),
        ("explain", json!({"name": "no::such"}), "cli::unknown-code"),
        ("draft", json!({"text": "no numbers"}), "draft::no-numbers"),
        ("params", documents("config.bin"), "checkpoint::foreign-format"),
        ("check", documents("../config.json"), "mcp::bad-name"),
        ("check", documents("/etc/config.json"), "mcp::bad-name"),
        ("check", documents(".hidden"), "mcp::bad-name"),
        ("check", documents(""), "mcp::bad-name"),
        ("params", documents("a\u{0}b"), "mcp::bad-name"),
        ("verify", json!({"posts": ["../mine"]}), ""),
        ("verify", json!({"post": "id = \"..\"", "text": ""}), "source::missing-field"),
    ] {
        let found = session.refusal(tool, arguments.clone());
        assert_eq!(found, code, "{tool} {arguments}");
    }
    for text in ["../../mine.md", "/etc/passwd", ".git", "x.toml"] {
        let post =
            format!("schema = \"repro.post/2\"\nid = \"x\"\ntitle = \"x\"\ntext = \"{text}\"\n");
        assert_eq!(session.refusal("verify", json!({"post": post, "text": "1"})), "mcp::bad-name");
    }
    session.end();
}

/// A draft of the project's text that is confirmed.
fn confirmed(session: &mut Session) -> String {
    let drafted = session.call("draft", json!({"text": TEXT, "name": "mine.md"}));
    let post = drafted["structuredContent"]["post"].as_str().unwrap();
    post.split_inclusive('\n').filter(|line| !line.starts_with("# drafted")).collect()
}

#[test]
fn a_text_that_the_post_does_not_name_is_no_text_of_it() {
    let folder = project(TEXT);
    let mut session = Session::begun(folder.path(), &[]);
    let post = confirmed(&mut session);
    let line = "text = \"mine.md\"\n";
    assert_eq!(post.matches(line).count(), 1, "{post}");
    let with =
        |texts: &str| post.replace(line, "").replacen("[names]", &format!("{texts}[names]"), 1);
    let digest = repro_core::digest::Digest::of(TEXT.as_bytes()).to_string();
    let by_digest =
        |name: &str, digest: &str| format!("[texts.{name}]\nwhat = \"w\"\nsha256 = \"{digest}\"\n");
    let zeros = "0".repeat(64);
    let of_another = by_digest("a", &zeros);
    for (texts, code) in [
        ("", "text::none-named"),
        (of_another.as_str(), "text::other"),
        ("[texts.a]\nwhat = \"w\"\n", "text::other"),
    ] {
        let arguments = json!({"post": with(texts), "text": TEXT});
        assert_eq!(session.refusal("verify", arguments), code, "{texts}");
    }
    let own = session.call("verify", json!({"post": with(&by_digest("a", &digest)), "text": TEXT}));
    assert_eq!(status(&own), "verified", "{own}");
    let both = with(&(of_another + &by_digest("b", &digest)));
    // Tables cannot be read without their text; of sentences the quote says what they print.
    let sentences = both.split("\n[[").filter(|part| !part.starts_with("table]]"));
    let both = sentences.collect::<Vec<_>>().join("\n[[");
    let lacking = session.call("verify", json!({"post": both, "text": TEXT}));
    assert_eq!(
        status(&lacking),
        "undecided",
        "quotes of the other text were not looked up: {lacking}"
    );
    session.end();
}

#[test]
fn what_a_call_names_and_check_does_not_judge_is_no_pass() {
    let folder = project(TEXT);
    fs::create_dir(folder.path().join("notes")).unwrap();
    fs::write(folder.path().join("notes/a.txt"), "99.9% on MMLU\n").unwrap();
    let mut session = Session::begun(folder.path(), &[]);
    let document = |name: &str, text: &str| json!({"name": name, "text": text});
    let alone = session.call("check", json!({"documents": [document("r.json", HOLDS)]}));
    assert_eq!(status(&alone), "verified", "{alone}");
    assert_eq!(alone["structuredContent"]["not_judged"], json!([]));
    for name in ["README.md", "paper.txt", "paper.pdf"] {
        let documents =
            json!([document("r.json", HOLDS), document(name, "# Results\n\n99.9% on MMLU.\n")]);
        let result = session.call("check", json!({"documents": documents}));
        assert_eq!(status(&result), "refused", "as on the command line: {result}");
        assert_eq!(
            result["structuredContent"]["report"]["failures"][0]["code"],
            "check::no-known-file"
        );
        assert!(text(&result).contains(name), "{result}");
    }
    let config = json!([document("r.json", HOLDS), document("other.json", CONFIG)]);
    let silent = session.call("check", json!({"documents": config}));
    assert_eq!(status(&silent), "undecided", "nothing was asked of one: {silent}");
    assert_eq!(silent["structuredContent"]["not_judged"], json!(["inline/other.json"]));
    let both = session.call("check", json!({"paths": ["receipts", "notes"]}));
    assert_eq!(status(&both), "undecided", "{both}");
    assert_eq!(both["structuredContent"]["not_judged"], json!(["notes"]));
    assert!(text(&both).contains("no check applies: notes"), "{both}");
    session.end();
}

#[test]
fn a_file_that_is_read_alone_is_not_refused_for_its_neighbours() {
    let (folder, outside) = (project(TEXT), tempfile::tempdir().unwrap());
    let secret = outside.path().join("secret");
    fs::write(&secret, "{}").unwrap();
    symlink(&secret, folder.path().join("link.safetensors")).unwrap();
    fs::write(folder.path().join("own.json"), CONFIG).unwrap();
    let index = json!({"weight_map": {"w": "link.safetensors"}}).to_string();
    fs::write(folder.path().join("map.json"), &index).unwrap();
    fs::write(folder.path().join("model.safetensors.index.json"), index).unwrap();
    fs::write(folder.path().join("w.safetensors"), "").unwrap();
    fs::create_dir_all(folder.path().join("store/flat")).unwrap();
    symlink(outside.path(), folder.path().join("store/flat/objects")).unwrap();
    fs::write(folder.path().join("store/index.jsonl"), "{}\n").unwrap();
    let mut session = Session::begun(folder.path(), &[]);
    let counted = session.call("params", json!({"paths": ["own.json"]}));
    assert_eq!(status(&counted), "no verdict", "{counted}");
    let drafted = session.call("draft", json!({"path": "mine.md"}));
    assert_eq!(status(&drafted), "undecided", "{drafted}");
    for path in ["map.json", "model.safetensors.index.json", "w.safetensors", "link.safetensors"] {
        assert_eq!(session.refusal("params", json!({"paths": [path]})), "mcp::outside", "{path}");
    }
    let store = json!({"paths": ["store/index.jsonl"]});
    assert_eq!(
        session.refusal("check", store),
        "mcp::outside",
        "objects lie in folders beside an index"
    );
    session.end();
}

#[test]
fn nothing_outside_of_the_roots_is_read_not_even_through_links() {
    let (folder, outside) = (project(TEXT), tempfile::tempdir().unwrap());
    let secret = outside.path().join("config.json");
    fs::write(&secret, CONFIG).unwrap();
    fs::create_dir_all(folder.path().join("a/model")).unwrap();
    fs::create_dir_all(folder.path().join("b/own")).unwrap();
    symlink(&secret, folder.path().join("a/model/config.json")).unwrap();
    symlink(outside.path(), folder.path().join("b/link")).unwrap();
    symlink("own", folder.path().join("b/around")).unwrap();
    fs::write(folder.path().join("a/model/README.md"), "# 7B parameters\n").unwrap();
    let index =
        json!({"metadata": {}, "weight_map": {"w": secret.display().to_string()}}).to_string();
    let calls = |path: &str| {
        [
            ("check", json!({"paths": [path]})),
            ("params", json!({"paths": [path]})),
            ("draft", json!({"path": path})),
            ("verify", json!({"bundles": [path]})),
        ]
    };
    fs::create_dir_all(folder.path().join("c/.eval_results")).unwrap();
    fs::write(folder.path().join("c/config.json"), CONFIG).unwrap();
    symlink(&secret, folder.path().join("c/.eval_results/a.yaml")).unwrap();
    let absolute = secret.display().to_string();
    let up =
        format!("a/../../{}/config.json", outside.path().file_name().unwrap().to_string_lossy());
    let mut session = Session::begun(folder.path(), &[]);
    for path in [
        absolute.as_str(),
        &up,
        "/",
        "..",
        "/nowhere/at/all",
        "a/model/config.json",
        "a/model/README.md",
        "a",
        "b",
        "c",
    ] {
        for (tool, arguments) in calls(path) {
            // A text to draft from is read without what stands beside it; and a card is nothing to count.
            let is_alone = path == "a/model/README.md" && ["draft", "params"].contains(&tool);
            let result = session.call(tool, arguments);
            let code = &result["structuredContent"]["errors"][0]["code"];
            assert_eq!(code == "mcp::outside", !is_alone, "{tool} {path}: {result}");
        }
    }
    assert_eq!(session.refusal("check", json!({"paths": ["a/none"]})), "source::unreadable");
    let shards = json!({"documents": [{"name": "model.safetensors.index.json", "text": index}]});
    let told = session.call("params", shards);
    assert_eq!(told["isError"], true, "{told}");
    session.end();

    // What is allowed by name is read.
    let allowed = outside.path().display().to_string();
    let mut session = Session::begun(folder.path(), &["--allow", &allowed]);
    let counted = session.call("params", json!({"paths": ["a/model/config.json"]}));
    assert_eq!(status(&counted), "no verdict", "{counted}");
    session.end();

    // Bundles and posts that lead out are as little read.
    symlink(outside.path(), folder.path().join("receipts/stolen")).unwrap();
    let mut session = Session::begun(folder.path(), &[]);
    assert_eq!(session.refusal("draft", json!({"text": TEXT})), "mcp::outside");
    assert_eq!(session.refusal("verify", json!({})), "mcp::outside");
    session.end();
}

/// Lists whose bootstrap takes minutes.
fn long() -> Value {
    let list: Vec<_> = (0..60_000).map(|at| f64::from(at % 977)).collect();
    json!({"name": "stats", "arguments": {"a": list, "b": list}})
}

#[test]
fn a_call_ends_in_time_or_when_it_is_cancelled_and_others_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let mut session = Session::begun(folder.path(), &["--time-limit", "2"]);
    assert_eq!(session.refusal("stats", long()["arguments"].clone()), "mcp::timeout");
    session.end();

    let mut session = Session::begun(folder.path(), &[]);
    let request =
        |id: &str| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": long()});
    let cancelled = |id: &str| json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}});
    for at in 0..8 {
        session.send(&request(&format!("long {at}")));
    }
    session.send(&request("long 0"));
    assert_eq!(session.next()["error"]["code"], -32600, "an id that waits is not taken twice");
    assert_eq!(session.refusal("explain", json!({"name": "scope"})), "mcp::too-many-calls");
    assert_eq!(session.ask("ping", json!({}))["result"], json!({}));
    for at in 1..8 {
        session.send(&cancelled(&format!("long {at}")));
    }
    let said = session.call("explain", json!({"name": "scope"}));
    assert_eq!(status(&said), "no verdict", "a cancelled call makes room and is not answered");
    assert!(session.end() < Duration::from_secs(30), "what still runs does not hold the end up");
}

#[test]
fn the_id_of_a_cancelled_call_is_that_of_the_next_one() {
    let folder = tempfile::tempdir().unwrap();
    let mut session = Session::begun(folder.path(), &[]);
    let asked = |code: &str| {
        let params = json!({"name": "explain", "arguments": {"name": code}});
        json!({"jsonrpc": "2.0", "id": "same", "method": "tools/call", "params": params})
    };
    let cancelled = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "same"}});
    for _ in 0..8 {
        // At once, so that the process of the first ends while that of the second begins.
        let lines = [asked("mcp::outside"), cancelled.clone(), asked("mcp::timeout")];
        session.write(lines.map(|line| line.to_string()).join("\n").as_bytes());
        let answer = session.next();
        assert_eq!(answer["id"], "same");
        assert_eq!(status(&answer["result"]), "no verdict", "{answer}");
        assert!(text(&answer["result"]).contains("mcp::timeout"), "{answer}");
    }
    assert_eq!(session.ask("ping", json!({}))["result"], json!({}), "each was answered once");
    session.end();
}

/// Whether the system denies writing to files to the one process that a server has started.
#[cfg(target_os = "linux")]
fn may_write_nothing(server: u32) -> bool {
    let since = Instant::now();
    while since.elapsed() < PATIENCE {
        let tasks = fs::read_dir(format!("/proc/{server}/task")).unwrap().flatten();
        let children: String =
            tasks.flat_map(|task| fs::read_to_string(task.path().join("children"))).collect();
        let limits =
            fs::read_to_string(format!("/proc/{}/limits", children.trim())).unwrap_or_default();
        let size =
            limits.lines().find(|line| line.starts_with("Max file size")).unwrap_or_default();
        if size.split_whitespace().nth(3) == Some("0") {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    false
}

#[test]
fn a_call_ends_with_its_server() {
    let folder = tempfile::tempdir().unwrap();
    let mut session = Session::begun(folder.path(), &[]);
    session.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": long()}));
    let since = Instant::now();
    while left_in(session.private.path()) == 0 {
        assert!(since.elapsed() < PATIENCE, "the call was not started");
        std::thread::sleep(Duration::from_millis(20));
    }
    #[cfg(target_os = "linux")]
    assert!(may_write_nothing(session.server.id()), "the system denies writing to a call");
    // The call reads its input before it computes.
    std::thread::sleep(Duration::from_secs(1));
    session.server.kill().unwrap();
    session.server.wait().unwrap();
    let since = Instant::now();
    while left_in(session.private.path()) > 0 {
        assert!(since.elapsed() < PATIENCE, "the call goes on without a server");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn the_session_of_the_page_is_what_is_answered() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/how-to/mcp.md");
    let page = fs::read_to_string(page).unwrap();
    let block = page.split("<!-- session of mcp -->\n```text\n").nth(1).unwrap();
    let block = block.split("```").next().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut session = Session::begun(folder.path(), &[]);
    let (mut answer, mut calls) = (String::new(), 0);
    for line in block.lines() {
        if let Some((tool, arguments)) =
            line.strip_prefix("> ").and_then(|call| call.split_once(' '))
        {
            let result = session.call(tool, serde_json::from_str(arguments).unwrap());
            answer = text(&result).to_owned();
            calls += 1;
        } else {
            let at = answer.find(line).unwrap_or_else(|| panic!("`{line}` in {answer}"));
            answer.drain(..at + line.len());
        }
    }
    assert_eq!(calls, 3);
    session.end();
}
