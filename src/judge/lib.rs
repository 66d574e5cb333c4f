//! Posts, their claims, the evidence they depend on, and the verdicts.

#![forbid(unsafe_code)]

pub mod claims;
pub mod coverage;
pub mod depends_on;
pub mod evidence;
pub mod lock;
pub mod mutation;
pub mod post;
pub mod verify;
