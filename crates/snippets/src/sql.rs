//! Statements of SQL: literals, comments and names in front of a dot are blanked, and so is all of
//! a statement whose words are no tables.
//!
//! What is blanked keeps its length and its form, so that a reader finds the same tables: a text in
//! quotes stays one, and a number a number.

use crate::bytes::BLANK;

/// Byte in the place of a word's.
const LETTER: u8 = b'x';

/// Statements whose tables are kept, too.
const OF_ROWS: &[&[u8]] = &[
    b"SELECT",
    b"INSERT",
    b"UPDATE",
    b"DELETE",
    b"MERGE",
    b"REPLACE",
    b"VALUES",
    b"TABLE",
    b"WITH",
    b"EXPLAIN",
    b"COPY",
    b"TRUNCATE",
    b"LOCK",
    b"ANALYZE",
    b"VACUUM",
    b"DESCRIBE",
    b"DESC",
];

/// Statements about an object, whose kind is one of the next words.
const OF_OBJECTS: &[&[u8]] = &[b"CREATE", b"ALTER", b"DROP"];

/// Statements whose first word alone is kept.
const OTHERS: &[&[u8]] = &[
    b"BEGIN",
    b"START",
    b"COMMIT",
    b"ROLLBACK",
    b"SAVEPOINT",
    b"RELEASE",
    b"SET",
    b"SHOW",
    b"USE",
    b"UNLOCK",
    b"GRANT",
    b"REVOKE",
    b"LISTEN",
    b"UNLISTEN",
    b"NOTIFY",
    b"PREPARE",
    b"EXECUTE",
    b"DEALLOCATE",
    b"DECLARE",
    b"FETCH",
    b"MOVE",
    b"CLOSE",
    b"KILL",
    b"LOAD",
    b"HANDLER",
    b"DO",
    b"CALL",
    b"RESET",
    b"DISCARD",
    b"CHECKPOINT",
    b"REINDEX",
    b"COMMENT",
    b"SECURITY",
    b"REFRESH",
    b"IMPORT",
    b"CLUSTER",
    b"REASSIGN",
    b"XA",
    b"FLUSH",
    b"OPTIMIZE",
    b"CHECK",
    b"REPAIR",
    b"RENAME",
    b"INSTALL",
    b"CHANGE",
    b"PURGE",
    b"STOP",
    b"ABORT",
    b"END",
    b"SHUTDOWN",
    b"BINLOG",
    b"CACHE",
];

/// Words that stand between CREATE and what it is about, and those that say what that is.
const OBJECTS: &[&[u8]] = &[
    b"OR",
    b"REPLACE",
    b"TEMPORARY",
    b"TEMP",
    b"UNLOGGED",
    b"GLOBAL",
    b"LOCAL",
    b"UNIQUE",
    b"RECURSIVE",
    b"MATERIALIZED",
    b"AGGREGATE",
    b"CONSTRAINT",
    b"FOREIGN",
    b"EVENT",
    b"INDEX",
    b"VIEW",
    b"DATABASE",
    b"SCHEMA",
    b"FUNCTION",
    b"PROCEDURE",
    b"TRIGGER",
    b"SEQUENCE",
    b"TYPE",
    b"EXTENSION",
    b"USER",
    b"ROLE",
    b"SYSTEM",
];

