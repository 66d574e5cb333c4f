//! The language of claims, in which a post file describes the numbers and sentences of a text.
//!
//! Owns only syntax: expressions, the numbers of a quote in order, printed tables, names of evidence. Other crates resolve
//! names and judge statements.

#![forbid(unsafe_code)]

mod grammar;
pub mod locator;
mod markup;
pub mod nearest;
pub mod place;
pub mod quote;
pub mod relation;
pub mod seen;
pub mod sentence;
pub mod spelling;
mod styles;
pub mod syntax;
pub mod table;
mod tex;
pub mod words;

pub use grammar::NotAnExpression;
pub use syntax::Expression;
