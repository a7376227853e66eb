//! The names of nodes, ports and protocols, each said once: ten thousand patterns have the same few
//! over and over.

use rustc_hash::FxHashMap;

/// Names by number, in the order in which they were met.
#[derive(Debug, Default)]
pub(super) struct Names {
    numbers: FxHashMap<String, u32>,
    names: Vec<String>,
}

impl Names {
    /// The number of `name`.
    pub(super) fn number(&mut self, name: &str) -> u32 {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = self.names.len() as u32;
        self.numbers.insert(name.to_owned(), number);
        self.names.push(name.to_owned());
        number
    }

    /// The names as they are shown, by number.
    pub(super) fn shown(&self) -> Vec<String> {
        self.names.iter().map(|name| message_trace::units::printable(name)).collect()
    }
}
