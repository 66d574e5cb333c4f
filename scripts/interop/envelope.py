"""A signed bundle seen by tools of others: `envelope.py BUNDLE PUBLIC_KEY SCHEMAS FOLDER`.

Writes `pae.bin` and `sig.der` of `receipt.sig` into FOLDER, for `openssl`; verifies the envelope by
securesystemslib, reads both statements (the signature's and the receipt's) by in-toto-attestation, and holds file,
envelope and payload against the official schemas in SCHEMAS. Prints one line for each check that passed.
"""
import base64
import copy
import hashlib
import json
import pathlib
import sys

import google.protobuf.json_format
import jsonschema
import referencing
from cryptography.hazmat.primitives.serialization import load_pem_public_key
from in_toto_attestation.v1 import statement_pb2
from in_toto_attestation.v1.statement import Statement
from securesystemslib.dsse import Envelope
from securesystemslib.signer import SSlibKey


def by_securesystemslib(signature, pem, folder):
    # `from_dict` changes what it is given, and `verify` wants the key to go by the signature's own keyid.
    envelope = Envelope.from_dict(copy.deepcopy(signature["dsseEnvelope"]))
    key = SSlibKey.from_crypto(load_pem_public_key(pem))
    key.keyid = signature["dsseEnvelope"]["signatures"][0]["keyid"]
    if len(envelope.verify([key], 1)) != 1:
        sys.exit("securesystemslib: the signature does not verify")
    (folder / "pae.bin").write_bytes(envelope.pae())
    (folder / "sig.der").write_bytes(base64.b64decode(signature["dsseEnvelope"]["signatures"][0]["sig"]))
    return envelope.payload


def by_in_toto(text):
    message = google.protobuf.json_format.Parse(text, statement_pb2.Statement())
    statement = Statement.copy_from_pb(message)
    statement.validate()
    return statement.pb


def by_schemas(schemas, documents):
    loaded = {path.name: json.loads(path.read_text()) for path in schemas.glob("*.schema.json")}
    registry = referencing.Registry().with_resources(
        (schema["$id"], referencing.Resource.from_contents(schema)) for schema in loaded.values())
    for name, document in documents:
        jsonschema.Draft202012Validator(loaded[name], registry=registry).validate(document)


def main(bundle, public_key, schemas, folder):
    signature = json.loads((bundle / "receipt.sig").read_text())
    pem = public_key.read_bytes()
    if signature["verificationMaterial"]["publicKey"]["hint"] != hashlib.sha256(pem).hexdigest():
        sys.exit("the hint is not the SHA-256 of the public key's PEM text")
    payload = by_securesystemslib(signature, pem, folder)
    print("securesystemslib verifies the envelope")
    signed = by_in_toto(payload.decode())
    receipt = by_in_toto((bundle / "data/receipt.json").read_text())
    if signed.predicate_type != "https://model_signing/signature/v1.0" or not receipt.subject:
        sys.exit("in-toto-attestation: a statement is not what it should be")
    print("in-toto-attestation reads what is signed, and the receipt")
    by_schemas(schemas, [
        ("bundle.schema.json", signature), ("envelope.schema.json", signature["dsseEnvelope"]),
        ("statement.schema.json", json.loads(payload)), ("predicate.schema.json", json.loads(payload)["predicate"])])
    print("the official schemas accept file, envelope, statement and predicate")


if __name__ == "__main__":
    main(*(pathlib.Path(argument) for argument in sys.argv[1:5]))