/// Words that are no names where one could stand.
const KEYWORDS: &[&[u8]] = &[
    b"ALL",
    b"AND",
    b"ANY",
    b"AS",
    b"ASC",
    b"BETWEEN",
    b"BY",
    b"CASE",
    b"COLLATE",
    b"CONFLICT",
    b"CROSS",
    b"CURRENT",
    b"DEFAULT",
    b"DELETE",
    b"DESC",
    b"DISTINCT",
    b"DO",
    b"DUPLICATE",
    b"ELSE",
    b"END",
    b"ESCAPE",
    b"EXCEPT",
    b"EXISTS",
    b"FETCH",
    b"FIRST",
    b"FOR",
    b"FORCE",
    b"FROM",
    b"FULL",
    b"GROUP",
    b"HAVING",
    b"IGNORE",
    b"ILIKE",
    b"IN",
    b"INDEX",
    b"INNER",
    b"INSERT",
    b"INTERSECT",
    b"INTERVAL",
    b"INTO",
    b"IS",
    b"ISNULL",
    b"JOIN",
    b"KEY",
    b"LAST",
    b"LATERAL",
    b"LEFT",
    b"LIKE",
    b"LIMIT",
    b"LOCK",
    b"LOCKED",
    b"MATCHED",
    b"MATERIALIZED",
    b"MERGE",
    b"MODE",
    b"NATURAL",
    b"NEXT",
    b"NOT",
    b"NOTHING",
    b"NOTNULL",
    b"NOWAIT",
    b"NULL",
    b"NULLS",
    b"OF",
    b"OFFSET",
    b"ON",
    b"ONLY",
    b"OR",
    b"ORDER",
    b"OUTER",
    b"OVER",
    b"PARTITION",
    b"RECURSIVE",
    b"REGEXP",
    b"RETURNING",
    b"RIGHT",
    b"ROLLUP",
    b"ROW",
    b"ROWS",
    b"SELECT",
    b"SET",
    b"SHARE",
    b"SIMILAR",
    b"SKIP",
    b"SOME",
    b"STDIN",
    b"STDOUT",
    b"TABLE",
    b"THEN",
    b"TO",
    b"TRUE",
    b"FALSE",
    b"UNION",
    b"UPDATE",
    b"USE",
    b"USING",
    b"VALUES",
    b"WHEN",
    b"WHERE",
    b"WINDOW",
    b"WITH",
    b"WITHIN",
    b"XOR",
    b"LOW_PRIORITY",
    b"DELAYED",
    b"HIGH_PRIORITY",
    b"QUICK",
    b"STRAIGHT_JOIN",
    b"IF",
    b"ADD",
    b"COLUMN",
    b"FILTER",
    b"VERBOSE",
    b"FREEZE",
    b"EXPLAIN",
    b"ANALYZE",
    b"REPLACE",
];

/// Whether a text begins as a statement does: with a word that begins one, and something behind it,
/// or nothing where the text is `whole`.
pub(crate) fn begins(text: &[u8], whole: bool) -> bool {
    let text = text.trim_ascii_start();
    let end = text.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    let behind = match text.get(end) {
        Some(byte) => separates(*byte),
        None => whole,
    };
    let word = text.get(..end).unwrap_or(&[]);
    behind && [OF_ROWS, OF_OBJECTS, OTHERS].into_iter().any(|list| is_in(list, word))
}

/// Whether a byte may follow the first word of a statement.
fn separates(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\r' | b'\t' | b';' | b'(' | 0)
}

fn is_in(list: &[&[u8]], word: &[u8]) -> bool {
    list.iter().any(|of| of.eq_ignore_ascii_case(word))
}

/// Token of a statement that may stand in front of an alias.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    /// A keyword, a sign, or the beginning.
    Other,
    /// The word AS.
    As,
    /// A name, a literal, or a closing parenthesis.
    Value,
}

/// Server whose SQL a statement is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    PostgreSql,
    MySql,
}

