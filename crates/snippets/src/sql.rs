//! SQL statements: literals, comments and qualifiers before a dot are blanked, and so is everything
//! after the first word of a statement that names no tables.
//!
//! Blanked text keeps its length and its form, so that a reader finds the same tables: a quoted
//! text stays quoted, and a number stays a number.

mod leading_comments;
mod words;

pub use self::leading_comments::{executable_comment_mark, skip_leading_comments};
use self::words::{
    KEYWORDS, OBJECT_WORDS, OTHER_STATEMENTS, STATEMENTS_ABOUT_OBJECTS, STATEMENTS_WITH_TABLES,
};
use crate::bytes::BLANK;

/// Replacement for a byte of a blanked name.
const LETTER: u8 = b'x';

/// Whether a text begins like a statement: with a first word of a statement, and a separator after
/// the word unless it ends the text. `whole` is whether the text is complete, and not cut. Leading
/// comments are skipped; an unterminated comment counts as the beginning of a statement.
pub(crate) fn begins_statement(text: &[u8], whole: bool) -> bool {
    let Some(text) = skip_leading_comments(text) else {
        return matches!(text.trim_ascii_start(), [b'-', b'-', ..] | [b'/', b'*', ..]);
    };
    let end = text.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    let after = match text.get(end..).unwrap_or(&[]) {
        [b'/', b'*', ..] => true,
        [byte, ..] => is_separator(*byte),
        [] => whole,
    };
    let word = text.get(..end).unwrap_or(&[]);
    after
        && [STATEMENTS_WITH_TABLES, STATEMENTS_ABOUT_OBJECTS, OTHER_STATEMENTS]
            .into_iter()
            .any(|list| is_in(list, word))
}

/// Whether a byte may follow the first word of a statement.
fn is_separator(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\r' | b'\t' | b';' | b'(' | 0)
}

/// Whether `list` contains the word, in any case of its letters.
fn is_in(list: &[&[u8]], word: &[u8]) -> bool {
    list.iter().any(|of| of.eq_ignore_ascii_case(word))
}

/// Token of a statement that may precede an alias.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PrecedingToken {
    /// A keyword, a sign, or the beginning of the statement.
    Other,
    /// The word AS.
    As,
    /// A name, a literal, or a closing parenthesis.
    Value,
}

/// SQL dialect of a statement: the server that it is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum SqlDialect {
    PostgreSql,
    MySql,
}

/// Blanks the literals of a statement.
pub(crate) fn blank_literals(text: &mut [u8], dialect: SqlDialect) {
    let mut at = 0;
    let mut before = PrecedingToken::Other;
    let mut has_begun = false;
    // Number of words examined in a statement about an object; 0 for other statements.
    let mut of_object = 0;
    while let Some(&byte) = text.get(at) {
        let after = text.get(at + 1).copied();
        match byte {
            b' ' | b'\t' | b'\n' | b'\r' => at += 1,
            b'\\' | 0 => return fill_range(text, at + 1, usize::MAX, BLANK),
            // MySQL recognises a comment by the space after its dashes.
            b'-' if after == Some(b'-') => match (dialect, text.get(at + 2)) {
                (SqlDialect::MySql, Some(next)) if next.is_ascii_whitespace() => {
                    at = blank_line_comment(text, at + 2 + usize::from(*next != b'\n'));
                }
                (SqlDialect::MySql, Some(_)) if has_begun => {
                    (at, before) = (at + 2, PrecedingToken::Other);
                }
                _ => at = blank_line_comment(text, at + 2),
            },
            b'#' => at = blank_line_comment(text, at + 1),
            b'/' if after == Some(b'*') => {
                let executed = executable_comment_mark(text.get(at + 2..).unwrap_or(&[]));
                at = match dialect {
                    SqlDialect::MySql if executed > 0 => at + 2 + executed,
                    _ => blank_block_comment(text, at + 2),
                };
            }
            b'\'' => {
                let Some(end) = blank_quoted(text, at, b'\'', BLANK) else { return };
                (at, before) = (end, PrecedingToken::Value);
            }
            b'"' if dialect == SqlDialect::MySql => {
                let Some(end) = blank_quoted(text, at, b'"', BLANK) else { return };
                (at, before) = (end, PrecedingToken::Value);
            }
            // A quoted name, which is kept in the position of a table.
            b'"' | b'`' => {
                let end = find_byte(text, at + 1, byte);
                let is_name = end < text.len() && end - at <= 64 && before == PrecedingToken::Other;
                if !is_name || text.get(end + 1) == Some(&b'.') {
                    fill_range(text, at + 1, end, LETTER);
                }
                (at, before) = (end + 1, PrecedingToken::Value);
            }
            b';' => {
                (has_begun, of_object, before) = (false, 0, PrecedingToken::Other);
                at += 1;
            }
            b'$' => {
                let tag = text.get(at + 1..).unwrap_or(&[]);
                let tag = tag.iter().take_while(|of| of.is_ascii_alphanumeric() || **of == b'_');
                let end = at + 1 + tag.count();
                if text.get(end) == Some(&b'$') && !after.is_some_and(|of| of.is_ascii_digit()) {
                    // The tag determines where the text ends, so everything after it is blanked.
                    return fill_range(text, end + 1, usize::MAX, BLANK);
                }
                (at, before) = (end, PrecedingToken::Value);
            }
            b'0'..=b'9' => {
                let end = word_end(text, at);
                mask_digits(text, at, end);
                (at, before) = (end, PrecedingToken::Value);
            }
            b'a'..=b'z' | b'A'..=b'Z' | b'_' | 0x80.. => {
                let end = word_end(text, at);
                let word = text.get(at..end).unwrap_or(&[]);
                if !has_begun {
                    has_begun = true;
                    if is_in(STATEMENTS_ABOUT_OBJECTS, word) {
                        of_object = 1;
                    } else if !is_in(STATEMENTS_WITH_TABLES, word) {
                        // A reader that lost its position recognises a statement by the separator
                        // after its first word.
                        let is_apart = text.get(end).is_some_and(|of| is_separator(*of));
                        return fill_range(text, end + usize::from(is_apart), usize::MAX, BLANK);
                    }
                    at = end;
                    continue;
                }
                if of_object > 0 {
                    let is_table = word.eq_ignore_ascii_case(b"TABLE");
                    if !is_table && !is_in(OBJECT_WORDS, word) {
                        return fill_range(text, at, usize::MAX, BLANK);
                    }
                    of_object = if is_table || of_object > 5 { 0 } else { of_object + 1 };
                    at = end;
                    continue;
                }
                // `N'text'`, `_utf8'text'`.
                let is_prefix = text.get(end) == Some(&b'\'') && end - at <= 8;
                let is_qualifier = text.get(end) == Some(&b'.');
                let is_plain = end - at <= 64 && word.is_ascii();
                let is_keyword = !is_qualifier && is_plain && is_in(KEYWORDS, word);
                let is_as = is_keyword && word.eq_ignore_ascii_case(b"AS");
                let is_alias = before != PrecedingToken::Other && !is_keyword;
                if is_qualifier || is_alias && !is_prefix || !is_plain {
                    fill_range(text, at, end, LETTER);
                }
                before = match () {
                    () if is_as => PrecedingToken::As,
                    () if is_keyword => PrecedingToken::Other,
                    () => PrecedingToken::Value,
                };
                at = end;
            }
            _ => {
                before = if byte == b')' || byte == b']' {
                    PrecedingToken::Value
                } else {
                    PrecedingToken::Other
                };
                at += 1;
            }
        }
    }
}

