//! Tracepoint format: name, fields, and how each is printed.

use super::print::{self, FieldPrinting};

/// Format of a tracepoint.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::events::perf) struct TracepointFormat {
    /// Kind of the events, `provider/name`.
    pub(in crate::events::perf) kind: String,
    /// Fields, without the common ones of all tracepoints.
    pub(in crate::events::perf) fields: Vec<TracepointField>,
}

/// Field of a tracepoint.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::events::perf) struct TracepointField {
    /// Name by which perf prints the field, or its own name.
    pub(in crate::events::perf) name: String,
    /// Offset in bytes from the beginning of the event.
    pub(in crate::events::perf) offset: usize,
    /// Size of the field in bytes.
    pub(in crate::events::perf) size: usize,
    pub(in crate::events::perf) encoding: FieldEncoding,
}

/// How the bytes of a field become a value.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::events::perf) enum FieldEncoding {
    /// A whole number, possibly signed.
    Int { signed: bool },
    /// A text in the bytes themselves.
    Text,
    /// A text elsewhere in the event; `relative` if its offset counts from the end of the field.
    TextElsewhere { relative: bool },
    /// An IP address.
    Address,
    /// A number with a name for each value.
    Symbol(Vec<(i64, String)>),
    /// A number with a name for each bit, and the separator between names.
    Flags(Vec<(i64, String)>, String),
    /// State of a task that leaves a processor.
    TaskState,
    /// Bytes without a known meaning.
    Bytes,
}

impl TracepointFormat {
    /// Parses a format in the kernel's syntax; returns it with its id.
    pub(in crate::events::perf) fn parse_format(
        system: &[u8],
        text: &[u8],
    ) -> Option<(u16, TracepointFormat)> {
        let (system, text) = (String::from_utf8_lossy(system), String::from_utf8_lossy(text));
        let (mut name, mut id, mut fields) = (None, None, Vec::new());
        let mut printed = Vec::new();
        for line in text.lines() {
            if let Some(text) = line.strip_prefix("name: ") {
                name = Some(text.trim());
            } else if let Some(text) = line.strip_prefix("ID: ") {
                id = text.trim().parse().ok();
            } else if let Some(text) = line.strip_prefix("print fmt: ") {
                printed = print::parse_printing(text);
            } else if line.trim_start().starts_with("field:") {
                fields.extend(parse_field(line));
            }
        }
        fields.retain(|field| !field.name.starts_with("common_"));
        for field in &mut fields {
            if let Some(known) = printed.iter().find(|known| known.field == field.name) {
                field.print_as(known);
            }
        }
        let kind = format!("{system}/{}", name?);
        if kind == "sched/sched_switch" {
            let states = fields.iter_mut().filter(|field| field.name == "prev_state");
            states.for_each(|state| state.encoding = FieldEncoding::TaskState);
        }
        Some((id?, TracepointFormat { kind, fields }))
    }
}

impl TracepointField {
    fn print_as(&mut self, known: &FieldPrinting) {
        if let Some(name) = &known.name {
            self.name.clone_from(name);
        }
        let is_int = matches!(self.encoding, FieldEncoding::Int { .. });
        match (&known.table, known.is_address) {
            (Some((table, None)), _) if is_int => {
                self.encoding = FieldEncoding::Symbol(table.clone())
            }
            (Some((table, Some(between))), _) if is_int => {
                self.encoding = FieldEncoding::Flags(table.clone(), between.clone());
            }
            (_, true) if self.encoding == FieldEncoding::Bytes => {
                self.encoding = FieldEncoding::Address
            }
            _ => {}
        }
    }
}

/// Parses a field from its line of tab-separated parts: `field:char comm[16];`, `offset:8;`,
/// `size:16;` and `signed:0;`.
fn parse_field(line: &str) -> Option<TracepointField> {
    let mut parts = line.trim().split(';').map(str::trim);
    let declared = parts.next()?.strip_prefix("field:")?;
    let mut number = |name: &str| parts.next()?.strip_prefix(name)?.parse::<usize>().ok();
    let (offset, size) = (number("offset:")?, number("size:")?);
    let signed = number("signed:").unwrap_or(0) != 0;
    let elsewhere = ["__data_loc ", "__rel_loc "].map(|word| declared.starts_with(word));
    let is_char = declared.contains("char");
    let (declared, is_array) = match declared.split_once('[') {
        // If the array is elsewhere, the name follows the brackets: `char[] name`.
        Some((_, rest)) if elsewhere.contains(&true) => (rest, true),
        Some((before, _)) => (before, true),
        None => (declared, false),
    };
    let name = declared.rsplit([' ', '*', ']']).next()?.trim();
    let encoding = match (elsewhere, is_array) {
        ([false, false], false) if matches!(size, 1 | 2 | 4 | 8) => FieldEncoding::Int { signed },
        ([false, false], _) if is_char && is_array => FieldEncoding::Text,
        ([false, false], _) => FieldEncoding::Bytes,
        ([_, relative], _) if is_char => FieldEncoding::TextElsewhere { relative },
        _ => FieldEncoding::Bytes,
    };
    Some(TracepointField { name: name.to_owned(), offset, size, encoding })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_is_read_with_its_print_part() {
        let text = "name: inet_sock_set_state\nID: 2287\nformat:\n\
            \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n\
            \tfield:const void * skaddr;\toffset:8;\tsize:8;\tsigned:0;\n\
            \tfield:int oldstate;\toffset:16;\tsize:4;\tsigned:1;\n\
            \tfield:__u8 saddr_v6[16];\toffset:40;\tsize:16;\tsigned:0;\n\
            \tfield:__data_loc char[] name;\toffset:56;\tsize:4;\tsigned:0;\n\
            \tfield:char comm[16];\toffset:60;\tsize:16;\tsigned:0;\n\n\
            print fmt: \"dev=%s saddrv6=%pI6c oldstate=%s\", __get_str(name), REC->saddr_v6, \
            __print_symbolic(REC->oldstate, { 1, \"TCP_ESTABLISHED\" }, { 0x2, \"TCP, \\\"x\" })";
        let (id, format) = TracepointFormat::parse_format(b"sock", text.as_bytes()).unwrap();
        assert_eq!((id, format.kind.as_str()), (2287, "sock/inet_sock_set_state"));
        let symbols = vec![(1, "TCP_ESTABLISHED".to_owned()), (2, "TCP, \"x".to_owned())];
        let expected = [
            ("skaddr", 8, 8, FieldEncoding::Int { signed: false }),
            ("oldstate", 16, 4, FieldEncoding::Symbol(symbols)),
            ("saddrv6", 40, 16, FieldEncoding::Address),
            ("dev", 56, 4, FieldEncoding::TextElsewhere { relative: false }),
            ("comm", 60, 16, FieldEncoding::Text),
        ];
        let expected = expected.map(|(name, offset, size, encoding)| TracepointField {
            name: name.to_owned(),
            offset,
            size,
            encoding,
        });
        assert_eq!(format.fields, expected);
    }
}
