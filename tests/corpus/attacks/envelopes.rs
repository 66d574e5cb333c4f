//! Rule 2: one envelope with one signature, read strictly, and nothing is parsed but what was verified.

use base64ct::{Base64, Base64Url, Encoding};
use p256::ecdsa::Signature;
use p256::ecdsa::signature::Signer;
use repro_core::digest::canonical;
use serde_json::json;

use super::Case;
use super::signing::{
    KIND, OWN, der, encoded, envelope, enveloped, key, sign, signed, signed_bytes, statement,
    stating, text,
};

pub const CASES: &[Case] = &[
    ("an older media type", "signature::unsupported-format", |f| {
        sign(f, |files| {
            enveloped(files, |e| {
                e["mediaType"] = json!("application/vnd.dev.sigstore.bundle+json;version=0.2")
            })
        });
    }),
    ("a media type in capitals", "signature::unsupported-format", |f| {
        sign(f, |files| {
            enveloped(files, |e| {
                e["mediaType"] = json!("APPLICATION/vnd.dev.sigstore.bundle.v0.3+json")
            })
        });
    }),
    ("no media type", "source::missing-field", |f| {
        sign(f, |files| enveloped(files, |e| drop(e.as_object_mut().unwrap().remove("mediaType"))));
    }),
    ("another payload type", "signature::unsupported-format", |f| {
        sign(f, |files| {
            enveloped(files, |e| e["dsseEnvelope"]["payloadType"] = json!("text/plain"))
        });
    }),
    ("another payload type, signed as such", "signature::unsupported-format", |f| {
        sign(f, |files| {
            let payload = canonical(&statement(files)).unwrap();
            let mut e = envelope(
                payload.as_bytes(),
                &der(&encoded(payload.as_bytes(), "application/json"), OWN),
                OWN,
            );
            e["dsseEnvelope"]["payloadType"] = json!("application/json");
            text(&e)
        });
    }),
    ("a signature of another payload type under the right one", "signature::forged", |f| {
        sign(f, |files| {
            let payload = canonical(&statement(files)).unwrap();
            text(&envelope(
                payload.as_bytes(),
                &der(&encoded(payload.as_bytes(), "application/json"), OWN),
                OWN,
            ))
        });
    }),
    ("a signature of the bare payload", "signature::forged", |f| {
        sign(f, |files| {
            let payload = canonical(&statement(files)).unwrap();
            text(&envelope(payload.as_bytes(), &der(payload.as_bytes(), OWN), OWN))
        });
    }),
    ("an older type of statement", "signature::unsupported-format", |f| {
        sign(f, |files| {
            stating(files, |s| s["_type"] = json!("https://in-toto.io/Statement/v0.1"))
        });
    }),
    ("an older type of what it says", "signature::unsupported-format", |f| {
        sign(f, |files| {
            stating(files, |s| s["predicateType"] = json!("https://model_signing/Digests/v0.1"))
        });
    }),
    ("no signatures in the envelope", "signature::wrong-signature-count", |f| {
        sign(f, |files| enveloped(files, |e| e["dsseEnvelope"]["signatures"] = json!([])));
    }),
    ("a second signature, good as well", "signature::wrong-signature-count", |f| {
        sign(f, |files| {
            enveloped(files, |e| {
                let first = e["dsseEnvelope"]["signatures"][0].clone();
                e["dsseEnvelope"]["signatures"].as_array_mut().unwrap().push(first);
            })
        });
    }),
    ("a signature of nobody before the good one", "signature::wrong-signature-count", |f| {
        sign(f, |files| {
            enveloped(files, |e| {
                e["dsseEnvelope"]["signatures"]
                    .as_array_mut()
                    .unwrap()
                    .insert(0, json!({"keyid": "", "sig": "AAAA"}));
            })
        });
    }),
    ("a table of signatures", "source::wrong-type", |f| {
        sign(f, |files| {
            enveloped(files, |e| {
                let first = e["dsseEnvelope"]["signatures"][0].clone();
                e["dsseEnvelope"]["signatures"] = json!({"0": first});
            })
        });
    }),
    ("an empty signature in the envelope", "signature::bad-encoding", |f| {
        sign(f, |files| {
            enveloped(files, |e| e["dsseEnvelope"]["signatures"][0]["sig"] = json!(""))
        });
    }),
    ("base64 without padding", "signature::bad-encoding", |f| {
        sign(f, |files| {
            enveloped(files, |e| e["dsseEnvelope"]["signatures"][0]["sig"] = json!("AAAAAAA"))
        });
    }),
    ("base64 of addresses", "signature::bad-encoding", |f| {
        sign(f, |files| {
            let mut e = signed(files, OWN);
            let mut bytes =
                Base64::decode_vec(e["dsseEnvelope"]["signatures"][0]["sig"].as_str().unwrap())
                    .unwrap();
            bytes.extend_from_slice(&[0xff; 9]);
            e["dsseEnvelope"]["signatures"][0]["sig"] = json!(Base64Url::encode_string(&bytes));
            text(&e)
        });
    }),
    ("a line feed in the base64", "signature::bad-encoding", |f| {
        sign(f, |files| {
            enveloped(files, |e| {
                let payload = e["dsseEnvelope"]["payload"].as_str().unwrap().to_owned();
                e["dsseEnvelope"]["payload"] =
                    json!(format!("{}\n{}", &payload[..64], &payload[64..]));
            })
        });
    }),
    ("base64 with bits that nobody reads", "signature::bad-encoding", |f| {
        sign(f, |files| {
            enveloped(files, |e| e["dsseEnvelope"]["signatures"][0]["sig"] = json!("AAAAAB=="))
        });
    }),
    ("a flipped bit in the payload", "signature::forged", |f| {
        sign(f, |files| {
            enveloped(files, |e| {
                let payload = e["dsseEnvelope"]["payload"].as_str().unwrap();
                let mut bytes = Base64::decode_vec(payload).unwrap();
                bytes[40] ^= 1;
                e["dsseEnvelope"]["payload"] = json!(Base64::encode_string(&bytes));
            })
        });
    }),
    ("the same statement in another spelling", "signature::forged", |f| {
        sign(f, |files| {
            enveloped(files, |e| {
                let payload = e["dsseEnvelope"]["payload"].as_str().unwrap();
                let mut bytes = Base64::decode_vec(payload).unwrap();
                bytes.push(b'\n');
                e["dsseEnvelope"]["payload"] = json!(Base64::encode_string(&bytes));
            })
        });
    }),
    ("a flipped bit in the signature", "signature::forged", |f| {
        sign(f, |files| {
            enveloped(files, |e| {
                let signature = e["dsseEnvelope"]["signatures"][0]["sig"].as_str().unwrap();
                let mut bytes = Base64::decode_vec(signature).unwrap();
                bytes[20] ^= 1;
                e["dsseEnvelope"]["signatures"][0]["sig"] = json!(Base64::encode_string(&bytes));
            })
        });
    }),
    ("a signature as two bare numbers", "signature::forged", |f| {
        sign(f, |files| {
            let payload = canonical(&statement(files)).unwrap();
            let signature: Signature = key(OWN).sign(&encoded(payload.as_bytes(), KIND));
            text(&envelope(payload.as_bytes(), &signature.to_bytes(), OWN))
        });
    }),
    ("a byte behind the signature", "signature::forged", |f| {
        sign(f, |files| {
            let payload = canonical(&statement(files)).unwrap();
            let mut signature = der(&encoded(payload.as_bytes(), KIND), OWN);
            signature.push(0);
            text(&envelope(payload.as_bytes(), &signature, OWN))
        });
    }),
    ("a signature of zeros", "signature::forged", |f| {
        sign(f, |files| {
            let payload = canonical(&statement(files)).unwrap();
            text(&envelope(payload.as_bytes(), &[0x30, 6, 2, 1, 0, 2, 1, 0], OWN))
        });
    }),
    ("a message signature in place of an envelope", "source::unknown-field", |f| {
        sign(f, |files| {
            enveloped(files, |e| {
                let envelope = e.as_object_mut().unwrap().remove("dsseEnvelope").unwrap();
                e["messageSignature"] = envelope;
            })
        });
    }),
    ("an unknown field of the envelope", "source::unknown-field", |f| {
        sign(f, |files| enveloped(files, |e| e["dsseEnvelope"]["payloadSha256"] = json!("00")));
    }),
    ("a payload type twice", "source::duplicate-key", |f| {
        sign(f, |files| {
            enveloped(files, |_| {})
                .replace("\"payloadType\":", "\"payloadType\":\"text/plain\",\"payloadType\":")
        });
    }),
    ("a payload twice", "source::duplicate-key", |f| {
        sign(f, |files| {
            enveloped(files, |_| {}).replace("\"payload\":", "\"payload\":\"AAAA\",\"payload\":")
        });
    }),
    ("a key twice in what is signed", "source::duplicate-key", |f| {
        sign(f, |files| {
            let payload = canonical(&statement(files)).unwrap();
            let payload = payload.replacen("{\"_type\"", "{\"subject\":[],\"_type\"", 1);
            text(&signed_bytes(payload.as_bytes(), OWN))
        });
    }),
    ("a second statement behind the first", "source::syntax", |f| {
        sign(f, |files| {
            let payload = canonical(&statement(files)).unwrap();
            text(&signed_bytes(payload.repeat(2).as_bytes(), OWN))
        });
    }),
    ("a signed statement that is no text", "source::not-utf8", |f| {
        sign(f, |_| text(&signed_bytes(b"\xff\xfe{\0}\0", OWN)));
    }),
    ("a second file behind the first", "source::syntax", |f| {
        sign(f, |files| enveloped(files, |_| {}).repeat(2));
    }),
    ("a signature of lists in lists", "source::too-deep", |f| sign(f, |_| "[".repeat(15 << 20))),
    ("a signature of small values", "source::too-many-values", |f| {
        sign(f, |_| format!("[0{}]\n", ",1".repeat(7 << 20)));
    }),
    ("a signature that is signed and of sixteen megabytes", "source::too-many-values", |f| {
        sign(f, |_| text(&signed_bytes(format!("[0{}]", ",1".repeat(5 << 20)).as_bytes(), OWN)));
    }),
];
