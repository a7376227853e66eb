//! SQL statements by kind and tables: `SELECT books`, after OpenTelemetry's `db.query.summary`, and
//! the statement with `?` for each literal.
//!
//! A statement may be cut off anywhere. Nothing is taken from what could lie within a literal: with
//! a backslash it depends on settings of the server where a literal ends, so what is behind one is
//! not read. Names of users, roles and settings are literals, too: of statements that have them,
//! only the kind is told.

mod dialect;
mod executed_comments;
mod kind;
mod tables;
mod tokens;

use crate::tuning::{DETAIL_BYTES, NAME_BYTES, STATEMENT_BYTES};

pub use dialect::StatementDialect;

/// What a statement does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatementSummary {
    /// Kind and tables; empty where the statement is of no known kind.
    pub name: String,
    /// The statement with `?` for literals; empty where the kind may have names of persons in it.
    pub detail: String,
}

/// What a statement does. `whole`: it is not cut off.
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

/// Whether a text begins as a statement does: with a word that begins one, and something behind
/// that, or nothing where it is `whole`. Comments and the like may stand in front of it; one that
/// does not end is all that is there of a statement.
pub(crate) fn begins_statement(text: &[u8], whole: bool) -> bool {
    let Some(text) = snippets::skip_leading_comments(text) else {
        return matches!(text.trim_ascii_start(), [b'-', b'-', ..] | [b'/', b'*', ..]);
    };
    let word = text.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    let (word, rest) = text.split_at(word);
    let word = std::str::from_utf8(word).unwrap_or_default().to_ascii_uppercase();
    let behind = match rest {
        [b' ' | b'\n' | b'\r' | b'\t' | b';' | b'(' | 0, ..] | [b'/', b'*', ..] => true,
        [_, ..] => false,
        [] => whole,
    };
    behind && kind::is_first_word(&word)
}

#[cfg(test)]
#[path = "statement_tests.rs"]
mod tests;
