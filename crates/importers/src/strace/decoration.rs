//! Decorations: the text that strace prints in angle brackets after a descriptor.

/// Length of the decoration at the beginning of `text`, including its brackets.
pub(super) fn decoration_length(text: &[u8]) -> Option<usize> {
    let inside = text.strip_prefix(b"<")?;
    // A socket's decoration ends with the bracket; a path in it is quoted.
    let colon = inside.iter().position(|byte| !byte.is_ascii_alphanumeric() && *byte != b'-')?;
    if inside.get(colon..)?.starts_with(b":[")
        && inside.first().is_some_and(u8::is_ascii_alphabetic)
    {
        let mut at = colon + 2;
        while let Some(byte) = inside.get(at) {
            match byte {
                b'"' => at = end_of_text(inside, at)?,
                b']' if inside.get(at + 1) == Some(&b'>') => return Some(at + 3),
                _ => at += 1,
            }
        }
        return None;
    }
    // A file's decoration is the path, with escaped brackets, and possibly the device's number in
    // brackets of its own.
    let mut depth = 0u32;
    for (at, byte) in inside.iter().enumerate() {
        match byte {
            b'<' => depth += 1,
            b'>' if depth == 0 => return Some(at + 2),
            b'>' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// Index after the quoted text that begins at `at`.
fn end_of_text(text: &[u8], at: usize) -> Option<usize> {
    let mut at = at + 1;
    loop {
        match text.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}
