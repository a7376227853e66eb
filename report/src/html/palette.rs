//! Colours of nodes: one for each name, the same wherever it occurs on the page.

use std::collections::HashMap;

use analyze::paths::PathPattern;

/// How many colours the style sheet knows.
const COLORS: usize = 10;

/// Which node has which colour.
#[derive(Debug, Default)]
pub(super) struct Palette {
    colors: HashMap<String, usize>,
}

impl Palette {
    /// Gives out colours in the order of `patterns`, so that the nodes at the top differ most.
    pub(super) fn of(patterns: &[&PathPattern]) -> Palette {
        let mut palette = Palette::default();
        for hop in patterns.iter().flat_map(|pattern| &pattern.hops) {
            for (name, traced) in [(&hop.src, hop.src_traced), (&hop.dst, hop.dst_traced)] {
                if traced && !palette.colors.contains_key(name) {
                    palette.colors.insert(name.clone(), palette.colors.len() % COLORS);
                }
            }
        }
        palette
    }

    /// The class of the style sheet for the node `name`.
    pub(super) fn class(&self, name: &str) -> String {
        self.colors.get(name).map_or_else(|| "c-none".to_owned(), |color| format!("c{color}"))
    }
}
