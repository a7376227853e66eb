//! Tokens of a statement: words and signs unchanged, and placeholders for literals.

use std::borrow::Cow;

use sqlparser::dialect::{Dialect as Sql, MySqlDialect, PostgreSqlDialect};
use sqlparser::tokenizer::{Token, Tokenizer, Whitespace};

use super::dialect::StatementDialect;
use super::executed_comments;
use crate::names::label;

/// Token of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum StatementToken {
    /// A word that is not a literal, and whether it is quoted.
    Word(String, bool),
    /// A literal, or a possible one.
    Placeholder,
    /// An operator or another sign.
    Sign(String),
}

impl StatementToken {
    /// Whether the token is this keyword, given in capital letters.
    pub(super) fn has_keyword(&self, keyword: &str) -> bool {
        matches!(self, StatementToken::Word(word, false) if word.eq_ignore_ascii_case(keyword))
    }

    pub(super) fn is_sign(&self, sign: &str) -> bool {
        matches!(self, StatementToken::Sign(there) if there == sign)
    }
}

/// Tokenizes the first `max_bytes` of a statement, as far as its tokens are certain.
pub(super) fn tokenize_statement(
    text: &[u8],
    whole: bool,
    max_bytes: usize,
    dialect: StatementDialect,
) -> Vec<StatementToken> {
    // After a backslash the end of a literal depends on the server, and nothing follows a 0 byte.
    let end = text.iter().position(|byte| matches!(byte, b'\\' | 0)).unwrap_or(text.len());
    let certain = text.get(..end.min(max_bytes)).unwrap_or_default();
    let valid = match std::str::from_utf8(certain) {
        Ok(text) => text,
        Err(error) => {
            let valid = certain.get(..error.valid_up_to()).unwrap_or_default();
            std::str::from_utf8(valid).unwrap_or_default()
        }
    };
    let whole = whole && valid.len() == text.len();
    let (lexer_dialect, valid): (&dyn Sql, _) = match dialect {
        StatementDialect::PostgreSql => (&PostgreSqlDialect {}, Cow::Borrowed(valid)),
        StatementDialect::MySql => (&MySqlDialect {}, executed_comments::open_comments(valid)),
    };
    let mut tokens = Vec::new();
    // On an error, the tokens before it are valid: the error is an unterminated literal.
    let read = Tokenizer::new(lexer_dialect, &valid).tokenize_with_location_into_buf(&mut tokens);
    let mut parts = Vec::new();
    let mut after_number = false;
    for token in &tokens {
        let part = convert_token(&token.token, after_number);
        // `0b01` is lexed as a number and a word without a space between them, and is a literal.
        after_number = matches!(token.token, Token::Number(..))
            || after_number && part == Some(StatementToken::Placeholder);
        parts.extend(part);
    }
    let ends = tokens.last().is_some_and(|token| matches!(token.token, Token::Whitespace(_)));
    if !whole && read.is_ok() && !ends {
        // The last token may be incomplete.
        parts.pop();
    }
    parts
}

/// Converts a token of the lexer; `None` for spaces and comments. After a number, a word is part of
/// a literal.
fn convert_token(token: &Token, after_number: bool) -> Option<StatementToken> {
    Some(match token {
        Token::Whitespace(
            Whitespace::Space
            | Whitespace::Newline
            | Whitespace::Tab
            | Whitespace::SingleLineComment { .. }
            | Whitespace::MultiLineComment(_),
        )
        | Token::EOF => return None,
        Token::Word(word) => match word.quote_style {
            None if after_number || !is_plain(&word.value) => StatementToken::Placeholder,
            None => StatementToken::Word(word.value.clone(), false),
            Some('"' | '`') => StatementToken::Word(label::table_name(&word.value), true),
            Some(_) => StatementToken::Placeholder,
        },
        Token::Comma
        | Token::Eq
        | Token::DoubleEq
        | Token::Neq
        | Token::Lt
        | Token::Gt
        | Token::LtEq
        | Token::GtEq
        | Token::Spaceship
        | Token::Plus
        | Token::Minus
        | Token::Mul
        | Token::Div
        | Token::Mod
        | Token::StringConcat
        | Token::LParen
        | Token::RParen
        | Token::Period
        | Token::DoubleColon
        | Token::SemiColon
        | Token::LBracket
        | Token::RBracket
        | Token::Arrow
        | Token::LongArrow
        | Token::AtArrow
        | Token::Tilde
        | Token::Ampersand
        | Token::Pipe => StatementToken::Sign(token.to_string()),
        // Literals, parameters, and everything not known to be harmless.
        _ => StatementToken::Placeholder,
    })
}

/// Whether an unquoted word is certainly no literal.
fn is_plain(word: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    // MySQL reads `0b01` as a literal and `1st` as a name.
    word.len() <= 64 && !word.starts_with(|of: char| of.is_ascii_digit()) && word.bytes().all(plain)
}

/// Drops words that name neither a table nor a column: qualifiers before a dot (a schema, which may
/// be a tenant's, or an alias), and aliases after AS, except for a query in parentheses.
pub(super) fn without_qualifiers(parts: Vec<StatementToken>) -> Vec<StatementToken> {
    let mut kept = Vec::with_capacity(parts.len());
    let mut rest = parts.into_iter().peekable();
    while let Some(part) = rest.next() {
        let is_word = |part: &StatementToken| {
            matches!(part, StatementToken::Word(..) | StatementToken::Placeholder)
        };
        let is_qualifier = is_word(&part) && rest.peek().is_some_and(|next| next.is_sign("."));
        if is_qualifier || part.has_keyword("AS") && rest.peek().is_some_and(is_word) {
            rest.next();
        } else {
            kept.push(part);
        }
    }
    kept
}

/// Joins the tokens to a statement of at most `max_bytes`, with one placeholder for a list of
/// placeholders.
pub(super) fn join_tokens(parts: &[StatementToken], max_bytes: usize) -> String {
    let mut text = String::new();
    let mut before: Option<&StatementToken> = None;
    let mut rest = parts.iter().peekable();
    while let Some(part) = rest.next() {
        let word = match part {
            StatementToken::Word(word, _) | StatementToken::Sign(word) => word.as_str(),
            StatementToken::Placeholder => "?",
        };
        let tight = |of: &StatementToken| of.is_sign(".") || of.is_sign("(") || of.is_sign("::");
        let no_space = before.is_none_or(tight)
            || [",", ")", ".", "::", ";"].iter().any(|sign| part.is_sign(sign));
        if text.len() + word.len() + 1 > max_bytes {
            break;
        }
        if !no_space {
            text.push(' ');
        }
        text.push_str(word);
        before = Some(part);
        // `?, ?, ?` becomes `?`.
        while *part == StatementToken::Placeholder
            && rest.peek().is_some_and(|next| next.is_sign(","))
        {
            let mut ahead = rest.clone();
            ahead.next();
            if ahead.next() != Some(&StatementToken::Placeholder) {
                break;
            }
            rest = ahead;
        }
    }
    // Rows of values are shortened in the same way.
    while text.contains("(?), (?)") {
        text = text.replace("(?), (?)", "(?)");
    }
    text
}
