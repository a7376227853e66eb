//! SQL statements by kind and tables: `SELECT books`, after OpenTelemetry's `db.query.summary`, and
//! the statement with `?` for each literal.
//!
//! A statement may be truncated anywhere. Nothing is taken from a possible literal: after a
//! backslash the end of a literal depends on the server's settings, so the text after one is not
//! read. Names of users, roles and settings are literals, too: statements that contain them are
//! reduced to their kind.

mod dialect;
mod executed_comments;
mod kind;
mod tables;
mod tokens;

use crate::tuning::{DETAIL_BYTES, NAME_BYTES, STATEMENT_BYTES};

pub use dialect::StatementDialect;

/// Summary of a statement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatementSummary {
    /// Kind and tables; empty if the kind is not known.
    pub name: String,
    /// The statement with `?` for literals; empty if its kind may contain names of persons.
    pub detail: String,
}

/// Summarises a statement. `whole` means that it is not truncated.
pub fn summarise_statement(
    text: &[u8],
    whole: bool,
    dialect: StatementDialect,
) -> StatementSummary {
    let parts = tokens::tokenize_statement(text, whole, STATEMENT_BYTES, dialect);
    let Some(kind) = kind::kind_of_statement(&parts) else { return StatementSummary::default() };
    let mut name = kind.name.to_owned();
    if kind.has_tables {
        for table in tables::tables_of_statement(&parts) {
            if name.len() + table.len() + 1 > NAME_BYTES {
                break;
            }
            name.push(' ');
            name.push_str(&table);
        }
    }
    let detail = if kind.has_detail {
        tokens::join_tokens(&tokens::without_qualifiers(parts), DETAIL_BYTES)
    } else {
        String::new()
    };
    StatementSummary { name, detail }
}

/// Whether a text begins like a statement: with a first word of a statement and a separator after
/// it, or no separator if the text is `whole`. Leading comments are skipped; an unterminated
/// comment counts as the beginning of a statement.
pub(crate) fn begins_statement(text: &[u8], whole: bool) -> bool {
    let Some(text) = snippets::skip_leading_comments(text) else {
        return matches!(text.trim_ascii_start(), [b'-', b'-', ..] | [b'/', b'*', ..]);
    };
    let word = text.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    let (word, rest) = text.split_at(word);
    let word = std::str::from_utf8(word).unwrap_or_default().to_ascii_uppercase();
    let after = match rest {
        [b' ' | b'\n' | b'\r' | b'\t' | b';' | b'(' | 0, ..] | [b'/', b'*', ..] => true,
        [_, ..] => false,
        [] => whole,
    };
    after && kind::is_first_word(&word)
}

#[cfg(test)]
#[path = "statement_tests.rs"]
mod tests;
