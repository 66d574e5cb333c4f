//! Rules 1, 3 and 10: whose signature it is, what it covers, and why it is no identity.

use std::fs;

use p256::ecdsa::Signature;
use p256::ecdsa::signature::Signer;
use repro_core::digest::{Digest, canonical};
use serde_json::json;

use super::Case;
use super::forge::post;
use super::signing::{
    Files, KIND, OTHER, OWN, encoded, envelope, enveloped, high, hint, key, pem, pinned, sign,
    signed, signed_bytes, statement, stating, text,
};

pub const KEYS: &[Case] = &[
    ("no signature where a key is asked for", "signature::unsigned", |f| f.pubkey = Some(OWN)),
    ("no signature where the author pinned a key", "signature::unsigned", |f| {
        f.post = Some(pinned)
    }),
    ("a signature by somebody else", "signature::different-key", |f| {
        sign(f, |files| text(&signed(files, OTHER)))
    }),
    (
        "a signature by somebody else where the author pinned a key",
        "signature::different-key",
        |f| {
            f.sign = Some(|files| text(&signed(files, OTHER)));
            f.post = Some(pinned);
        },
    ),
    (
        "a signature by the caller's key where the author pinned another",
        "signature::different-key",
        |f| {
            f.sign = Some(|files| text(&signed(files, OTHER)));
            f.pubkey = Some(OTHER);
            f.post = Some(pinned);
        },
    ),
    (
        "a signature by the author where the caller asks for another key",
        "signature::different-key",
        |f| {
            f.sign = Some(|files| text(&signed(files, OWN)));
            f.pubkey = Some(OTHER);
            f.post = Some(pinned);
        },
    ),
    ("a signature by somebody else that names the right key", "signature::forged", |f| {
        sign(f, |files| {
            let mut envelope = signed(files, OTHER);
            envelope["verificationMaterial"]["publicKey"]["hint"] = json!(hint(OWN));
            text(&envelope)
        });
    }),
    ("a signature by somebody else that names no key", "signature::forged", |f| {
        sign(f, |files| {
            let mut envelope = signed(files, OTHER);
            envelope["verificationMaterial"]["publicKey"] = json!({});
            text(&envelope)
        });
    }),
    ("a signature by somebody else with an empty name", "signature::forged", |f| {
        sign(f, |files| {
            let mut envelope = signed(files, OTHER);
            envelope["verificationMaterial"]["publicKey"]["hint"] = json!("");
            text(&envelope)
        });
    }),
    ("a key that the file brings along", "source::unknown-field", |f| {
        sign(f, |files| {
            let mut envelope = signed(files, OTHER);
            envelope["verificationMaterial"]["publicKey"]["rawBytes"] = json!(pem(OTHER));
            text(&envelope)
        });
    }),
    ("a certificate in place of a key", "signature::signed-with-certificate", |f| {
        sign(f, |files| {
            enveloped(files, |e| {
                e["verificationMaterial"] =
                    json!({"certificate": {"rawBytes": "AA=="}, "tlogEntries": [{}]});
            })
        });
    }),
    ("a certificate beside the key", "signature::unsupported-format", |f| {
        sign(f, |files| {
            enveloped(files, |e| {
                e["verificationMaterial"]["certificate"] = json!({"rawBytes": "AA=="})
            })
        });
    }),
    ("a chain of certificates", "signature::signed-with-certificate", |f| {
        sign(f, |files| {
            enveloped(files, |e| {
                e["verificationMaterial"] =
                    json!({"x509CertificateChain": {"certificates": []}, "tlogEntries": [{}]});
            })
        });
    }),
    ("neither key nor certificate", "signature::unsupported-format", |f| {
        sign(f, |files| {
            enveloped(files, |e| e["verificationMaterial"] = json!({"tlogEntries": []}))
        });
    }),
    ("a name of the key in capitals", "bundle::bad-digest", |f| {
        sign(f, |files| {
            enveloped(files, |e| {
                e["verificationMaterial"]["publicKey"]["hint"] = json!(hint(OWN).to_uppercase());
            })
        });
    }),
    ("the name of the key with other line ends", "signature::different-key", |f| {
        sign(f, |files| {
            enveloped(files, |e| {
                let pem = pem(OWN).replace('\n', "\r\n");
                e["verificationMaterial"]["publicKey"]["hint"] =
                    json!(Digest::of(pem.as_bytes()).to_string());
            })
        });
    }),
    ("an empty signature file", "source::syntax", |f| sign(f, |_| String::new())),
    ("the signature of another bundle by the right key", "signature::other-files", |f| {
        sign(f, |files| {
            let mut other = files.clone();
            other.insert("data/config.json".to_owned(), Digest::of(b"{\"dim\":65}\n"));
            text(&signed(&other, OWN))
        });
    }),
];

