#!/usr/bin/env bash
# Makes the tokens of `chains/` with OpenSSL: tests/corpus/timestamps/make.sh [FOLDER]
#
# `openssl ts` refuses signers that are not for timestamps, so a `TSTInfo` of a good token is signed as CMS by signers of every kind.
# Keys are thrown away. `root.pem` and `short.pem` are the authorities that the tests name; the second is valid for a day.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=${1:-$here/chains}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$out"
cd "$work"

# certificate NAME ISSUER DAYS EXTENSION...: NAME.pem with a key of its own; without an issuer its own one
certificate() {
  local name=$1 issuer=$2 days=$3
  shift 3
  openssl ecparam -name prime256v1 -genkey -noout -out "$name.key"
  openssl req -new -key "$name.key" -subj "/CN=$name" -out "$name.csr"
  printf '%s\n' "$@" >"$name.ext"
  local by=(-CA "$issuer.pem" -CAkey "$issuer.key" -set_serial "$RANDOM$RANDOM")
  if [ -z "$issuer" ]; then by=(-signkey "$name.key"); fi
  openssl x509 -req -in "$name.csr" "${by[@]}" -days "$days" -sha256 -extfile "$name.ext" -out "$name.pem" 2>/dev/null
}

# token NAME SIGNER YEAR CERTIFICATE...: a token by a signer that states a year, with the certificates between
token() {
  local name=$1 signer=$2 year=$3
  shift 3
  cat /dev/null "${@/%/.pem}" >between.pem
  # the time is the only text of fifteen bytes that ends in Z
  perl -pe "s/\\x18\\x0f\\d{4}/\\x18\\x0f$year/" info.der >stated.der
  openssl cms -sign -binary -nodetach -nosmimecap -md sha256 -cades -econtent_type 1.2.840.113549.1.9.16.1.4 -in stated.der \
    -signer "$signer.pem" -inkey "$signer.key" $(test -s between.pem && echo -certfile between.pem) -outform DER -out "$out/$name.tst"
}

openssl ts -reply -in "$here/ec.tsr" -token_out -out token.der
openssl cms -verify -noverify -inform DER -in token.der -out info.der 2>/dev/null

may=(basicConstraints=critical,CA:TRUE keyUsage=critical,keyCertSign)
for_time=(basicConstraints=CA:FALSE keyUsage=critical,digitalSignature extendedKeyUsage=critical,timeStamping)
certificate root "" 36500 "${may[@]}"
certificate short "" 1 "${may[@]}"
certificate middle root 36500 "${may[@]}"
certificate middle-short root 1 "${may[@]}"
certificate middle-plain root 36500 basicConstraints=critical,CA:FALSE
certificate middle-lists root 36500 basicConstraints=critical,CA:TRUE keyUsage=critical,cRLSign
certificate middle-last root 36500 basicConstraints=critical,CA:TRUE,pathlen:0 keyUsage=critical,keyCertSign
certificate middle-beyond middle-last 36500 "${may[@]}"

certificate signer root 36500 "${for_time[@]}"
token good signer 2060
token early signer 1999
token late signer 9000
certificate of-short short 36500 "${for_time[@]}"
token authority-expired of-short 2060
for middle in middle middle-short middle-plain middle-lists middle-beyond; do
  certificate "by-$middle" $middle 36500 "${for_time[@]}"
done
certificate signer-short root 1 "${for_time[@]}"
token signer-expired signer-short 2060
token good-through-another by-middle 2060 middle
token between-is-missing by-middle 2060
token between-expired by-middle-short 2060 middle-short
token between-is-no-authority by-middle-plain 2060 middle-plain
token between-may-not-sign by-middle-lists 2060 middle-lists
token between-is-too-long by-middle-beyond 2060 middle-beyond middle-last

certificate usage-none root 36500 keyUsage=critical,digitalSignature
certificate usage-other root 36500 extendedKeyUsage=critical,codeSigning
certificate usage-any root 36500 extendedKeyUsage=critical,anyExtendedKeyUsage
certificate usage-not-critical root 36500 extendedKeyUsage=timeStamping
certificate usage-two root 36500 extendedKeyUsage=critical,timeStamping,codeSigning
for usage in none other any not-critical two; do token "usage-$usage" "usage-$usage" 2060; done
certificate usage-of-key root 36500 keyUsage=critical,keyEncipherment extendedKeyUsage=critical,timeStamping
token usage-of-key usage-of-key 2060

# An extension that nobody knows, `1.3.6.1.4.1.99999.1`, and that its certificates say has to be known.
unknown=1.3.6.1.4.1.99999.1=critical,ASN1:NULL
certificate restricted root 36500 "${for_time[@]}" "$unknown"
token extension-of-signer restricted 2060
certificate middle-restricted root 36500 "${may[@]}" "$unknown"
certificate by-middle-restricted middle-restricted 36500 "${for_time[@]}"
token extension-between by-middle-restricted 2060 middle-restricted
cp root.pem short.pem "$out"
