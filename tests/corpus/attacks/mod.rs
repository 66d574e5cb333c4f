//! Hostile bundles: each rule of the bundle format against many ways to break it. The README beside this
//! file says how a case is written.

pub mod agreement;
pub mod bounds;
pub mod disk;
pub mod envelopes;
pub mod forge;
pub mod heavy;
pub mod json;
pub mod layout;
pub mod names;
pub mod opaque;
pub mod signatures;
pub mod signing;
pub mod weights;

use forge::Forge;

/// What is tried, the code that must come, and how a good bundle becomes this one.
pub type Case = (&'static str, &'static str, fn(&mut Forge));

/// The rules and what is tried against each.
pub const RULES: &[(u8, &str, &[&[Case]])] = &[
    (1, "the key comes from who asks", &[signatures::KEYS]),
    (2, "one envelope, read in one way", &[envelopes::CASES]),
    (
        3,
        "the tag files and the signature, and what they cover",
        &[layout::CASES, signatures::STATEMENTS],
    ),
    (4, "names", &[names::CASES]),
    (5, "the files on disk", &[disk::CASES]),
    (6, "strict documents", &[json::CASES, bounds::CASES]),
    (7, "checkpoints", &[weights::CASES]),
    (8, "pickles and archives", &[opaque::CASES]),
    (9, "what must agree", &[agreement::CASES]),
    (10, "a signature is no identity", &[signatures::IDENTITIES]),
];
