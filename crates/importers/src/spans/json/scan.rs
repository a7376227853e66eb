//! Scan for the end of a JSON value by its brackets and quotes alone.

/// Byte-order mark that some programs write at the beginning of a text.
pub(super) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// State of a scan. The bytes of a value may come in several parts.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::spans) struct JsonScan {
    depth: usize,
    in_text: bool,
    /// Whether the last byte was a backslash in a text.
    escaped: bool,
    in_scalar: bool,
}

impl JsonScan {
    /// Finds the end of the value in `bytes`, which continue the previous ones; `None` if it does
    /// not end there. A number or a word ends before the first byte that cannot belong to it.
    pub(in crate::spans) fn find_end(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut at = 0;
        while let Some(byte) = bytes.get(at) {
            if self.escaped {
                self.escaped = false;
                at += 1;
                continue;
            }
            if self.in_text {
                let rest = bytes.get(at..).unwrap_or_default();
                at += memchr::memchr2(b'"', b'\\', rest)? + 1;
                if bytes.get(at - 1) == Some(&b'\\') {
                    self.escaped = true;
                    continue;
                }
                self.in_text = false;
                if self.depth == 0 {
                    return Some(at);
                }
                continue;
            }
            match byte {
                b'"' | b'{' | b'[' | b'}' | b']' | b',' | b':' if self.in_scalar => {
                    return Some(at);
                }
                b'"' => self.in_text = true,
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth == 0 {
                        return Some(at + 1);
                    }
                }
                _ if self.depth > 0 => {}
                b' ' | b'\t' | b'\r' | b'\n' if self.in_scalar => return Some(at),
                _ => self.in_scalar = true,
            }
            at += 1;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_ends_with_its_last_bracket_however_it_is_divided() {
        for (value, rest) in [
            (r#"{"a": [1, {"b": "}]\"\\"}], "c": {}}"#, r#", {"#),
            (r#"[["\\", "\u005d"], []]"#, "]"),
            (r#""a \" b""#, ","),
            ("12.5e3", ", 1"),
            ("true", "]"),
            ("null", "\n}"),
        ] {
            let text = format!("{value}{rest}");
            assert_eq!(JsonScan::default().find_end(text.as_bytes()), Some(value.len()), "{value}");
            for cut in 0..value.len() {
                let mut scan = JsonScan::default();
                let (first, second) = text.as_bytes().split_at(cut);
                assert_eq!(scan.find_end(first), None, "{value} {cut}");
                assert_eq!(scan.find_end(second), Some(value.len() - cut), "{value} {cut}");
            }
        }
    }
}
