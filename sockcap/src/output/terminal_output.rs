//! The only way in which anything is printed. Recorded text may contain any bytes: a name with an
//! escape sequence would control the reader's terminal, and one with a line break would forge a
//! line. Text therefore passes through [`EscapingWriter`], which shows unprintable characters as
//! escapes, and no other code in this crate has standard output and standard error (checked by
//! `cargo test -p architecture`).

use std::fmt;
use std::io::{self, BufWriter, Write};
use std::str;

use message_trace::units::is_harmful;

/// Longest style that is let through, in bytes: twice as long as `ESC [ 38 ; 5 ; 255 m`.
const MAX_STYLE_BYTES: usize = 24;

/// Standard output for text that people read.
pub(crate) fn text_output() -> EscapingWriter<BufWriter<io::StdoutLock<'static>>> {
    EscapingWriter::new(BufWriter::new(io::stdout().lock()))
}

/// Standard output for text with colours, if `color` is on. The writer must make names harmless
/// before they come here, as `report` does where it paints: a style in a name looks like one of
/// ours.
pub(crate) fn styled_output(color: bool) -> EscapingWriter<BufWriter<io::StdoutLock<'static>>> {
    EscapingWriter { has_styles: color, ..text_output() }
}

/// Standard output for programs, which is written unchanged: JSON, tables, scripts.
pub(crate) fn machine_output() -> BufWriter<io::Stdout> {
    BufWriter::new(io::stdout())
}

/// Prints a text with our own styles, which a terminal shows.
pub(crate) fn print_styled(text: &str, to_stderr: bool) {
    // The reader may be gone.
    let _ = match to_stderr {
        true => write_styled(text, anstream::stderr()),
        false => write_styled(text, anstream::stdout()),
    };
}

fn write_styled(text: &str, out: impl Write) -> io::Result<()> {
    let mut out = EscapingWriter { has_styles: true, ..EscapingWriter::new(out) };
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Prints one line on standard error. A failure to print is ignored: no command may end differently
/// because its terminal was closed or the disk is full.
pub(super) fn print_line(words: fmt::Arguments<'_>) {
    let mut line = escape_line_breaks(&words.to_string());
    line.push('\n');
    let _ = io::stderr().lock().write_all(line.as_bytes());
}

/// `text` on one line, with escapes for unprintable characters: `\n`, `\x1b`, `\u{202e}`.
pub(crate) fn escape_line_breaks(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    text.chars()
        .for_each(|c| if c == '\n' { shown.push_str("\\n") } else { push_escaped(c, &mut shown) });
    shown
}

/// Appends a character, or its escape if it is unprintable.
fn push_escaped(c: char, into: &mut String) {
    match c {
        '\n' | '\t' => into.push(c),
        c if c.is_ascii() && is_harmful(c) => into.push_str(&format!("\\x{:02x}", u32::from(c))),
        c if is_harmful(c) => into.push_str(&format!("\\u{{{:x}}}", u32::from(c))),
        c => into.push(c),
    }
}

/// A writer of text that writes escapes in place of unprintable characters and of bytes that are
/// not text. Line breaks and tabs stay.
#[derive(Debug)]
pub(crate) struct EscapingWriter<W: Write> {
    out: W,
    /// Whether styles (`ESC [ ... m`) are let through.
    has_styles: bool,
    /// Whether the output is for a program, and is written unchanged.
    is_raw: bool,
    /// Bytes of an incomplete character or style.
    partial_bytes: Vec<u8>,
}

impl<W: Write> EscapingWriter<W> {
    /// A writer that writes to `out`.
    pub(crate) fn new(out: W) -> EscapingWriter<W> {
        EscapingWriter { out, has_styles: false, is_raw: false, partial_bytes: Vec::new() }
    }

    /// Writes to `out`; unchanged if it `is_for_programs`. Text for people is harmless also in a
    /// file, which may be shown later.
    pub(crate) fn unless_for_programs(is_for_programs: bool, out: W) -> EscapingWriter<W> {
        EscapingWriter { is_raw: is_for_programs, ..EscapingWriter::new(out) }
    }

    /// Appends the escaped form of `bytes` to `shown`, and returns the number of bytes at the end
    /// that depend on what follows them.
    fn escape_bytes(&self, mut bytes: &[u8], shown: &mut String) -> usize {
        loop {
            let (valid, rest) = match str::from_utf8(bytes) {
                Ok(text) => (text, None),
                Err(error) => {
                    let (valid, rest) = bytes.split_at(error.valid_up_to());
                    // The bytes before the error are valid text.
                    (str::from_utf8(valid).unwrap_or_default(), Some((rest, error.error_len())))
                }
            };
            let mut left = valid;
            while let Some(c) = left.chars().next() {
                if c == '\x1b' && self.has_styles {
                    match parse_style(left) {
                        EscapeKind::Whole(length) => {
                            let (style, following) = left.split_at(length);
                            shown.push_str(style);
                            left = following;
                            continue;
                        }
                        EscapeKind::Begun if rest.is_none() => return left.len(),
                        EscapeKind::Begun | EscapeKind::Other => {}
                    }
                }
                push_escaped(c, shown);
                left = left.get(c.len_utf8()..).unwrap_or_default();
            }
            match rest {
                None => return 0,
                Some((rest, None)) => return rest.len(),
                Some((rest, Some(length))) => {
                    let (wrong, following) = rest.split_at(length);
                    wrong.iter().for_each(|byte| shown.push_str(&format!("\\x{byte:02x}")));
                    bytes = following;
                }
            }
        }
    }
}

/// What an escape character begins.
enum EscapeKind {
    /// A style of this length.
    Whole(usize),
    /// A possible beginning of a style.
    Begun,
    Other,
}

/// Parses the escape sequence at the start of `text`.
fn parse_style(text: &str) -> EscapeKind {
    let Some(parameters) = text.strip_prefix("\x1b[") else {
        return if text == "\x1b" { EscapeKind::Begun } else { EscapeKind::Other };
    };
    let length =
        parameters.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b';').count();
    match parameters.as_bytes().get(length) {
        _ if length > MAX_STYLE_BYTES => EscapeKind::Other,
        Some(b'm') => EscapeKind::Whole(2 + length + 1),
        Some(_) => EscapeKind::Other,
        None => EscapeKind::Begun,
    }
}

