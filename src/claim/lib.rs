//! The language of claims: what a post file says about the numbers and the sentences of a text.
//!
//! Owns syntax alone: expressions, the numbers of a quote in their order, printed tables, names of
//! evidence. What a name stands for and whether a statement holds is judged elsewhere.

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