/// Overwrites the bytes from `from` to `to`, at most to the end of the text.
fn fill_range(text: &mut [u8], from: usize, to: usize, byte: u8) {
    let to = to.min(text.len());
    text.get_mut(from..to).unwrap_or_default().fill(byte);
}

/// Index of the next `byte` from `from`, or the end of the text.
fn find_byte(text: &[u8], from: usize, byte: u8) -> usize {
    let rest = text.get(from..).unwrap_or(&[]);
    from + rest.iter().position(|of| *of == byte).unwrap_or(rest.len())
}

/// End of the word that begins at `from`.
fn word_end(text: &[u8], from: usize) -> usize {
    let is_of_word = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'_' || **byte >= 0x80;
    from + text.get(from..).unwrap_or(&[]).iter().take_while(is_of_word).count()
}

/// Blanks the text in quotes at `from` with the byte `with`, and returns the index after it. If its
/// end is not certain, returns `None`; nothing after the text is to be kept then.
fn blank_quoted(text: &mut [u8], from: usize, quote: u8, with: u8) -> Option<usize> {
    let mut at = from + 1;
    loop {
        match text.get(at).copied() {
            None | Some(0) => return None,
            // Whether the backslash escapes depends on the server's settings.
            Some(b'\\') => {
                fill_range(text, at + 1, usize::MAX, BLANK);
                return None;
            }
            Some(byte) if byte == quote => {
                if text.get(at + 1) != Some(&quote) {
                    return Some(at + 1);
                }
                at += 2;
            }
            Some(_) => {
                fill_range(text, at, at + 1, with);
                at += 1;
            }
        }
    }
}

/// Blanks a comment up to the end of its line, and returns the index of that end.
fn blank_line_comment(text: &mut [u8], from: usize) -> usize {
    let end = find_byte(text, from, b'\n');
    fill_range(text, from, end, BLANK);
    end
}

/// Blanks the block comment whose text begins at `from`, and returns the index after it.
fn blank_block_comment(text: &mut [u8], from: usize) -> usize {
    let rest = text.get(from..).unwrap_or(&[]);
    let end = rest.windows(2).position(|pair| pair == b"*/");
    let inner = rest.get(..end.unwrap_or(0)).unwrap_or(&[]);
    let is_nested = inner.windows(2).any(|pair| pair == b"/*");
    match end.filter(|_| !is_nested).map(|end| from + end) {
        Some(end) => {
            fill_range(text, from, end, b' ');
            end + 2
        }
        // The end of nested comments differs between servers.
        None => {
            fill_range(text, from, usize::MAX, b' ');
            text.len()
        }
    }
}

/// Replaces a token that begins with a digit by as many zeros.
fn mask_digits(text: &mut [u8], from: usize, to: usize) {
    fill_range(text, from, to, b'0');
}
