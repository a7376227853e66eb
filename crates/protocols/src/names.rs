//! Names without literals: separates a program's own words from values that could identify a
//! person.
//!
//! The functions of this module keep the recognisable words of the program and replace all else by
//! `{}` (in statements `?`). docs/protocols.md describes the rules and their limits.

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

/// Placeholder for a literal.
const PLACEHOLDER: &str = "{}";

/// Whether a text looks like an HTTP method: capital letters and hyphens.
pub(crate) fn looks_like_method(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_uppercase() || byte == b'-';
    (1..=20).contains(&text.len()) && text.bytes().all(plain)
}
