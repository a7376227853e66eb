//! Advice for programs that were not recorded, by the cause.

use socket_log::layout::unseen;

/// Advice for `cause`, as the end of a sentence; none if nothing is known to help.
pub(crate) fn way_out(cause: &str) -> Option<&'static str> {
    let number = unseen::NAMES.iter().position(|name| !name.is_empty() && *name == cause)?;
    match number as u16 {
        unseen::STATIC | unseen::GO => Some(
            "record with --inject (x86-64), or run it under strace, then 'sockcap import strace'",
        ),
        unseen::MACHINE | unseen::FILTER => {
            Some("run it under strace, then 'sockcap import strace'")
        }
        // A program that gives its rights up and executes itself to have them again (a mail server)
        // does so whoever records it; strace as root leaves it its rights.
        unseen::RIGHTS => Some(
            "run the command as root under strace, as 'sockcap import strace --help' says, and \
             import what it writes; to record as root helps only where what begins it is root's \
             then",
        ),
        unseen::DIRECTORY => Some("let its user write to the data directory, or record as root"),
        unseen::LIBRARY => Some("put libsockcap.so where it can open it, see docs/chroot.md"),
        _ => None,
    }
}

/// `text` with the advice for `cause`.
pub(crate) fn with_way_out(text: String, cause: &str) -> String {
    match way_out(cause) {
        Some(way_out) => format!("{text}; {way_out}"),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cause_has_a_way_out() {
        for cause in unseen::NAMES.iter().skip(1) {
            assert!(way_out(cause).is_some(), "{cause}");
        }
        assert_eq!(way_out(""), None);
        assert_eq!(way_out("sunspots"), None);
    }
}
