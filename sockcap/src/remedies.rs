//! Advice for programs that were not recorded, and for activities of others that were not captured,
//! by the cause.

use reconcile::uncaptured::UncapturedKind;
use socket_log::layout::unseen;

/// Advice for `cause`, as the end of a sentence; `None` if no remedy is known.
pub(crate) fn remedy_for(cause: &str) -> Option<&'static str> {
    let number = unseen::NAMES.iter().position(|name| !name.is_empty() && *name == cause)?;
    match number as u16 {
        unseen::STATIC | unseen::GO => Some(
            "record with --inject (x86-64), or run it under strace, then 'sockcap import strace'",
        ),
        unseen::MACHINE | unseen::FILTER => {
            Some("run it under strace, then 'sockcap import strace'")
        }
        unseen::NOT_PUT => Some(
            "a warning at the end of 'sockcap record' shows the reason; without one, sockcap had \
             ended, was stopped, or took longer than 3 seconds to answer",
        ),
        // A program that gives up its rights and executes itself to regain them (a mail server)
        // does so whether it is recorded or not; strace as root preserves its rights.
        unseen::RIGHTS => Some(
            "run the command as root under strace, see 'sockcap import strace --help', and import \
             its output; recording as root helps only if the program that starts it runs as root \
             then",
        ),
        unseen::DIRECTORY => Some("let its user write to the data directory, or record as root"),
        unseen::LIBRARY => Some("put libsockcap.so where it can open it, see docs/chroot.md"),
        _ => None,
    }
}

/// Advice for activities of recorded programs that are not captured; `None` if nothing is missing,
/// or no remedy is known.
pub(crate) fn remedy_for_uncaptured(kind: UncapturedKind) -> Option<&'static str> {
    match kind {
        // Packets of other protocols than TCP and UDP are not imported either.
        UncapturedKind::Socket | UncapturedKind::KernelSocket => None,
        UncapturedKind::Ring => Some(
            "io_uring transfers bytes without calls; turn it off in the program, if possible, or \
             capture its packets, then 'sockcap import pcap'",
        ),
        UncapturedKind::PastLibc => Some(
            "system calls past libc are not recorded; run it under strace, then 'sockcap import \
             strace'",
        ),
        UncapturedKind::Tasks => Some(
            "the log does not have the task of each call, so calls for concurrent requests are \
             inferred; see docs/capture.md for the versions whose tasks are followed",
        ),
        UncapturedKind::LeftOutTasks => Some("record without --no-runtimes to follow them"),
    }
}

/// `text` with the advice for `cause`.
pub(crate) fn with_remedy(text: String, cause: &str) -> String {
    with_advice(text, remedy_for(cause))
}

/// `text` followed by the advice, if there is some.
pub(crate) fn with_advice(text: String, advice: Option<&str>) -> String {
    match advice {
        Some(advice) => format!("{text}; {advice}"),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cause_has_a_remedy() {
        for cause in unseen::NAMES.iter().skip(1) {
            assert!(remedy_for(cause).is_some(), "{cause}");
        }
        assert_eq!(remedy_for(""), None);
        assert_eq!(remedy_for("sunspots"), None);
    }
}
