//! Offsets of goroutine fields in Go's runtime, by version. The files record them only in debug
//! information (DWARF), which may be stripped, so this is a table.

use serde::{Deserialize, Serialize};

/// Offsets of fields of the runtime's structures, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GoroutineFields {
    /// In a goroutine (`g`), its id (`goid`).
    pub number: u64,
    /// In a goroutine, the id of the goroutine that started it (`parentGoid`).
    pub creator: u64,
    /// In a goroutine, the address of the thread (`m`) that runs it.
    pub thread: u64,
    /// In a thread, the address of the goroutine that it runs (`curg`).
    pub current: u64,
}

impl GoroutineFields {
    /// Whether structures of the runtime are large enough for these offsets.
    pub(crate) fn are_possible(self) -> bool {
        [self.number, self.creator, self.thread, self.current].iter().all(|field| *field < 4096)
    }
}

/// Fields of a version as in `.go.buildinfo` (`go1.27.3`). `None` if they are not known: for future
/// versions, pre-releases, and builds with experiments.
pub(crate) fn fields_of_version(version: &str) -> Option<GoroutineFields> {
    let mut parts = version.strip_prefix("go1.")?.split('.');
    let number = |part: &str| {
        let digits = part.bytes().all(|byte| byte.is_ascii_digit());
        if digits { part.parse::<u32>().ok() } else { None }
    };
    let minor = number(parts.next()?)?;
    if parts.next().is_some_and(|patch| number(patch).is_none()) || parts.next().is_some() {
        return None;
    }
    let (number, creator, current) = match minor {
        21..=22 => (152, 272, 192),
        23..=24 => (160, 280, 192),
        25 => (152, 272, 184),
        26..=27 => (152, 280, 184),
        _ => return None,
    };
    Some(GoroutineFields { number, creator, thread: 48, current })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_releases_are_known() {
        let number = |version| fields_of_version(version).map(|fields| fields.number);
        assert_eq!(number("go1.21"), Some(152));
        assert_eq!(number("go1.24.11"), Some(160));
        assert_eq!(fields_of_version("go1.27.3").map(|fields| fields.creator), Some(280));
        for unknown in [
            "go1.20.14",
            "go1.28",
            "go1.27rc1",
            "go1.26.",
            "go1.26.1.2",
            "go2.21",
            "devel",
            "go1.25.5 X:boringcrypto",
            "go1.24.1-other",
            "go1.",
        ] {
            assert_eq!(fields_of_version(unknown), None, "{unknown}");
        }
    }
}