impl<W: Write> Write for EscapingWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.is_raw {
            return self.out.write(bytes);
        }
        let mut all = std::mem::take(&mut self.partial_bytes);
        all.extend_from_slice(bytes);
        let mut shown = String::with_capacity(all.len());
        let left = self.escape_bytes(&all, &mut shown);
        self.partial_bytes = all.split_off(all.len() - left);
        self.out.write_all(shown.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        // An incomplete sequence stays incomplete at the end.
        let begun = String::from_utf8_lossy(&std::mem::take(&mut self.partial_bytes)).into_owned();
        let mut shown = String::new();
        begun.chars().for_each(|c| push_escaped(c, &mut shown));
        self.out.write_all(shown.as_bytes())?;
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn escape_all(pieces: &[&[u8]], has_styles: bool) -> String {
        let mut out = EscapingWriter { has_styles, ..EscapingWriter::new(Vec::new()) };
        pieces.iter().for_each(|piece| out.write_all(piece).unwrap());
        out.flush().unwrap();
        String::from_utf8(out.out).unwrap()
    }

    #[test]
    fn unprintable_characters_are_escaped() {
        for (text, shown) in [
            ("plain, äöü → 東京\n\tnext\n", "plain, äöü → 東京\n\tnext\n"),
            ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
            ("\x1b[2J\x1b[31mred", "\\x1b[2J\\x1b[31mred"),
            ("a\rb\x08\x7f\0", "a\\x0db\\x08\\x7f\\x00"),
            ("\u{9b}31m", "\\u{9b}31m"),
            ("\u{202e}txt.exe\u{2066}\u{61c}", "\\u{202e}txt.exe\\u{2066}\\u{61c}"),
            ("line\u{2028}line", "line\\u{2028}line"),
        ] {
            assert_eq!(escape_all(&[text.as_bytes()], false), shown);
            let bytes: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
            assert_eq!(escape_all(&bytes, false), shown, "in pieces");
        }
        assert_eq!(escape_all(&[b"a\xff\x9b31m\xc3"], false), "a\\xff\\x9b31m\u{fffd}");
        assert_eq!(escape_line_breaks("a\nsockcap: forged\r"), "a\\nsockcap: forged\\x0d");
    }

    #[test]
    fn only_our_own_styles_are_let_through() {
        let bold = "\x1b[1m\x1b[38;5;255mx\x1b[0m";
        assert_eq!(escape_all(&[bold.as_bytes()], true), bold);
        let bytes: Vec<&[u8]> = bold.as_bytes().chunks(1).collect();
        assert_eq!(escape_all(&bytes, true), bold);
        for other in
            ["\x1b[2J", "\x1b]0;x\x07", "\x1b[?25l", "\x1bc", "\x1b[1;31H", "\x1b", "\x1b["]
        {
            assert!(!escape_all(&[other.as_bytes()], true).contains('\x1b'), "{other:?}");
        }
        let long = format!("\x1b[{}m", "1;".repeat(100));
        assert!(!escape_all(&[long.as_bytes()], true).contains('\x1b'));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn nothing_harmful_is_written_however_the_input_is_split(
            bytes in prop::collection::vec(prop_oneof![any::<u8>(), Just(0x1b), Just(b'['), Just(b'm')], 0..60),
            cut in any::<prop::sample::Index>(),
        ) {
            let (one, other) = bytes.split_at(cut.index(bytes.len() + 1));
            let whole = escape_all(&[&bytes], false);
            prop_assert!(!whole.chars().any(|c| is_harmful(c) && c != '\n' && c != '\t'));
            prop_assert_eq!(escape_all(&[one, other], false), whole);
        }
    }
}
