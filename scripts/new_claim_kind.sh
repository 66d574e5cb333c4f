#!/bin/sh
# Begins a claim kind: its file, its two lines in src/judge/claims/mod.rs, its corpus folders.
# Usage: scripts/new_claim_kind.sh NAME
set -eu
LC_ALL=C
export LC_ALL

fail() {
    echo "new_claim_kind.sh: $1" >&2
    exit 2
}

[ $# -eq 1 ] || fail "usage: scripts/new_claim_kind.sh NAME"
name=$1
case $name in
'' | [!a-z]* | *[!a-z0-9_]* | *_ | *__*) fail "\`$name\` is no snake_case name such as \`loss_gap\`" ;;
mod | plus_minus | tolerance | tests) fail "\`$name\` is the name of something else" ;;
as | async | await | break | const | continue | crate | dyn | else | enum | extern | false | fn | for | gen | if | impl | in | \
    let | loop | match | move | mut | pub | ref | return | self | static | struct | super | trait | true | type | unsafe | use | \
    where | while | abstract | become | box | do | final | macro | override | priv | try | typeof | unsized | virtual | yield)
    fail "\`$name\` is a word of Rust" ;;
esac

cd "$(dirname "$0")/.."
registry=src/judge/claims/mod.rs
file=src/judge/claims/$name.rs
corpus=tests/corpus/$name
[ -f "$registry" ] || fail "there is no $registry here"
[ ! -e "$file" ] || fail "$file exists already"
[ ! -e "$corpus" ] || fail "$corpus exists already"

cat >"$file" <<RUST
//! One sentence: the statement that a claim of this kind makes.

use super::{ClaimKind, FieldSpec};
use crate::evidence::Evidence;
use crate::post::Claim;
use repro_receipt::source::{Error, codes};
use repro_report::outcome::{Impact, Outcome};

codes! {
    NO_RULE = "$name::no-rule", "the rule of this kind is not written", "write \`check\` in \`$file\`";
}

/// The record of this kind.
pub static KIND: ClaimKind = ClaimKind {
    id: "$name",
    summary: "one line for \`repro list kinds\`",
    explain: "What is checked, and the formula.\\n\\
              How it can mislead: what agreement does not show.\\n\\
              Reference: where the rule comes from.",
    fields: &[FieldSpec::optional("value", "what the evidence gives, as a term")],
    codes: CODES,
    impact: Impact::Digit,
    // Whether \`check\` compares the claimed number; where it does not, the number must be one that the claim
    // depends on.
    judges_claimed: false,
    check,
};

/// Read the fields of \`claim.node\`, ask \`evidence\` for terms, and answer with an outcome that says
/// \`giving\` (what was recomputed), \`within\` (rule and tolerance) and \`by\` (method).
fn check(claim: &Claim, evidence: &Evidence) -> Result<Outcome, Error> {
    if let Some(value) = claim.node.get("value") {
        evidence.quantity(value)?;
    }
    Ok(Outcome::unchecked(&NO_RULE, "the rule of \`$name\` is not written"))
}
RUST

# Puts a line into the sorted run of lines that look like it.
insert() {
    line=$1 pattern=$2
    awk -v line="$line" -v pattern="$pattern" '
        $0 ~ pattern { run = 1; if (!done && $0 > line) { print line; done = 1 } }
        $0 !~ pattern && run && !done { print line; done = 1 }
        { print }
    ' "$registry" >"$registry.new"
    mv "$registry.new" "$registry"
}
insert "mod $name;" '^mod [a-z0-9_]+;$'
insert "    &$name::KIND," '^    &[a-z0-9_]+::KIND,$'

for root in good bad; do
    mkdir -p "$corpus/$root/repro" "$corpus/$root/receipts/evidence/data"
    value=1.5
    [ $root = good ] || value=1.6
    cat >"$corpus/$root/receipts/evidence/data/facts.json" <<JSON
{"facts": [{"id": "value", "value": "$value", "at": {"source": "log", "place": "line 1"}}]}
JSON
    cat >"$corpus/$root/receipts/evidence/data/receipt.json" <<JSON
{"schema": "repro.receipt/1", "origin": "transcribed"}
JSON
    cat >"$corpus/$root/repro/$name.toml" <<TOML
schema = "repro.post/1"
id = "$name"
title = "The smallest claim of this kind"
default_bundle = "evidence"

[[source]]
id = "post"
what = "the post"

[[bundle]]
name = "evidence"
digest = "sha256:the digest that \`repro seal\` prints"

[[claim]]
id = "value"
kind = "$name"
quote = "a value of 1.5"
at = { source = "post", place = "section 1" }
claimed = "1.5"
value = { fact = "value" }
TOML
done

cat <<NEXT
Written: $file, $corpus/good, $corpus/bad, and two lines in $registry.
Next:
  1. Write the rule, its codes and its explanation in $file.
  2. Let good and bad differ in one value; the claim holds in good and is refuted in bad. Then, for both:
       cargo run -- seal $corpus/good/receipts/evidence
     and put the digest that it prints into $corpus/good/repro/$name.toml.
  3. Add $corpus/cases with a claim for every other code.
  4. cargo test, then cargo insta review: read what the reports say.
NEXT
