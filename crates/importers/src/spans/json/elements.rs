//! Elements of JSON documents as texts, in sequence while the file is read. Brackets and quotes
//! determine where each element ends; the reader of an element parses its content.

use std::io::{self, Read};

use super::scan::{BYTE_ORDER_MARK, JsonScan};
use crate::spans::texts::{TextBatch, TextSource};
use crate::summary::FilePosition;
use crate::tuning::{MAX_ENCLOSING, MAX_TEXT_BYTES, READ_BUFFER_BYTES};

/// Elements of the documents in a file.
#[derive(Debug)]
pub(crate) struct JsonElements<R> {
    bytes: R,
    keys: &'static [&'static str],
    buffer: Vec<u8>,
    /// Index of the first byte of the buffer that has not been scanned.
    at: usize,
    line: u64,
    /// Nesting at the current position, from the outside.
    nesting: Vec<JsonNesting>,
    max_value_bytes: usize,
    /// Whether text that is not JSON is returned, too.
    with_damaged: bool,
    ended: bool,
    /// Read error that is not reported yet.
    error: Option<io::Error>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum JsonNesting {
    Object,
    Array,
}

/// How a value ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ValueEnd {
    /// The value is complete.
    Whole,
    /// The file ends before the value does.
    CutOff,
    /// The value exceeds the memory limit.
    TooLong,
}