pub const STATEMENTS: &[Case] = &[
    ("a signature in shards", "signature::other-serialization", |f| {
        sign(f, |files| {
            stating(files, |s| s["predicate"]["serialization"]["method"] = json!("shards"))
        });
    }),
    ("a signature over another hash", "signature::other-serialization", |f| {
        sign(f, |files| {
            stating(files, |s| s["predicate"]["serialization"]["hash_type"] = json!("blake2b"))
        });
    }),
    ("a signature that follows links", "signature::other-serialization", |f| {
        sign(f, |files| {
            stating(files, |s| s["predicate"]["serialization"]["allow_symlinks"] = json!(true))
        });
    }),
    ("a signature that does not say whether it follows links", "source::missing-field", |f| {
        sign(f, |files| {
            stating(files, |s| {
                s["predicate"]["serialization"].as_object_mut().unwrap().remove("allow_symlinks");
            })
        });
    }),
    ("a signature that leaves out the payload", "signature::other-serialization", |f| {
        sign(f, |files| {
            stating(files, |s| {
                s["predicate"]["serialization"]["ignore_paths"] = json!(["receipt.sig", "data"]);
            })
        });
    }),
    ("a signature that leaves out everything", "signature::other-serialization", |f| {
        sign(f, |files| {
            stating(files, |s| s["predicate"]["serialization"]["ignore_paths"] = json!(["."]))
        });
    }),
    (
        "a signature that leaves out the receipt by another spelling",
        "signature::other-serialization",
        |f| {
            sign(f, |files| {
                stating(files, |s| {
                    s["predicate"]["serialization"]["ignore_paths"] =
                        json!(["./receipt.sig", "receipt.sig/../data"]);
                })
            });
        },
    ),
    ("another way for one file", "signature::other-serialization", |f| {
        sign(f, |files| {
            stating(files, |s| s["predicate"]["resources"][0]["algorithm"] = json!("sha1"))
        });
    }),
    ("an unknown field of the serialization", "source::unknown-field", |f| {
        sign(f, |files| {
            stating(files, |s| s["predicate"]["serialization"]["shard_size"] = json!(1))
        });
    }),
    ("a file that the signature does not list", "signature::other-files", |f| {
        sign(f, |files| {
            stating(files, |s| drop(s["predicate"]["resources"].as_array_mut().unwrap().pop()))
        });
    }),
    ("a signature over no files", "signature::other-files", |f| {
        sign(f, |_| text(&signed(&Files::new(), OWN)));
    }),
    ("a signature over the payload alone", "signature::other-files", |f| {
        sign(f, |files| {
            let payload = files.iter().filter(|(name, _)| name.starts_with("data/"));
            text(&signed(&payload.map(|(name, digest)| (name.clone(), *digest)).collect(), OWN))
        });
    }),
    ("a file too many in the signature", "signature::other-files", |f| {
        sign(f, |files| {
            let mut more = files.clone();
            more.insert("data/zzz.txt".to_owned(), Digest::of(b""));
            text(&signed(&more, OWN))
        });
    }),
    ("a file twice in the signature", "signature::other-files", |f| {
        sign(f, |files| {
            stating(files, |s| {
                let again = s["predicate"]["resources"][0].clone();
                s["predicate"]["resources"].as_array_mut().unwrap().insert(0, again);
            })
        });
    }),
    ("files in another order", "signature::other-files", |f| {
        sign(f, |files| {
            stating(files, |s| s["predicate"]["resources"].as_array_mut().unwrap().reverse())
        });
    }),
    ("a name with `./` in the signature", "signature::other-files", |f| {
        sign(f, |files| {
            stating(files, |s| s["predicate"]["resources"][0]["name"] = json!("./bag-info.txt"))
        });
    }),
    ("a digest of another file in the signature", "signature::other-files", |f| {
        sign(f, |files| {
            stating(files, |s| {
                s["predicate"]["resources"][0]["digest"] =
                    s["predicate"]["resources"][1]["digest"].clone();
            })
        });
    }),
    ("another root digest", "signature::other-files", |f| {
        sign(f, |files| {
            stating(files, |s| {
                s["subject"][0]["digest"]["sha256"] = json!(Digest::of(b"").to_string());
            })
        });
    }),
    ("two subjects", "signature::unsupported-format", |f| {
        sign(f, |files| {
            stating(files, |s| {
                let again = s["subject"][0].clone();
                s["subject"].as_array_mut().unwrap().push(again);
            })
        });
    }),
    ("no subject", "signature::unsupported-format", |f| {
        sign(f, |files| stating(files, |s| s["subject"] = json!([])))
    }),
    ("a subject with a second digest", "source::unknown-field", |f| {
        sign(f, |files| stating(files, |s| s["subject"][0]["digest"]["sha1"] = json!("00")));
    }),
    ("a signature of 16 MiB and one byte", "source::too-large", |f| {
        sign(f, |_| " ".repeat((16 << 20) + 1));
    }),
    ("a hidden file beside a good signature that ignores it", "bundle::hidden-file", |f| {
        sign(f, |files| {
            stating(files, |s| {
                s["predicate"]["serialization"]["ignore_paths"] =
                    json!([".git", ".gitattributes", ".github", ".gitignore", "receipt.sig"]);
            })
        });
        f.disk = |p| fs::write(p.join(".gitattributes"), "* text\n").unwrap();
    }),
    ("a good signature over a file that was changed since", "bundle::wrong-digest", |f| {
        sign(f, |files| text(&signed(files, OWN)));
        f.disk = |p| fs::write(p.join("data/config.json"), "{\"dim\":65}\n").unwrap();
    }),
];

