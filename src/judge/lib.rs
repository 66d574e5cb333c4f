//! Posts, their claims, the evidence they depend on, and the verdicts.

#![forbid(unsafe_code)]

pub mod claims;
mod compare;
pub mod coverage;
pub mod depends_on;
pub mod evaluate;
pub mod evidence;
pub mod functions;
pub mod lock;
pub mod mutation;
mod order;
pub mod page;
pub mod post;
mod statement;
pub mod texts;
mod value;
pub mod verify;
