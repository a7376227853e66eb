//! The registry of exporters. To add one: write its file with its [`ExporterSpec`] and its code,
//! and add its `mod` line and one line here. Help, completions, manual page and configuration keys
//! follow.

use crate::exporter_spec::ExporterSpec;
use crate::{chrome, dot, folded, mermaid, otlp, perfetto, tables};

/// All exporters, in the order of help.
pub static EXPORTERS: &[&ExporterSpec] = &[
    &tables::MESSAGES,
    &tables::NODES,
    &tables::OPERATIONS,
    &tables::CALLS,
    &tables::LINKS,
    &tables::PATHS,
    &tables::PATTERNS,
    &tables::REQUESTS,
    &tables::STEPS,
    &tables::EVENTS,
    &otlp::OTLP,
    &perfetto::PERFETTO,
    &chrome::CHROME,
    &folded::FOLDED,
    &dot::DOT,
    &mermaid::MERMAID,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_complete() {
        assert_eq!(registry::registry_faults(EXPORTERS), Vec::<String>::new());
        for flag in registry::union_of_flags(EXPORTERS) {
            assert!(
                flag.get_default_values().is_empty(),
                "{}: it would be of all exporters",
                flag.get_id()
            );
        }
    }
}
