//! Leading part of an SQL statement, before its first word. Both the library, which blanks after
//! it, and the operation parser, which reads after it, call these functions.

/// Returns the statement from its first word: after spaces, semicolons, opening parentheses and
/// comments. A comment that MySQL executes (`/*!`) is not skipped. `None` for an unterminated
/// comment.
pub fn skip_leading_comments(text: &[u8]) -> Option<&[u8]> {
    let mut rest = text;
    loop {
        rest = match rest {
            [b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c | b';' | b'(', rest @ ..] => rest,
            [b'-', b'-', rest @ ..] | [b'#', rest @ ..] => {
                let end = rest.iter().position(|byte| *byte == b'\n')?;
                rest.get(end..)?
            }
            [b'/', b'*', after @ ..] => match executable_comment_mark(after) {
                0 => {
                    let end = after.windows(2).position(|pair| pair == b"*/")?;
                    after.get(end + 2..)?
                }
                mark => after.get(mark..)?,
            },
            // The end of an executed comment.
            [b'*', b'/', rest @ ..] => rest,
            _ => return Some(rest),
        }
    }
}

/// Length of the mark after `/*` with which MySQL or MariaDB executes the comment: `!` or `M!` with
/// a minimum version; 0 without a mark.
pub fn executable_comment_mark(after: &[u8]) -> usize {
    let mark = match after {
        [b'!', ..] => 1,
        [b'M', b'!', ..] => 2,
        _ => return 0,
    };
    let version = after.get(mark..).unwrap_or(&[]);
    mark + version.iter().take_while(|byte| byte.is_ascii_digit()).count()
}
