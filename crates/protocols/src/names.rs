//! Names without literals: what is a word of a program, and what could be of a person.
//!
//! Everything here keeps what it can tell to be a word of the program, and puts `{}` (in statements
//! `?`) for all else. docs/protocols.md has the rules in words, and what they cannot tell.

mod actions;
mod followers;
mod label;
mod path;
mod statement;
mod words;

pub use label::reduce_label;
pub use path::target_route;
pub use statement::{StatementDialect, StatementSummary, summarise_statement};

pub(crate) use statement::begins_statement;

pub(crate) use path::request_route;

/// What stands for a literal.
const HOLE: &str = "{}";

/// Whether a text is a method or the like: capital letters and hyphens.
pub(crate) fn is_token(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_uppercase() || byte == b'-';
    (1..=20).contains(&text.len()) && text.bytes().all(plain)
}
