//! Arguments of a call as strace prints them: numbers, words, texts in C's notation, structs and
//! lists, with comments and decorations of descriptors in between.
//!
//! Nothing is allocated: an [`ArgumentCursor`] moves over the line, and its caller reads the wanted
//! parts and skips the rest. All functions accept arbitrary bytes, and return `None` if these are
//! not what was requested.

use super::decoration;

/// Position in a line.
#[derive(Clone, Copy, Debug)]
pub(super) struct ArgumentCursor<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> ArgumentCursor<'a> {
    pub(super) fn new(text: &'a [u8]) -> ArgumentCursor<'a> {
        ArgumentCursor { text, at: 0 }
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    /// Text from the cursor on.
    pub(super) fn rest(&self) -> &'a [u8] {
        self.text.get(self.at..).unwrap_or(&[])
    }

    /// Text between an earlier position and this one.
    pub(super) fn text_since(&self, earlier: &ArgumentCursor<'a>) -> &'a [u8] {
        self.text.get(earlier.at..self.at).unwrap_or(&[])
    }

    pub(super) fn skip_bytes(&mut self, bytes: usize) {
        self.at = self.at.saturating_add(bytes).min(self.text.len());
    }

    /// Skips `token` if it is next.
    pub(super) fn eat_token(&mut self, token: &[u8]) -> bool {
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    pub(super) fn skip_spaces(&mut self) {
        while self.peek() == Some(b' ') {
            self.at += 1;
        }
    }

    /// Moves to the next argument, field or element; `None` after the last one.
    pub(super) fn next_argument(&mut self) -> Option<()> {
        self.skip_value()?;
        self.eat_token(b",").then(|| self.skip_spaces())
    }

    /// Cursor at the argument with this number, from 0; this cursor is at the first one.
    pub(super) fn nth_argument(mut self, number: usize) -> Option<ArgumentCursor<'a>> {
        for _ in 0..number {
            self.next_argument()?;
        }
        Some(self)
    }

    /// Skips the rest of a value: to the comma or the closing bracket after it, or the end of the
    /// text.
    pub(super) fn skip_value(&mut self) -> Option<()> {
        let mut depth = 0u32;
        let mut after_digit = false;
        while let Some(byte) = self.peek() {
            match byte {
                b'"' => {
                    self.skip_text()?;
                    after_digit = false;
                    continue;
                }
                b'(' | b'[' | b'{' => depth += 1,
                b')' | b']' | b'}' if depth == 0 => return Some(()),
                b')' | b']' | b'}' => depth -= 1,
                b',' if depth == 0 => return Some(()),
                b'<' if after_digit && self.text.get(self.at + 1) != Some(&b'<') => {
                    self.at += decoration::decoration_length(self.rest())?;
                    after_digit = false;
                    continue;
                }
                b'/' if self.text.get(self.at + 1) == Some(&b'*') => {
                    let length = self.rest().windows(2).position(|two| two == b"*/")?;
                    self.at += length + 2;
                    continue;
                }
                _ => {}
            }
            after_digit = byte.is_ascii_digit();
            self.at += 1;
        }
        (depth == 0).then_some(())
    }

    /// Skips a quoted text.
    fn skip_text(&mut self) -> Option<()> {
        self.at += 1;
        loop {
            let step = self.rest().iter().position(|byte| matches!(byte, b'"' | b'\\'))?;
            self.at += step;
            if self.peek() == Some(b'"') {
                self.at += 1;
                return Some(());
            }
            self.skip_bytes(2);
        }
    }

    /// Reads a number: decimal, or hexadecimal with `0x`; a number that does not fit becomes the
    /// largest one.
    pub(super) fn read_number(&mut self) -> Option<i64> {
        let negative = self.eat_token(b"-");
        let (radix, from) = if self.eat_token(b"0x") { (16, self.at) } else { (10, self.at) };
        let mut value = 0i64;
        while let Some(digit) = self.peek().and_then(|byte| char::from(byte).to_digit(radix)) {
            value = value.saturating_mul(radix.into()).saturating_add(digit.into());
            self.at += 1;
        }
        (self.at > from).then_some(if negative { -value } else { value })
    }

    /// Reads names, numbers and their connectors, such as `MSG_PEEK|MSG_DONTWAIT`, up to the next
    /// mark that ends a value.
    pub(super) fn read_word(&mut self) -> &'a [u8] {
        let begin = *self;
        let length = self.rest().iter().position(|byte| b" ,()[]{}\"=<>".contains(byte));
        self.skip_bytes(length.unwrap_or(self.text.len()));
        self.text_since(&begin)
    }

    /// Reads the following flags. Flags that strace does not know are numbers.
    pub(super) fn read_flags(mut self) -> FlagWords<'a> {
        let begin = self;
        let _ = self.skip_value();
        FlagWords(self.text_since(&begin))
    }

    /// Reads all words of the text, for calls without texts among their arguments.
    pub(super) fn read_all_flags(self) -> FlagWords<'a> {
        FlagWords(self.rest())
    }

    /// Reads a quoted text: its bytes are appended to `bytes`. Returns true if it is complete, and
    /// false if strace has truncated it.
    pub(super) fn read_text(&mut self, bytes: &mut Vec<u8>) -> Option<bool> {
        if !self.eat_token(b"\"") {
            return None;
        }
        loop {
            let step = self.rest().iter().position(|byte| matches!(byte, b'"' | b'\\'))?;
            bytes.extend_from_slice(self.rest().get(..step)?);
            self.at += step + 1;
            if self.text.get(self.at - 1) == Some(&b'"') {
                return Some(!self.eat_token(b"..."));
            }
            bytes.push(self.read_escape()?);
        }
    }

    /// Reads the byte that an escape encodes, after the backslash.
    fn read_escape(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        let digits = |this: &mut ArgumentCursor, radix: u32, most: usize, mut value: u32| {
            for _ in 0..most {
                let Some(digit) = this.peek().and_then(|byte| char::from(byte).to_digit(radix))
                else {
                    break;
                };
                value = value * radix + digit;
                this.at += 1;
            }
            u8::try_from(value).ok()
        };
        Some(match byte {
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            b'v' => 0x0b,
            b'f' => 0x0c,
            b'a' => 0x07,
            b'b' => 0x08,
            b'e' => 0x1b,
            b'x' => return digits(self, 16, 2, 0),
            b'0'..=b'7' => return digits(self, 8, 2, u32::from(byte - b'0')),
            other => other,
        })
    }

    /// Calls `field` with each field's name and a cursor at its value. For elements without a name,
    /// the name is empty.
    pub(super) fn for_each_field(
        &mut self,
        mut field: impl FnMut(&'a [u8], ArgumentCursor<'a>),
    ) -> Option<()> {
        let close: &[u8] = match self.peek()? {
            b'{' => b"}",
            b'[' => b"]",
            _ => return None,
        };
        self.at += 1;
        loop {
            self.skip_spaces();
            if self.eat_token(close) {
                return Some(());
            }
            let begin = *self;
            let mut name = self.read_word();
            // Old versions print a length after the name: msg_name(16)={...}.
            if self.peek() == Some(b'(') {
                let mut after = *self;
                after.at += 1;
                if after.skip_value().is_some()
                    && after.eat_token(b")")
                    && after.peek() == Some(b'=')
                {
                    *self = after;
                }
            }
            if name.is_empty() || !self.eat_token(b"=") || self.peek() == Some(b'>') {
                (*self, name) = (begin, b"");
            }
            field(name, *self);
            self.skip_value()?;
            if !self.eat_token(b",") {
                return self.eat_token(close).then_some(());
            }
        }
    }
}

