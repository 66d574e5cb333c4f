//! Plans of work and results of items, as they come from other machines.
//!
//! The first byte says what the rest is. `p`: a plan as it stands. `s`: a plan whose keys, count and digest are made right, so
//! that what is behind them is reached. `r`: a result whose key, length and digest are made right.

use repro_core::digest::Digest;
use repro_verify::cluster::{Program, WorkItem, WorkPlan, read_result};
use serde_json::{Value as Json, json};

use super::refused;

/// An accepted plan is read from its own text again; a result is read twice alike.
pub fn check(bytes: &[u8]) {
    let Some((sort, rest)) = bytes.split_first() else { return };
    let end = rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len());
    let (head, body) = (&rest[..end], rest.get(end + 1..).unwrap_or_default());
    let head = serde_json::from_slice::<Json>(head).unwrap_or_default();
    let Ok(program) = serde_json::from_value::<Program>(head["program"].clone()) else { return };
    match sort {
        b'p' => plan(rest, &program),
        b's' => plan(&sealed(head, body, &program), &program),
        b'r' => result(head, body, &program),
        _ => {}
    }
}

fn plan(bytes: &[u8], program: &Program) {
    match WorkPlan::read(bytes, "plan", program) {
        Ok(plan) => {
            let again = WorkPlan::read(plan.text().as_bytes(), "plan", program);
            assert_eq!(again.expect("its own text").text(), plan.text());
        }
        Err(error) => refused(&error, None),
    }
}

fn sealed(mut head: Json, body: &[u8], program: &Program) -> Vec<u8> {
    let mut lines = String::new();
    let mut count = 0;
    for line in body.split(|&byte| byte == b'\n') {
        if let Ok(item) = serde_json::from_slice::<WorkItem>(line) {
            lines += &(item.keyed(program).line() + "\n");
            count += 1;
        }
    }
    head["items"] = json!(count);
    head["items_sha256"] = json!(Digest::of(lines.as_bytes()).to_string());
    format!("{head}\n{lines}").into_bytes()
}

fn result(mut head: Json, body: &[u8], program: &Program) {
    if let Ok(item) = serde_json::from_value::<WorkItem>(head["item"].clone()) {
        head["item"] = serde_json::to_value(item.keyed(program)).expect("read before");
    }
    head["bytes"] = json!(body.len());
    head["sha256"] = json!(Digest::of(body).to_string());
    let file = [format!("{head}\n").as_bytes(), body].concat();
    let read = || format!("{:?}", read_result(&file));
    assert_eq!(read(), read());
}