/// Blanks the literals of a statement.
pub(crate) fn blank(text: &mut [u8], dialect: Dialect) {
    let mut at = 0;
    let mut before = Before::Other;
    let mut has_begun = false;
    // How many words of a statement about an object were looked at; 0 for others.
    let mut of_object = 0;
    while let Some(&byte) = text.get(at) {
        let behind = text.get(at + 1).copied();
        match byte {
            b' ' | b'\t' | b'\n' | b'\r' => at += 1,
            b'\\' | 0 => return fill(text, at + 1, usize::MAX, BLANK),
            b'-' if behind == Some(b'-') => at = line_comment(text, at + 2),
            b'#' => at = line_comment(text, at + 1),
            b'/' if behind == Some(b'*') => at = comment(text, at + 2),
            b'\'' => {
                let Some(end) = quoted(text, at, b'\'', BLANK) else { return };
                (at, before) = (end, Before::Value);
            }
            b'"' if dialect == Dialect::MySql => {
                let Some(end) = quoted(text, at, b'"', BLANK) else { return };
                (at, before) = (end, Before::Value);
            }
            // A name, which is kept where a table may stand.
            b'"' | b'`' => {
                let end = find(text, at + 1, byte);
                let is_name = end < text.len() && end - at <= 64 && before == Before::Other;
                if !is_name || text.get(end + 1) == Some(&b'.') {
                    fill(text, at + 1, end, LETTER);
                }
                (at, before) = (end + 1, Before::Value);
            }
            b';' => {
                (has_begun, of_object, before) = (false, 0, Before::Other);
                at += 1;
            }
            b'$' => {
                let tag = text.get(at + 1..).unwrap_or(&[]);
                let tag = tag.iter().take_while(|of| of.is_ascii_alphanumeric() || **of == b'_');
                let end = at + 1 + tag.count();
                if text.get(end) == Some(&b'$') && !behind.is_some_and(|of| of.is_ascii_digit()) {
                    // What the tag is decides where the text ends, so all behind it is blanked.
                    return fill(text, end + 1, usize::MAX, BLANK);
                }
                (at, before) = (end, Before::Value);
            }
            b'0'..=b'9' => {
                let end = word_end(text, at);
                digits(text, at, end);
                (at, before) = (end, Before::Value);
            }
            b'a'..=b'z' | b'A'..=b'Z' | b'_' | 0x80.. => {
                let end = word_end(text, at);
                let word = text.get(at..end).unwrap_or(&[]);
                if !has_begun {
                    has_begun = true;
                    if is_in(OF_OBJECTS, word) {
                        of_object = 1;
                    } else if !is_in(OF_ROWS, word) {
                        // A reader that lost its place knows a statement by what separates its
                        // first word from the rest.
                        let is_apart = text.get(end).is_some_and(|of| separates(*of));
                        return fill(text, end + usize::from(is_apart), usize::MAX, BLANK);
                    }
                    at = end;
                    continue;
                }
                if of_object > 0 {
                    let is_table = word.eq_ignore_ascii_case(b"TABLE");
                    if !is_table && !is_in(OBJECTS, word) {
                        return fill(text, at, usize::MAX, BLANK);
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
                let is_alias = before != Before::Other && !is_keyword;
                if is_qualifier || is_alias && !is_prefix || !is_plain {
                    fill(text, at, end, LETTER);
                }
                before = match () {
                    () if is_as => Before::As,
                    () if is_keyword => Before::Other,
                    () => Before::Value,
                };
                at = end;
            }
            _ => {
                before = if byte == b')' || byte == b']' { Before::Value } else { Before::Other };
                at += 1;
            }
        }
    }
}

fn fill(text: &mut [u8], from: usize, to: usize, byte: u8) {
    let to = to.min(text.len());
    text.get_mut(from..to).unwrap_or_default().fill(byte);
}

/// Index of the next `byte` from `from` on; the end where there is none.
fn find(text: &[u8], from: usize, byte: u8) -> usize {
    let rest = text.get(from..).unwrap_or(&[]);
    from + rest.iter().position(|of| *of == byte).unwrap_or(rest.len())
}

fn word_end(text: &[u8], from: usize) -> usize {
    let is_of_word = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'_' || **byte >= 0x80;
    from + text.get(from..).unwrap_or(&[]).iter().take_while(is_of_word).count()
}

/// Blanks what stands in quotes from `from` on. `None` where it does not end for sure.
fn quoted(text: &mut [u8], from: usize, quote: u8, with: u8) -> Option<usize> {
    let mut at = from + 1;
    loop {
        match text.get(at).copied() {
            None | Some(0) => return None,
            // Where the text ends depends on the server's settings.
            Some(b'\\') => {
                fill(text, at + 1, usize::MAX, BLANK);
                return None;
            }
            Some(byte) if byte == quote => {
                if text.get(at + 1) != Some(&quote) {
                    return Some(at + 1);
                }
                at += 2;
            }
            Some(_) => {
                fill(text, at, at + 1, with);
                at += 1;
            }
        }
    }
}

/// Blanks a comment up to the end of its line.
fn line_comment(text: &mut [u8], from: usize) -> usize {
    let end = find(text, from, b'\n');
    fill(text, from, end, BLANK);
    end
}

/// Blanks a comment within stars.
fn comment(text: &mut [u8], from: usize) -> usize {
    let rest = text.get(from..).unwrap_or(&[]);
    let end = rest.windows(2).position(|pair| pair == b"*/").map(|end| from + end);
    let nested = rest.windows(2).any(|pair| pair == b"/*");
    match end.filter(|_| !nested) {
        Some(end) => {
            fill(text, from, end, b' ');
            end + 2
        }
        // Comments within comments end elsewhere at each server.
        None => {
            fill(text, from, usize::MAX, b' ');
            text.len()
        }
    }
}

/// Puts a number of as many digits in the place of what begins with a digit.
fn digits(text: &mut [u8], from: usize, to: usize) {
    fill(text, from, to, b'0');
}
