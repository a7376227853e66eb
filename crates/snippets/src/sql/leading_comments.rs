//! Lead of a statement of SQL: what may stand before its first word. The library blanks behind it,
//! and the parser of operations reads behind it, so both call these.

/// Text of a statement from its first word on: behind spaces, semicolons, opening parentheses and
/// comments. What MySQL executes of a comment (`/*!`) is no comment. `None` where a comment does
/// not end.
pub fn skip_leading_comments(text: &[u8]) -> Option<&[u8]> {
    let mut rest = text;
    loop {
        rest = match rest {
            [b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c | b';' | b'(', rest @ ..] => rest,
            [b'-', b'-', rest @ ..] | [b'#', rest @ ..] => {
                let end = rest.iter().position(|byte| *byte == b'\n')?;
                rest.get(end..)?
            }
            [b'/', b'*', behind @ ..] => match executable_comment_mark(behind) {
                0 => {
                    let end = behind.windows(2).position(|pair| pair == b"*/")?;
                    behind.get(end + 2..)?
                }
                mark => behind.get(mark..)?,
            },
            // The end of what is executed.
            [b'*', b'/', rest @ ..] => rest,
            _ => return Some(rest),
        }
    }
}

/// Length of the mark behind `/*` that says that MySQL or MariaDB executes the comment: `!` or `M!`
/// with the version from which on; 0 where there is none.
pub fn executable_comment_mark(behind: &[u8]) -> usize {
    let mark = match behind {
        [b'!', ..] => 1,
        [b'M', b'!', ..] => 2,
        _ => return 0,
    };
    let version = behind.get(mark..).unwrap_or(&[]);
    mark + version.iter().take_while(|byte| byte.is_ascii_digit()).count()
}