/// Flags as strace prints them, separated by `|`.
#[derive(Clone, Copy, Debug)]
pub(super) struct FlagWords<'a>(&'a [u8]);

impl FlagWords<'_> {
    /// Whether `name` is among the words.
    pub(super) fn has_flag(self, name: &str) -> bool {
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        self.0.split(|byte| !is_part(byte)).any(|flag| flag == name.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(printed: &str) -> Option<(Vec<u8>, bool)> {
        let mut bytes = Vec::new();
        let whole = ArgumentCursor::new(printed.as_bytes()).read_text(&mut bytes)?;
        Some((bytes, whole))
    }

    #[test]
    fn texts_in_c_notation() {
        assert_eq!(text(r#""a\n\0\1b\"\\""#), Some((b"a\n\0\x01b\"\\".to_vec(), true)));
        assert_eq!(text(r#""\3678\x7f\t""#), Some((b"\xf78\x7f\t".to_vec(), true)));
        assert_eq!(text(r#""abc"..., 5"#), Some((b"abc".to_vec(), false)));
        assert_eq!(text(r#""abc"#), None);
        assert_eq!(text(r#""\777""#), None, "no byte");
    }

    #[test]
    fn values_are_skipped_whatever_they_contain() {
        let arguments = r#"4<UNIX:[1->2,"a]>, b"]>, {a=[1, 2 /* ), */, "),"]} => {b=3}, 7</tmp/x<y>>, 1<<2, "\"", NULL) = 3"#;
        let mut cursor = ArgumentCursor::new(arguments.as_bytes());
        let mut values = Vec::new();
        loop {
            let begin = cursor;
            let more = cursor.next_argument();
            let value = String::from_utf8_lossy(cursor.text_since(&begin))
                .trim_end_matches([',', ' '])
                .to_owned();
            values.push(value);
            if more.is_none() {
                break;
            }
        }
        let expected = [
            r#"4<UNIX:[1->2,"a]>, b"]>"#,
            r#"{a=[1, 2 /* ), */, "),"]} => {b=3}"#,
            "7</tmp/x<y>>",
            "1<<2",
            r#""\"""#,
            "NULL",
        ];
        assert_eq!(values, expected);
        assert_eq!(cursor.rest(), b") = 3");
    }

    #[test]
    fn fields_of_structs_old_and_new() {
        let names = |printed: &str| {
            let mut names = Vec::new();
            let mut cursor = ArgumentCursor::new(printed.as_bytes());
            let done = cursor.for_each_field(|name, value| {
                names.push(format!(
                    "{}:{}",
                    String::from_utf8_lossy(name),
                    value.rest()[0] as char
                ));
            });
            done.map(|()| names.join(" "))
        };
        assert_eq!(
            names(r#"{msg_name={a=1}, msg_namelen=16 => 0, msg_iov=[{}]}"#).unwrap(),
            "msg_name:{ msg_namelen:1 msg_iov:["
        );
        assert_eq!(names(r#"{msg_name(16)={a=1}, {"ab", 2}, ...}"#).unwrap(), "msg_name:{ :{ :.");
        assert_eq!(names("[1, 2]").unwrap(), ":1 :2");
        assert_eq!(names("{}").unwrap(), "");
        assert_eq!(names("{a=1"), None);
        assert_eq!(names("0x7ff"), None);
    }

    #[test]
    fn flags_are_whole_words() {
        let flags = ArgumentCursor::new(b"MSG_PEEK|MSG_DONTWAIT|0x4000, NULL)").read_flags();
        assert!(flags.has_flag("MSG_PEEK") && flags.has_flag("MSG_DONTWAIT"));
        assert!(!flags.has_flag("MSG_PEE") && !flags.has_flag("NULL"));
    }

    /// Bytes as strace prints them: the shortest form that can be read back, as in its manual.
    fn quoted(bytes: &[u8], hexadecimal: bool) -> String {
        let mut out = String::from("\"");
        for (at, byte) in bytes.iter().enumerate() {
            let digit_next = bytes.get(at + 1).is_some_and(u8::is_ascii_digit);
            match byte {
                _ if hexadecimal => out += &format!("\\x{byte:02x}"),
                b'"' | b'\\' => out.extend(['\\', char::from(*byte)]),
                b'\n' => out += "\\n",
                b'\t' => out += "\\t",
                0x20..0x7f => out.push(char::from(*byte)),
                _ if digit_next => out += &format!("\\{byte:03o}"),
                _ => out += &format!("\\{byte:o}"),
            }
        }
        out + "\""
    }

    proptest! {
        /// Arbitrary bytes come back from strace's notation, and the cursor is after them.
        #[test]
        fn texts_round_trip(bytes in prop::collection::vec(any::<u8>(), 0..200), hexadecimal: bool, cut: bool) {
            let printed = quoted(&bytes, hexadecimal) + if cut { "..., 7)" } else { ", 7)" };
            let mut cursor = ArgumentCursor::new(printed.as_bytes());
            let mut read = Vec::new();
            prop_assert_eq!(cursor.read_text(&mut read), Some(!cut));
            prop_assert_eq!(read, bytes);
            prop_assert_eq!(cursor.rest(), b", 7)");
            let mut over = ArgumentCursor::new(printed.as_bytes());
            prop_assert_eq!(over.next_argument(), Some(()));
            prop_assert_eq!(over.read_number(), Some(7));
        }

        /// Arbitrary bytes are accepted.
        #[test]
        fn arbitrary_input_does_not_panic(bytes in prop::collection::vec(prop::sample::select(b"\"\\[]{}(),<>=:/*-0x1aT. \n".to_vec()), 0..60)) {
            let mut cursor = ArgumentCursor::new(&bytes);
            let _ = cursor.skip_value();
            let _ = ArgumentCursor::new(&bytes).for_each_field(|_, mut value| { let _ = value.read_number(); });
            let _ = ArgumentCursor::new(&bytes).nth_argument(3);
            let _ = ArgumentCursor::new(&bytes).read_text(&mut Vec::new());
            let _ = ArgumentCursor::new(&bytes).read_flags().has_flag("a");
        }
    }
}