impl<R: Read + Send> JsonElements<R> {
    /// Creates the elements of `bytes`, of arrays that are outermost or below one of `keys`.
    /// Without `keys`, an outermost object is an element.
    pub(crate) fn new(bytes: R, keys: &'static [&'static str]) -> JsonElements<R> {
        JsonElements {
            bytes,
            keys,
            buffer: Vec::new(),
            at: 0,
            line: 1,
            nesting: Vec::new(),
            max_value_bytes: MAX_TEXT_BYTES,
            with_damaged: false,
            ended: false,
            error: None,
        }
    }

    /// Also returns text that is not JSON, up to where a document can begin.
    pub(crate) fn with_damaged(self) -> JsonElements<R> {
        JsonElements { with_damaged: true, ..self }
    }

    /// Reads more bytes; returns whether there are any.
    fn fill_buffer(&mut self) -> bool {
        self.buffer.drain(..self.at);
        self.at = 0;
        if self.ended {
            return false;
        }
        let room = READ_BUFFER_BYTES as u64;
        match self.bytes.by_ref().take(room).read_to_end(&mut self.buffer) {
            Ok(0) => self.ended = true,
            Ok(_) => {}
            // The bytes before the error are scanned first.
            Err(error) => (self.ended, self.error) = (true, Some(error)),
        }
        !self.buffer.is_empty()
    }

    /// Bytes of the buffer that have not been scanned.
    fn unread_bytes(&self) -> &[u8] {
        self.buffer.get(self.at..).unwrap_or_default()
    }

    /// Next byte that is not white space.
    fn peek_byte(&mut self) -> Option<u8> {
        loop {
            let space =
                self.unread_bytes().iter().take_while(|byte| byte.is_ascii_whitespace()).count();
            self.skip_bytes(space);
            let byte = self.unread_bytes().first().copied();
            if byte.is_some() || !self.fill_buffer() {
                return byte;
            }
        }
    }

    /// Skips bytes of the buffer.
    fn skip_bytes(&mut self, length: usize) {
        let end = (self.at + length).min(self.buffer.len());
        let passed = self.buffer.get(self.at..end).unwrap_or_default();
        self.line += memchr::memchr_iter(b'\n', passed).count() as u64;
        self.at = end;
    }

    /// Takes the value that begins at the present position, and appends it to `into`.
    fn take_value(&mut self, mut into: Option<&mut Vec<u8>>) -> ValueEnd {
        let (mut scan, mut length) = (JsonScan::default(), 0);
        loop {
            let end = scan.find_end(self.unread_bytes());
            let taken = end.unwrap_or(self.unread_bytes().len());
            length += taken;
            if let Some(into) = into.as_mut().filter(|_| length <= self.max_value_bytes) {
                into.extend_from_slice(self.unread_bytes().get(..taken).unwrap_or_default());
            }
            self.skip_bytes(taken);
            let whole = end.is_some();
            if whole || !self.fill_buffer() {
                return match (length <= self.max_value_bytes, whole) {
                    (false, _) => ValueEnd::TooLong,
                    (true, true) => ValueEnd::Whole,
                    (true, false) => ValueEnd::CutOff,
                };
            }
        }
    }

    /// Leaves the current nesting, and continues where a document can begin: here, or at the next
    /// line that begins with one. Skipped bytes are appended to `into`.
    fn resume_after_damage(&mut self, mut into: Option<&mut Vec<u8>>) -> ValueEnd {
        self.nesting.clear();
        let mut is_begin = matches!(self.unread_bytes().first(), Some(b'{' | b'['));
        let mut length = 0;
        while !is_begin {
            let end = memchr::memchr(b'\n', self.unread_bytes());
            let passed = end.map_or(self.unread_bytes().len(), |end| end + 1);
            length += passed;
            if let Some(into) = into.as_mut().filter(|_| length <= self.max_value_bytes) {
                into.extend_from_slice(self.unread_bytes().get(..passed).unwrap_or_default());
            }
            self.skip_bytes(passed);
            if self.unread_bytes().is_empty() && !self.fill_buffer() {
                break;
            }
            is_begin = end.is_some() && matches!(self.unread_bytes().first(), Some(b'{' | b'['));
        }
        if length <= self.max_value_bytes { ValueEnd::Whole } else { ValueEnd::TooLong }
    }

    /// Advances by one element or less, and adds the result to `texts`. Returns whether there may
    /// be more.
    fn take_step(&mut self, texts: &mut TextBatch) -> bool {
        let Some(byte) = self.peek_byte() else {
            if !self.nesting.is_empty() {
                texts.add_fault(self.at(), "the document ends before its last bracket");
            }
            self.nesting.clear();
            return false;
        };
        match (self.nesting.last(), byte) {
            (None, b'{') if self.keys.is_empty() => self.take_element(texts),
            (None, b'{') | (Some(JsonNesting::Object), b'}') | (None, b'[') => {
                self.take_bracket(byte)
            }
            (Some(JsonNesting::Array), b']') => self.take_bracket(byte),
            (Some(_), b',') => self.skip_bytes(1),
            (Some(JsonNesting::Array), byte) if byte != b'}' && byte != b':' => {
                self.take_element(texts)
            }
            (Some(JsonNesting::Object), b'"') => self.take_member(texts),
            _ if self.line == 1 && self.unread_bytes().starts_with(BYTE_ORDER_MARK) => {
                self.skip_bytes(BYTE_ORDER_MARK.len());
            }
            _ => self.skip_damage(texts),
        }
        true
    }

    /// Takes a bracket: an outermost one, or the end of the current nesting.
    fn take_bracket(&mut self, byte: u8) {
        match byte {
            b'{' => self.nesting.push(JsonNesting::Object),
            b'[' => self.nesting.push(JsonNesting::Array),
            _ => drop(self.nesting.pop()),
        }
        self.skip_bytes(1);
    }

    /// Takes an element of an array into `texts`.
    fn take_element(&mut self, texts: &mut TextBatch) {
        let at = self.at();
        let end = texts.append_text(at, |bytes| self.take_value(Some(bytes)));
        match end {
            ValueEnd::Whole => {}
            // The element's reader finds that it ends too early.
            ValueEnd::CutOff => self.nesting.clear(),
            ValueEnd::TooLong => {
                texts.drop_last();
                texts.add_fault(at, "the element is longer than one can be");
            }
        }
    }

    /// Takes a member of an object. The value of a wanted key is entered, any other value is
    /// skipped.
    fn take_member(&mut self, texts: &mut TextBatch) {
        let mut key = Vec::new();
        if self.take_value(Some(&mut key)) != ValueEnd::Whole {
            return;
        }
        let key = key.strip_prefix(b"\"").and_then(|key| key.strip_suffix(b"\""));
        let wanted = self.keys.iter().any(|wanted| key == Some(wanted.as_bytes()));
        if self.peek_byte() != Some(b':') {
            return self.skip_damage(texts);
        }
        self.skip_bytes(1);
        match self.peek_byte() {
            Some(byte @ (b'{' | b'[')) if wanted && self.nesting.len() < MAX_ENCLOSING => {
                self.take_bracket(byte);
            }
            Some(b'}' | b']' | b',' | b':') => self.skip_damage(texts),
            Some(_) => drop(self.take_value(None)),
            None => {}
        }
    }

    /// Skips bytes that are invalid here, up to where a document can begin.
    fn skip_damage(&mut self, texts: &mut TextBatch) {
        let at = self.at();
        if self.with_damaged {
            // The invalid byte may be a bracket at which a document could begin.
            let whole = texts.append_text(at, |bytes| {
                bytes.extend(self.unread_bytes().first());
                self.skip_bytes(1);
                self.resume_after_damage(Some(bytes))
            });
            if whole == ValueEnd::Whole {
                return;
            }
            texts.drop_last();
        } else {
            self.resume_after_damage(None);
        }
        texts.add_fault(at, "this is not JSON");
    }
}

