#!/usr/bin/env bash
# Makes a timestamp authority with `openssl ts` in a folder, and has it answer a request:
#
#   scripts/interop/authority.sh make FOLDER rsa|ec [DAYS]     keys and certificates: ca.pem, tsa.pem
#   scripts/interop/authority.sh answer FOLDER REQUEST REPLY [SECTION]
#
# Sections: `good`; `sha1`, which names its certificate by SHA-1.
set -euo pipefail
folder=$2
config=$folder/authority.cnf
case $1 in
make)
  days=${4:-36500}
  mkdir -p "$folder"
  cat >"$config" <<END
[req]
distinguished_name = name
prompt = no
[name]
CN = Authority of tests
[ca]
basicConstraints = critical,CA:TRUE
keyUsage = critical,keyCertSign,cRLSign
[tsa]
basicConstraints = CA:FALSE
keyUsage = critical,digitalSignature
extendedKeyUsage = critical,timeStamping
subjectKeyIdentifier = hash
[good]
serial = $folder/serial
crypto_device = builtin
signer_digest = sha256
default_policy = 1.2.3.4.1
digests = sha256
accuracy = secs:1
ordering = yes
tsa_name = yes
ess_cert_id_chain = no
ess_cert_id_alg = sha256
[sha1]
serial = $folder/serial
crypto_device = builtin
signer_digest = sha256
default_policy = 1.2.3.4.1
digests = sha256
ess_cert_id_alg = sha1
END
  if [ "$3" = rsa ]; then
    for key in ca tsa; do openssl genrsa -out "$folder/$key.key" 2048 2>/dev/null; done
  else
    openssl ecparam -name prime256v1 -genkey -noout -out "$folder/ca.key"
    openssl ecparam -name secp384r1 -genkey -noout -out "$folder/tsa.key"
  fi
  openssl req -x509 -new -key "$folder/ca.key" -config "$config" -extensions ca -days "$days" -out "$folder/ca.pem"
  openssl req -new -key "$folder/tsa.key" -config "$config" -subj "/CN=Signer of tests" -out "$folder/tsa.csr"
  openssl x509 -req -in "$folder/tsa.csr" -CA "$folder/ca.pem" -CAkey "$folder/ca.key" -set_serial 2 \
    -days "$days" -extfile "$config" -extensions tsa -out "$folder/tsa.pem" 2>/dev/null
  echo 01 >"$folder/serial"
  ;;
answer)
  openssl ts -reply -queryfile "$3" -signer "$folder/tsa.pem" -inkey "$folder/tsa.key" -config "$config" \
    -section "${5:-good}" -out "$4" 2>/dev/null
  ;;
esac
