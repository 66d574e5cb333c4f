#!/usr/bin/env bash
# Checks bundles and signatures of `repro` with third-party tools, and theirs with `repro`:
#
#   scripts/interop.sh            checks everything, and compares the results with docs/explanation/interop.md
#   scripts/interop.sh --write    checks everything, and writes docs/explanation/interop.md
#
# Needs Python 3 with venv, Node with npm, openssl and coreutils. Packages are installed once from PyPI and npm into
# target/interop. The official schemas are in the shared data beside the project, or in REPRO_SHARED_DATA.
set -euo pipefail
cd "$(dirname "$0")/.."
project=$PWD
schemas="$(cd "${REPRO_SHARED_DATA:-../shared/data}" && pwd)/oms/schemas/v1.0"
tools=$project/target/interop
document=$project/docs/explanation/interop.md

python_packages=(bagit==1.9.0 model-signing==1.1.1 pyOpenSSL==26.4.0 'securesystemslib[crypto]==1.6.0'
  in-toto-attestation==0.9.3 jsonschema==4.26.0 referencing==0.37.0)
node_packages=(@sigstore/bundle@5.0.1 @sigstore/verify@4.1.3)
wanted="${python_packages[*]} ${node_packages[*]}"
if [ "$(cat "$tools/installed" 2>/dev/null)" != "$wanted" ]; then
  rm -rf "$tools"
  mkdir -p "$tools"
  python3 -m venv "$tools/venv"
  "$tools/venv/bin/pip" install --quiet --disable-pip-version-check "${python_packages[@]}"
  (cd "$tools" && npm install --silent --no-audit --no-fund --no-save "${node_packages[@]}")
  echo "$wanted" >"$tools/installed"
