//! The names of nodes, ports and protocols. The page has each name once and refers to it by its
//! number, as ten thousand patterns have the same few names.

use rustc_hash::FxHashMap;

/// The names by their numbers, in the order of first occurrence.
#[derive(Debug, Default)]
pub(super) struct PageNames {
    numbers: FxHashMap<String, u32>,
    names: Vec<String>,
}

impl PageNames {
    /// The number of `name`.
    pub(super) fn intern(&mut self, name: &str) -> u32 {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = self.names.len() as u32;
        self.numbers.insert(name.to_owned(), number);
        self.names.push(name.to_owned());
        number
    }

    /// The names as they are shown, in the order of their numbers.
    pub(super) fn shown_names(&self) -> Vec<String> {
        self.names.iter().map(|name| message_trace::units::to_printable(name)).collect()
    }
}
