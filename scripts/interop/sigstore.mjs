// A signature file seen by sigstore's own verifier: `sigstore.mjs SIGNATURE PUBLIC_KEY`.
import { createHash, createPublicKey } from "node:crypto";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const require = createRequire(process.cwd() + "/");
const { bundleFromJSON } = require("@sigstore/bundle");
const { Verifier, toSignedEntity } = require("@sigstore/verify");

const [, , signature, publicKey] = process.argv;
const pem = readFileSync(publicKey);
const hint = createHash("sha256").update(pem).digest("hex");
const trusted = {
  certificateAuthorities: [], timestampAuthorities: [], tlogs: [], ctlogs: [],
  publicKey: (asked) => {
    if (asked !== hint) throw new Error(`the hint is ${asked}`);
    return { publicKey: createPublicKey(pem), validFor: () => true };
  },
};
const none = { tlogThreshold: 0, ctlogThreshold: 0, tsaThreshold: 0, timestampThreshold: 0 };
const bundle = bundleFromJSON(JSON.parse(readFileSync(signature, "utf8")));
new Verifier(trusted, none).verify(toSignedEntity(bundle));

// What it refuses, so that the line above is known to be a check: one changed byte of what is signed.
const changed = JSON.parse(readFileSync(signature, "utf8"));
const payload = Buffer.from(changed.dsseEnvelope.payload, "base64");
payload[payload.length - 2] ^= 1;
changed.dsseEnvelope.payload = payload.toString("base64");
let refused = false;
try {
  new Verifier(trusted, none).verify(toSignedEntity(bundleFromJSON(changed)));
} catch {
  refused = true;
}
if (!refused) throw new Error("a changed payload verifies");
console.log("@sigstore/verify verifies the signature, and refuses a changed one");