impl<R: Read + Send> TextSource for JsonElements<R> {
    fn next(&mut self) -> io::Result<Option<TextBatch>> {
        let mut texts = TextBatch::default();
        while self.take_step(&mut texts) {
            if texts.is_full() {
                return Ok(Some(texts));
            }
        }
        if !texts.is_empty() {
            return Ok(Some(texts));
        }
        self.error.take().map_or(Ok(None), Err)
    }

    fn at(&self) -> FilePosition {
        FilePosition::Line(self.line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;

    const KEYS: &[&str] = &["spans", "data"];

    /// Input that is read in pieces of the given number of bytes.
    struct Pieces<'a>(&'a [u8], usize);

    impl Read for Pieces<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let length = self.1.min(self.0.len()).min(buffer.len());
            buffer[..length].copy_from_slice(&self.0[..length]);
            self.0 = &self.0[length..];
            Ok(length)
        }
    }

    fn number(at: FilePosition) -> u64 {
        let FilePosition::Line(number) = at else { panic!("{at:?}") };
        number
    }

    type Part = (u64, Result<String, &'static str>);

    fn parts(mut elements: JsonElements<Pieces<'_>>) -> Vec<Part> {
        let mut all = Vec::new();
        while let Some(texts) = elements.next().unwrap() {
            all.extend(texts.iter().map(|text| match text {
                Ok(text) => (number(text.at), Ok(String::from_utf8_lossy(text.bytes).into_owned())),
                Err((at, fault)) => (number(at), Err(fault)),
            }));
        }
        all
    }

    fn parts_of_text(text: &str, piece: usize) -> Vec<Part> {
        parts(JsonElements::new(Pieces(text.as_bytes(), piece), KEYS))
    }

    fn whole(line: u64, text: &str) -> Part {
        (line, Ok(text.to_owned()))
    }

    #[test]
    fn elements_are_found_in_all_layouts() {
        let pretty =
            "\n{\n  \"total\": [1],\n  \"spans\": [\n    {\n \"a\": 1 },\n    {}\n  ]\n}\n";
        for (text, expected) in [
            (
                "[{\"a\": 1}, [2], \"x\", 3]",
                vec![(1, "{\"a\": 1}"), (1, "[2]"), (1, "\"x\""), (1, "3")],
            ),
            (pretty, vec![(5, "{\n \"a\": 1 }"), (7, "{}")]),
            (
                "{\"data\": {\"x\": [0], \"spans\": [1]}}\n{\"spans\": [2]}",
                vec![(1, "1"), (2, "2")],
            ),
            ("\u{feff}[1]", vec![(1, "1")]),
            ("{\"other\": {\"spans\": [1]}, \"spans\": 2, \"data\": []}", vec![]),
        ] {
            let expected: Vec<Part> =
                expected.into_iter().map(|(line, text)| whole(line, text)).collect();
            for piece in [1, 2, 7, usize::MAX] {
                assert_eq!(parts_of_text(text, piece), expected, "{text}");
            }
        }
    }

    #[test]
    fn damage_skips_only_the_damaged_part() {
        let next = "{\"spans\": [9]}";
        for (text, expected) in [
            // The file ends in an element, between elements, in a key.
            ("[1, {\"a\": ", vec![whole(1, "1"), whole(1, "{\"a\": ")]),
            ("[1, ", vec![whole(1, "1"), (1, Err("the document ends before its last bracket"))]),
            ("{\"spa", vec![(1, Err("the document ends before its last bracket"))]),
            // Text that is not JSON, and then a document.
            (
                &format!("{{\"spans\": [1], x\n y\n{next}"),
                vec![whole(1, "1"), (1, Err("this is not JSON")), whole(3, "9")],
            ),
            (
                &format!("{{\"spans\": [1],\n{next}"),
                vec![whole(1, "1"), (2, Err("this is not JSON")), whole(2, "9")],
            ),
            (&format!("{{\"spans\"}}\n{next}"), vec![(1, Err("this is not JSON")), whole(2, "9")]),
            (
                &format!("[1}}\n{next}"),
                vec![whole(1, "1"), (1, Err("this is not JSON")), whole(2, "9")],
            ),
        ] {
            for piece in [1, 3, usize::MAX] {
                assert_eq!(parts_of_text(text, piece), expected, "{text}");
            }
        }
    }

    #[test]
    fn other_text_is_returned_on_request() {
        let text = "[1}, {\"a\": 2},\n {\"a\": 3}]\n{\"spans\": [9]}";
        for piece in [1, 3, usize::MAX] {
            let elements = JsonElements::new(Pieces(text.as_bytes(), piece), KEYS).with_damaged();
            let rest = "}, {\"a\": 2},\n {\"a\": 3}]\n";
            assert_eq!(parts(elements), [whole(1, "1"), whole(1, rest), whole(3, "9")]);
        }
    }

    #[test]
    fn without_keys_an_object_is_an_element() {
        for piece in [1, 7, usize::MAX] {
            let elements = JsonElements::new(Pieces(b"{\"a\": [1]}\n[[2], {}]", piece), &[]);
            assert_eq!(
                parts(elements),
                [whole(1, "{\"a\": [1]}"), whole(2, "[2]"), whole(2, "{}")]
            );
        }
    }

    #[test]
    fn an_endless_element_is_skipped() {
        let text = format!("[1, \"{}\", 3]", "x".repeat(3000));
        let read = |max_value_bytes| {
            parts(JsonElements {
                max_value_bytes,
                ..JsonElements::new(Pieces(text.as_bytes(), 777), KEYS)
            })
        };
        assert_eq!(read(4000).len(), 3);
        let fault = "the element is longer than one can be";
        assert_eq!(read(1000), [whole(1, "1"), (1, Err(fault)), whole(1, "3")]);
    }

    #[test]
    fn text_before_an_error_is_returned_first() {
        struct Torn<'a>(&'a [u8]);
        impl Read for Torn<'_> {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                if self.0.is_empty() { Err(io::Error::other("torn")) } else { self.0.read(buffer) }
            }
        }
        let mut elements = JsonElements::new(Torn(b"[1, 2, {\"a"), KEYS);
        assert_eq!(elements.next().unwrap().unwrap().iter().count(), 3);
        assert_eq!(elements.next().unwrap_err().to_string(), "torn");
        assert!(elements.next().unwrap().is_none());
    }

    fn json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<i32>().prop_map(Value::from),
            "[a{\\[\"\\\\\n ]{0,6}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 30, 4, |inner| {
            let members = proptest::collection::btree_map("[a\"}]{0,3}", inner.clone(), 0..4);
            prop_oneof![
                proptest::collection::vec(inner, 0..4).prop_map(Value::from),
                members.prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn arbitrary_elements_round_trip(
            elements in proptest::collection::vec(json(), 0..5),
            other in json(),
            pretty in any::<bool>(),
            piece in 1usize..40,
        ) {
            let document = serde_json::json!({ "a": other, "spans": elements, "z": other });
            for document in [document, Value::from(elements.clone())] {
                let text = match pretty {
                    true => serde_json::to_string_pretty(&document).unwrap(),
                    false => document.to_string(),
                };
                // The document twice, in sequence.
                let read: Vec<Value> = parts_of_text(&format!("{text}\n{text}"), piece)
                    .into_iter().map(|(_, text)| serde_json::from_str(&text.unwrap()).unwrap()).collect();
                prop_assert_eq!(read, [elements.clone(), elements.clone()].concat());
            }
        }
    }
}
