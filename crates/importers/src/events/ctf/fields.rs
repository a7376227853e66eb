//! Fields in babeltrace2's text format: `{ name = value, name = { ... } }`. Values are numbers,
//! quoted texts, enumerations `( "NAME" : container = 1 )`, lists and structures.

use std::borrow::Cow;

use crate::events::value::{ParsedValue, parse_value};

/// Bytes that have not been parsed yet.
pub(super) struct CtfFields<'t>(pub(super) &'t [u8]);

impl<'t> CtfFields<'t> {
    /// Skips separators between fields, and the braces of structures: their fields are treated as
    /// fields of the outer structure.
    fn skip_separators(&mut self) {
        let is = |byte: &u8| matches!(byte, b' ' | b',' | b'{' | b'}');
        let length = self.0.iter().take_while(|byte| is(byte)).count();
        self.0 = self.0.get(length..).unwrap_or_default();
    }

    /// Parses the next field: its name and value.
    pub(super) fn next_field(&mut self) -> Option<(&'t [u8], ParsedValue<'t>)> {
        loop {
            self.skip_separators();
            let sign = memchr::memmem::find(self.0, b" = ")?;
            let (name, rest) = (self.0.get(..sign)?, self.0.get(sign + 3..)?);
            self.0 = rest;
            // A structure: its fields follow.
            if self.0.starts_with(b"{") {
                continue;
            }
            let name = name.rsplit(|byte| matches!(byte, b',' | b' ')).next().unwrap_or(name);
            return Some((name, self.read_value(name)));
        }
    }

    /// Parses the value of the field `name`, which begins at the first byte.
    fn read_value(&mut self, name: &[u8]) -> ParsedValue<'t> {
        match self.0.first() {
            Some(b'"') => ParsedValue::Text(self.read_quoted()),
            // An enumeration: its label is the value or, if no label is quoted, all of its text.
            Some(b'(') => {
                let all = self.read_enclosed(b'(', b')');
                let inner = all.get(1..).unwrap_or_default().trim_ascii();
                if inner.starts_with(b"\"") {
                    ParsedValue::Text(CtfFields(inner).read_quoted())
                } else {
                    ParsedValue::Text(String::from_utf8_lossy(all))
                }
            }
            Some(b'[') => {
                ParsedValue::Text(String::from_utf8_lossy(self.read_enclosed(b'[', b']')))
            }
            _ => {
                let is_end = |byte: &u8| matches!(byte, b',' | b'}');
                let end = self.0.iter().position(is_end).unwrap_or(self.0.len());
                let (text, rest) = self.0.split_at(end);
                self.0 = rest;
                parse_value(name, text.trim_ascii())
            }
        }
    }

    /// Parses a quoted text.
    fn read_quoted(&mut self) -> Cow<'t, str> {
        let (mut end, mut escaped, mut has_escapes) = (1, false, false);
        while let Some(byte) = self.0.get(end) {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => (escaped, has_escapes) = (true, true),
                b'"' => break,
                _ => {}
            }
            end += 1;
        }
        let text = self.0.get(1..end.min(self.0.len())).unwrap_or_default();
        self.0 = self.0.get(end + 1..).unwrap_or_default();
        let text = String::from_utf8_lossy(text);
        if !has_escapes {
            return text;
        }
        let mut plain = String::with_capacity(text.len());
        let mut letters = text.chars();
        while let Some(letter) = letters.next() {
            plain.extend(match letter {
                '\\' => match letters.next() {
                    Some('n') => Some('\n'),
                    Some('t') => Some('\t'),
                    other => other,
                },
                letter => Some(letter),
            });
        }
        Cow::Owned(plain)
    }

    /// Takes the text between two brackets, including them.
    fn read_enclosed(&mut self, open: u8, close: u8) -> &'t [u8] {
        let (mut depth, mut end) = (0_usize, 0);
        let (mut quoted, mut escaped) = (false, false);
        for byte in self.0 {
            end += 1;
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => quoted = !quoted,
                _ if quoted => {}
                byte if *byte == open => depth += 1,
                byte if *byte == close => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 {
                break;
            }
        }
        let (text, rest) = self.0.split_at(end);
        self.0 = rest;
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_each_kind() {
        let text = br#"{ a = 1, b = "x, y = \"z\"", c = ( "ON" : container = 1 ), d = [ [0] = 1, [1] = 2 ], e = { f = -2, g = 0x10 }, h = 1.5 }"#;
        let mut fields = CtfFields(text);
        let read: Vec<String> = std::iter::from_fn(|| fields.next_field())
            .map(|(name, value)| {
                format!("{}={:?}", String::from_utf8_lossy(name), value.as_value())
            })
            .collect();
        assert_eq!(
            read,
            [
                "a=Int(1)",
                "b=Text(\"x, y = \\\"z\\\"\")",
                "c=Text(\"ON\")",
                "d=Text(\"[ [0] = 1, [1] = 2 ]\")",
                "f=Int(-2)",
                "g=Int(16)",
                "h=Real(1.5)"
            ]
        );
    }
}
