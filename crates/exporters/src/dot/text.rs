//! Text shared by all graphs: their first lines, and quoting that makes Graphviz show any text
//! literally.

use std::io;

use message_trace::units::to_printable;

/// Writes the first lines of a graph.
pub(super) fn write_preamble(out: &mut dyn io::Write, label: &str) -> io::Result<()> {
    writeln!(out, "digraph sockcap {{")?;
    writeln!(
        out,
        "  graph [label={}, labelloc=t, fontname=\"sans-serif\"];",
        quote_lines(&[label])
    )?;
    writeln!(out, "  node [shape=ellipse, fontname=\"sans-serif\"];")?;
    writeln!(out, "  edge [fontname=\"sans-serif\", fontsize=10];")
}

/// Quotes lines as one text. Empty lines are left out.
pub(super) fn quote_lines(lines: &[&str]) -> String {
    let mut quoted = String::from("\"");
    for (index, line) in lines.iter().filter(|line| !line.is_empty()).enumerate() {
        if index > 0 {
            quoted.push_str("\\n");
        }
        for c in to_printable(line).chars() {
            match c {
                '"' => quoted.push_str("\\\""),
                '\\' => quoted.push_str("\\\\"),
                // Graphviz interprets HTML entities in texts.
                '&' => quoted.push_str("&amp;"),
                c => quoted.push(c),
            }
        }
    }
    quoted.push('"');
    quoted
}

/// The shape of a node: a diamond for an untraced node, as in WAP5.
pub(super) fn node_shape(traced: bool) -> &'static str {
    if traced { "ellipse" } else { "diamond" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The text that Graphviz reads from a quoted text, for the few escapes used here.
    fn read(quoted: &str) -> Option<String> {
        let inner = quoted.strip_prefix('"')?.strip_suffix('"')?;
        let (mut read, mut chars) = (String::new(), inner.chars());
        while let Some(c) = chars.next() {
            match c {
                '\\' => match chars.next()? {
                    'n' => read.push('\n'),
                    c @ ('"' | '\\') => read.push(c),
                    _ => return None,
                },
                '"' | '\n' => return None,
                c => read.push(c),
            }
        }
        Some(read.replace("&amp;", "&"))
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn a_quoted_text_is_read_back_unchanged(one in any::<String>(), other in "[\\\\\"nN&#;<>{}|\n]{0,9}") {
            let lines: Vec<String> = [one, other].iter().map(|line| to_printable(line)).filter(|line| !line.is_empty()).collect();
            let quoted = quote_lines(&lines.iter().map(String::as_str).collect::<Vec<_>>());
            prop_assert_eq!(read(&quoted), Some(lines.join("\n")), "{}", quoted);
        }
    }
}
