//! The stage of messages: makes messages from logs and imports, including messages that a process
//! sends to itself if its threads are nodes.

use message_trace::{DataDir, NodeGrain};
use reconcile::{InternalMessages, Options, Reconciliation};

use super::spans;
use crate::error::CommandError;
use crate::output::print_message;
use crate::own_logs::{self, OwnLogs};
use crate::progress::TerminalProgress;
use crate::tidy;

/// Makes the messages, unless they exist and are as new as the logs and imports. With a `grain`,
/// they are also made again if they were made for nodes of another grain and that matters.
pub(crate) fn ensure_messages_of_logs(
    data: &DataDir,
    grain: Option<NodeGrain>,
) -> Result<(), CommandError> {
    // The user named the directory of spans itself.
    if data.causes_path().exists() {
        return spans::messages_of_spans(data);
    }
    own_logs::print_skipped(data)?;
    tidy::tidy_logs(data, &OwnLogs::of_user(data, false));
    let logs = data.log_paths()?;
    let newest_log = logs.iter().filter_map(DataDir::modified_time).max();
    let newest = newest_log.max(data.imports_modified()?);
    let messages =
        DataDir::modified_time(&data.messages_path()).filter(|_| data.nodes_path().exists());
    let last = Reconciliation::read(data).ok();
    let is_outgrown = || last.as_ref().is_none_or(|last| last.is_outdated(data));
    let is_current = match (newest, messages) {
        // The trace itself was put here.
        (None, Some(_)) => true,
        (Some(newest), Some(messages)) => newest < messages && !is_outgrown(),
        (_, None) => false,
    };
    let options = match (is_current, last, grain) {
        (true, Some(last), Some(grain)) => match options_for_grain(&last, grain) {
            Some(_) if logs.len() as u64 != last.logs => {
                print_message(&format!(
                    "messages between threads of a process do not match the current nodes: of {} \
                     logs, only {} are left to read them from",
                    last.logs,
                    logs.len()
                ));
                None
            }
            options => options,
        },
        (true, ..) => None,
        (false, last, grain) => Some(Options {
            internal: grain.map_or_else(|| last_internal(last.as_ref()), wanted_internal),
            ..Options::default()
        }),
    };
    options.map_or(Ok(()), |options| run_reconcile(data, &options).map(|_| ()))
}

/// Runs reconcile.
pub(crate) fn run_reconcile(
    data: &DataDir,
    options: &Options,
) -> Result<Reconciliation, CommandError> {
    if data.log_paths()?.is_empty() && data.imported_messages()?.is_empty() {
        return Err(CommandError::NoLogs(data.path().to_owned()));
    }
    Ok(reconcile::reconcile(data, options, &TerminalProgress::new())?)
}

/// Which messages that a process sends to itself an analysis with nodes of that grain uses.
fn wanted_internal(grain: NodeGrain) -> InternalMessages {
    match grain {
        NodeGrain::Thread => InternalMessages::BetweenThreads,
        NodeGrain::Host | NodeGrain::Process | NodeGrain::Command => InternalMessages::LeftOut,
    }
}

/// Which messages that a process sends to itself are in the trace now, so that the messages are
/// made again in the same way. A user's choice to keep them holds only once.
fn last_internal(last: Option<&Reconciliation>) -> InternalMessages {
    match last.and_then(|last| last.settings).map(|settings| settings.internal) {
        Some(InternalMessages::BetweenThreads) => InternalMessages::BetweenThreads,
        _ => InternalMessages::LeftOut,
    }
}

/// Options to make messages for nodes of the grain `grain`, otherwise those of the last
/// reconciliation; `None` if the messages of `last` suffice.
fn options_for_grain(last: &Reconciliation, grain: NodeGrain) -> Option<Options> {
    let (is, wanted) = match last.settings {
        Some(settings) => (settings.internal, wanted_internal(grain)),
        None => (InternalMessages::LeftOut, wanted_internal(grain)),
    };
    // A version that did not record its options did not count messages between threads either.
    let between_threads = match last.settings {
        Some(_) => last.internal.between_threads.messages,
        None => last.internal.messages,
    };
    if is == wanted || is == InternalMessages::Kept || between_threads == 0 {
        return None;
    }
    let default = Options::default();
    Some(Options {
        internal: wanted,
        fat_gap: last.settings.map_or(default.fat_gap, |settings| settings.fat_gap),
        translation: last.settings.map_or(default.translation, |settings| settings.translation),
        ..default
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use reconcile::{FlowsAndMessages, InternalTraffic, ReconcileSettings};

    use super::*;

    fn make_reconciliation(internal: InternalMessages, between_threads: u64) -> Reconciliation {
        let fat_gap = Duration::from_millis(7);
        let between_threads = FlowsAndMessages { flows: 1, messages: between_threads };
        Reconciliation {
            settings: Some(ReconcileSettings { internal, fat_gap, translation: None }),
            internal: InternalTraffic { flows: 2, messages: 9, between_threads },
            ..Reconciliation::default()
        }
    }

    #[test]
    fn messages_are_made_again_only_if_the_grain_matters_with_other_options_unchanged() {
        use InternalMessages::{BetweenThreads, Kept, LeftOut};
        let asked = |internal, threads, grain| {
            options_for_grain(&make_reconciliation(internal, threads), grain)
                .map(|options| options.internal)
        };
        assert_eq!(asked(LeftOut, 5, NodeGrain::Thread), Some(BetweenThreads));
        assert_eq!(asked(BetweenThreads, 5, NodeGrain::Command), Some(LeftOut));
        for (internal, threads, grain) in [
            (LeftOut, 5, NodeGrain::Command),
            (LeftOut, 0, NodeGrain::Thread),
            (BetweenThreads, 5, NodeGrain::Thread),
            (BetweenThreads, 0, NodeGrain::Host),
            (Kept, 5, NodeGrain::Thread),
            (Kept, 5, NodeGrain::Process),
        ] {
            assert_eq!(asked(internal, threads, grain), None, "{internal:?} {threads} {grain}");
        }
        let again = options_for_grain(&make_reconciliation(LeftOut, 5), NodeGrain::Thread).unwrap();
        assert_eq!((again.fat_gap, again.translation), (Duration::from_millis(7), None));
        // A version that did not count messages between threads.
        let old = Reconciliation { settings: None, ..make_reconciliation(LeftOut, 0) };
        assert!(options_for_grain(&old, NodeGrain::Thread).is_some());
        assert!(options_for_grain(&old, NodeGrain::Process).is_none());
    }
}
