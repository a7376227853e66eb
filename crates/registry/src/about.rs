//! Help of an entry: the text of `--help` and of the manual page.

/// The name of an entry and its help.
#[derive(Clone, Copy, Debug)]
pub struct EntryHelp {
    /// The name on the command line: lower case, digits and hyphens.
    pub name: &'static str,
    /// Description of the entry in one line without a full stop, for lists.
    pub summary: &'static str,
    /// Further paragraphs of `--help`, above the flags; may be empty. Lines within a paragraph are
    /// joined with a space.
    pub details: &'static str,
    /// Paragraphs below the flags, laid out as in this text; may be empty.
    pub notes: &'static str,
    /// Command lines that work, one per line. A remark may follow after three spaces.
    pub examples: &'static [&'static str],
}

impl EntryHelp {
    /// An entry without any text, for struct updates:
    /// `EntryHelp { name, summary, ..EntryHelp::NOTHING }`.
    pub const NOTHING: EntryHelp =
        EntryHelp { name: "", summary: "", details: "", notes: "", examples: &[] };

    /// The notes and the examples, as they are shown below the flags.
    pub fn below_flags(&self) -> String {
        let examples = match self.examples {
            [] => String::new(),
            lines => format!("Examples:\n  {}", lines.join("\n  ")),
        };
        match (self.notes, examples.is_empty()) {
            ("", _) => examples,
            (notes, true) => notes.to_owned(),
            (notes, false) => format!("{notes}\n\n{examples}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_come_before_examples() {
        let about =
            EntryHelp { notes: "One.\nTwo.", examples: &["a b", "c"], ..EntryHelp::NOTHING };
        assert_eq!(about.below_flags(), "One.\nTwo.\n\nExamples:\n  a b\n  c");
        assert_eq!(EntryHelp { examples: &[], ..about }.below_flags(), "One.\nTwo.");
        assert_eq!(EntryHelp { notes: "", ..about }.below_flags(), "Examples:\n  a b\n  c");
        assert_eq!(EntryHelp::NOTHING.below_flags(), "");
    }
}