fi
python=$tools/venv/bin/python
signer=$tools/venv/bin/model_signing
cargo build --release --locked --quiet
repro=$project/target/release/repro

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
report=$work/report.md
# One result: bundle, tool, what the tool did.
row() {
  printf '%s\t%s\t%s\n' "$1" "$2" "$3" >>"$work/rows"
  echo "$1: $2: $3"
}
# One flipped byte: where, the tool that rejected it.
flipped() {
  printf '%s\t%s\n' "$1" "$2" >>"$work/flips"
  echo "a flipped byte in $1: rejected by $2"
}
# The page: one row for each tool and result, one for each flipped byte.
report() {
  cat <<END
# Interoperability

This page lists the third-party tools that accept bundles and signatures of \`repro\`, and the third-party signatures that \`repro\` accepts.
\`scripts/interop.sh --write\` writes it. \`.ci/run\` repeats every check and fails if a result differs.

Packages: ${python_packages[*]}; ${node_packages[*]}.

## Results

Three bundles were tested: ${names[0]} (transcribed), ${names[1]} (from \`repro train\`) and ${names[2]} (from PyTorch).

| tool | result | bundles |
|---|---|---|
END
  awk -F '\t' -v all="${#names[@]}" '
    { key = $2 " | " $3; if (!(key in bundles)) order[++count] = key; else bundles[key] = bundles[key] ", "
      bundles[key] = bundles[key] $1; seen[key]++ }
    END { for (at = 1; at <= count; at++) { key = order[at]; print "| " key " | " (seen[key] == all ? "all" : bundles[key]) " |" } }
  ' "$work/rows"
  cat <<END

## Flipped bytes

The script flips one byte of ${names[1]} at a time. Every tool that checks the changed part must reject the bundle.

| flipped byte in | rejected by |
|---|---|
END
  awk -F '\t' '
    { if (!($1 in tools)) order[++count] = $1; else tools[$1] = tools[$1] ", "; tools[$1] = tools[$1] $2 }
    END { for (at = 1; at <= count; at++) print "| " order[at] " | " tools[order[at]] " |" }
  ' "$work/flips"
}
quietly() {
  if ! "$@" >"$work/output" 2>&1; then
    echo "failed: $*" >&2
    cat "$work/output" >&2
    exit 1
  fi
}
refuses() {
  if "$@" >"$work/output" 2>&1; then
    echo "should have failed: $*" >&2
    exit 1
  fi
}

quietly "$repro" bundle keygen --out "$work/key"
public=$work/key.pub
openssl ecparam -name prime256v1 -genkey -noout -out "$work/openssl.pem"
openssl ec -in "$work/openssl.pem" -pubout -out "$work/openssl.pub" 2>"$work/output"

# A transcribed bundle, one from `repro train`, and one from a PyTorch trainer.
names=(nmoe-0003 tiny-moe-moe-active12-s1 tiny-moe-torch-moe-s1)
for name in "${names[@]}"; do
  bundle=$work/$name
  cp -r "receipts/$name" "$bundle"
  quietly "$repro" bundle sign --key "$work/key" "$bundle"
  (cd "$bundle" && quietly sha256sum -c --strict --quiet tagmanifest-sha256.txt manifest-sha256.txt)
  row "$name" "sha256sum -c --strict" "all digests match"
  quietly "$python" "$tools/venv/bin/bagit.py" --validate --quiet "$bundle"
  row "$name" "bagit.py --validate" "the bag is valid"
  quietly "$signer" verify key --signature "$bundle/receipt.sig" --public_key "$public" "$bundle"
  refuses "$signer" verify key --signature "$bundle/receipt.sig" --public_key "$work/openssl.pub" "$bundle"
  row "$name" "model_signing verify key" "verified with our key, rejected with a different key"
  quietly "$python" scripts/interop/envelope.py "$bundle" "$public" "$schemas" "$work"
  row "$name" "securesystemslib" "the envelope verifies"
  row "$name" "in-toto-attestation" "payload and receipt are in-toto statements"
  row "$name" "OMS schemas v1.0" "file, envelope, statement and predicate match the schemas"
  quietly openssl dgst -sha256 -verify "$public" -signature "$work/sig.der" "$work/pae.bin"
  row "$name" "openssl dgst -sha256 -verify" "verified"
  (cd "$tools" && quietly node "$project/scripts/interop/sigstore.mjs" "$bundle/receipt.sig" "$public")
  row "$name" "@sigstore/verify" "verified; rejected after a change to the payload"
  quietly "$repro" verify --pubkey "$public" "$bundle"
  row "$name" "repro verify --pubkey" "verified"
  changed=$work/changed
  rm -rf "$changed" && cp -r "$bundle" "$changed"
  printf '\n' >>"$changed/bag-info.txt"
  refuses "$signer" verify key --signature "$changed/receipt.sig" --public_key "$public" "$changed"
  row "$name" "model_signing verify key" "rejected after a change to a file"
done

# Flips a byte at each layer. Each tool that checks the layer must fail; without the flip, each passes.
flip() {
  "$python" - "$1" "$2" <<'END'
import sys
path, where = sys.argv[1], sys.argv[2]
data = bytearray(open(path, "rb").read())
at = data.index(where.encode()) + len(where) if where else len(data) // 2
data[at] = ord("1") if data[at] == ord("0") else ord("0") if chr(data[at]).isalnum() else data[at] ^ 1
open(path, "wb").write(data)
END
}
tool() {
  case $1 in
  sha256sum) (cd "$2" && sha256sum -c --strict --quiet tagmanifest-sha256.txt manifest-sha256.txt) ;;
  bagit.py) "$python" "$tools/venv/bin/bagit.py" --validate --quiet "$2" ;;
  model_signing) "$signer" verify key --signature "$2/receipt.sig" --public_key "$public" "$2" ;;
  securesystemslib) "$python" scripts/interop/envelope.py "$2" "$public" "$schemas" "$work" ;;
  @sigstore/verify) (cd "$tools" && node "$project/scripts/interop/sigstore.mjs" "$2/receipt.sig" "$public") ;;
  repro) "$repro" verify --pubkey "$public" "$2" ;;
  esac
}
name=tiny-moe-moe-active12-s1
files="sha256sum bagit.py model_signing repro"
envelope="model_signing securesystemslib @sigstore/verify repro"
for one in $files $envelope; do quietly tool "$one" "$work/$name"; done
while IFS='|' read -r layer file where tested; do
  changed=$work/flipped/$name
  rm -rf "$changed" && mkdir -p "$work/flipped" && cp -r "$work/$name" "$changed"
  flip "$changed/$file" "$where"
  for one in $tested; do
    refuses tool "$one" "$changed"
    flipped "$layer" "$one"
  done
done <<END
the log|data/metrics.jsonl||$files
a checkpoint|data/checkpoints/step-000967.safetensors||$files
the receipt|data/receipt.json||$files
the manifest|manifest-sha256.txt||$files
the tag manifest|tagmanifest-sha256.txt||model_signing repro
the payload size|bag-info.txt|Payload-Oxum: |$files
the signed statement|receipt.sig|"payload":"|$envelope
the signature|receipt.sig|"sig":"|$envelope
END

# A local OpenSSL timestamp authority, with each kind of key.
for kind in rsa ec; do
  authority=$work/authority-$kind
  quietly scripts/interop/authority.sh make "$authority" "$kind"
  quietly "$repro" bundle stamp "$work/$name" --of bundle --out "$work/$kind.tsq"
  quietly openssl ts -query -in "$work/$kind.tsq" -text
  quietly scripts/interop/authority.sh answer "$authority" "$work/$kind.tsq" "$work/$kind.tsr"
  quietly openssl ts -verify -queryfile "$work/$kind.tsq" -in "$work/$kind.tsr" -CAfile "$authority/ca.pem"
  quietly "$repro" verify "$work/$name" --timestamp "$work/$kind.tsr" --authority "$authority/ca.pem"
  refuses "$repro" verify "$work/$name" --timestamp "$work/$kind.tsr" --authority "$public"
  flip "$work/$kind.tsr" ""
  refuses openssl ts -verify -queryfile "$work/$kind.tsq" -in "$work/$kind.tsr" -CAfile "$authority/ca.pem"
  refuses "$repro" verify "$work/$name" --timestamp "$work/$kind.tsr" --authority "$authority/ca.pem"
  row "$name" "openssl ts ($kind)" "answered our request; openssl and repro verify the answer, and reject it after a byte was flipped"
done

# The reverse: signed by the reference signer with its defaults, inside the bundle and beside it.
for place in inside beside; do
  bundle=$work/$place/tiny-moe-moe-active12-s1
  mkdir -p "$work/$place"
  cp -r receipts/tiny-moe-moe-active12-s1 "$bundle"
  if [ "$place" = inside ]; then
    quietly "$signer" sign key --private_key "$work/openssl.pem" --signature "$bundle/receipt.sig" "$bundle"
  else
    (cd "$work/$place" && quietly "$signer" sign key --private_key "$work/openssl.pem" "$bundle")
    mv "$work/$place/model.sig" "$bundle/receipt.sig"
  fi
  quietly "$repro" verify --pubkey "$work/openssl.pub" --min-origin signed "$bundle"
  refuses "$repro" verify --pubkey "$public" "$bundle"
  row "tiny-moe-moe-active12-s1" "repro verify --pubkey" \
    "verified a signature that model_signing wrote $place the bundle with its defaults; rejected it with a different key"
done
# One of our private keys in third-party tools.
quietly "$signer" sign key --private_key "$work/key" --signature "$work/model.sig" receipts/nmoe-0003
quietly openssl pkey -in "$work/key" -check -noout
row "nmoe-0003" "model_signing sign key, openssl pkey -check" "read the private key from \`repro bundle keygen\`"

report >"$report"
if [ "${1-}" = --write ]; then
  mkdir -p "$(dirname "$document")"
  cp "$report" "$document"
elif ! diff -u "$document" "$report"; then
  echo "docs/explanation/interop.md differs from the results: scripts/interop.sh --write" >&2
  exit 1
fi