/// What must be refused because somebody takes the signature for an identity, and what must not be, because
/// another signature says the same.
pub const IDENTITIES: &[Case] = &[
    ("a pin of the hash of the signature", "bundle::wrong-bundle", |f| {
        f.sign = Some(|files| text(&signed(files, OWN)));
        f.post = Some(|_| post("run-1", &Digest::of(b"a signature").prefixed()));
    }),
    ("a signature that the manifest lists", "bundle::extra-file", |f| {
        sign(f, |files| text(&signed(files, OWN)));
        f.manifest = |n, t| match n.starts_with("tag") {
            true => t,
            false => t + &format!("{}  receipt.sig\n", Digest::of(b"")),
        };
    }),
    ("a signature that the receipt lists", "bundle::wrong-subjects", |f| {
        sign(f, |files| text(&signed(files, OWN)));
        f.statement = |s| {
            let own =
                json!({"name": "receipt.sig", "digest": {"sha256": Digest::of(b"").to_string()}});
            s["subject"].as_array_mut().unwrap().push(own);
        };
    }),
    ("a signature over itself", "signature::other-files", |f| {
        sign(f, |files| {
            let mut more = files.clone();
            more.insert("receipt.sig".to_owned(), Digest::of(b""));
            text(&signed(&more, OWN))
        });
    }),
    ("a high-s copy over another bundle", "signature::other-files", |f| {
        sign(f, |files| {
            let mut other = files.clone();
            other.insert("data/config.json".to_owned(), Digest::of(b"{\"dim\":65}\n"));
            text(&high(&other))
        });
    }),
    ("a copy with both numbers turned", "signature::forged", |f| {
        sign(f, |files| {
            let payload = canonical(&statement(files)).unwrap();
            let signature: Signature = key(OWN).sign(&encoded(payload.as_bytes(), KIND));
            let (r, s) = signature.split_scalars();
            let turned = Signature::from_scalars((-*r).to_bytes(), (-*s).to_bytes()).unwrap();
            text(&envelope(payload.as_bytes(), turned.to_der().as_bytes(), OWN))
        });
    }),
    ("a pin of the identity of the key", "bundle::wrong-bundle", |f| {
        f.sign = Some(|files| text(&signed(files, OWN)));
        f.post = Some(|_| post("run-1", &format!("sha256:{}", hint(OWN))));
    }),
    ("a high-s copy where another key is asked for", "signature::different-key", |f| {
        f.sign = Some(|files| text(&high(files)));
        f.pubkey = Some(OTHER);
    }),
    ("a high-s copy as a second signature", "signature::wrong-signature-count", |f| {
        sign(f, |files| {
            let (mut both, second) = (signed(files, OWN), high(files));
            let second = second["dsseEnvelope"]["signatures"][0].clone();
            both["dsseEnvelope"]["signatures"].as_array_mut().unwrap().push(second);
            text(&both)
        });
    }),
    ("a high-s copy beside the signature", "bundle::extra-file", |f| {
        sign(f, |files| text(&signed(files, OWN)));
        f.disk = |p| {
            fs::copy(p.join("receipt.sig"), p.join("receipt-2.sig")).unwrap();
        };
    }),
    ("a high-s copy over another statement", "signature::forged", |f| {
        sign(f, |files| {
            let (mut own, mut fewer) = (high(files), files.clone());
            fewer.remove("bag-info.txt");
            own["dsseEnvelope"]["payload"] = signed(&fewer, OWN)["dsseEnvelope"]["payload"].clone();
            text(&own)
        });
    }),
    ("a high-s copy", "", |f| sign(f, |files| text(&high(files)))),
    ("a high-s copy under a post that pins digest and key", "", |f| {
        f.sign = Some(|files| text(&high(files)));
        f.post = Some(pinned);
    }),
    ("the signature in another layout", "", |f| {
        sign(f, |files| serde_json::to_string_pretty(&signed(files, OWN)).unwrap());
    }),
    ("the signature with another id of the key beside it", "", |f| {
        sign(f, |files| {
            enveloped(files, |e| e["dsseEnvelope"]["signatures"][0]["keyid"] = json!("mine"))
        });
    }),
    ("the signature without the name of its key", "", |f| {
        sign(f, |files| enveloped(files, |e| e["verificationMaterial"]["publicKey"] = json!({})));
    }),
    ("the statement in another layout, signed again", "", |f| {
        sign(f, |files| {
            let payload = serde_json::to_string_pretty(&statement(files)).unwrap();
            text(&signed_bytes(payload.as_bytes(), OWN))
        });
    }),
    ("no signature under a post that pins the digest alone", "", |f| {
        f.post = Some(|digest| post("run-1", digest));
    }),
];
