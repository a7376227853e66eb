//! The stage of messages: logs and imports to messages, with those that a process sends to itself
//! where its threads are nodes.

use message_trace::{DataDir, Grain};
use reconcile::{InternalMessages, Options, Reconciliation};

use super::spans;
use crate::error::Error;
use crate::output::say;
use crate::own_logs::{self, OwnLogs};
use crate::progress::Terminal;
use crate::tidy;

/// Makes the messages, unless they are there and as new as the logs and imports. Where `grain` is
/// named, they are also made again if they were made for nodes of another one and that matters.
pub(crate) fn messages(data: &DataDir, grain: Option<Grain>) -> Result<(), Error> {
    // Somebody named the directory of spans itself.
    if data.causes().exists() {
        return spans::messages(data);
    }
    own_logs::tell_left_out(data)?;
    tidy::tidy(data, &OwnLogs::of(data, false));
    let logs = data.logs()?;
    let newest_log = logs.iter().filter_map(DataDir::written).max();
    let newest = newest_log.max(data.imports_changed()?);
    let messages = DataDir::written(&data.messages()).filter(|_| data.nodes().exists());
    let last = Reconciliation::read(data).ok();
    let is_outgrown = || last.as_ref().is_none_or(|last| last.is_outgrown(data));
    let is_current = match (newest, messages) {
        // Somebody put the trace itself here.
        (None, Some(_)) => true,
        (Some(newest), Some(messages)) => newest < messages && !is_outgrown(),
        (_, None) => false,
    };
    let options = match (is_current, last, grain) {
        (true, Some(last), Some(grain)) => match for_grain(&last, grain) {
            Some(_) if logs.len() as u64 != last.logs => {
                say(&format!(
                    "what the threads of a process send each other is not as nodes are now: of {} \
                     logs only {} are left to read it from",
                    last.logs,
                    logs.len()
                ));
                None
            }
            options => options,
        },
        (true, ..) => None,
        (false, last, grain) => Some(Options {
            internal: grain.map_or_else(|| internal(last.as_ref()), wanted),
            ..Options::default()
        }),
    };
    options.map_or(Ok(()), |options| reconcile(data, &options).map(|_| ()))
}

/// Runs reconcile.
pub(crate) fn reconcile(data: &DataDir, options: &Options) -> Result<Reconciliation, Error> {
    if data.logs()?.is_empty() && data.imported()?.is_empty() {
        return Err(Error::NoLogs(data.path().to_owned()));
    }
    Ok(reconcile::reconcile(data, options, &Terminal::new())?)
}

/// Which of a process's own messages an analysis with nodes of that grain takes.
fn wanted(grain: Grain) -> InternalMessages {
    match grain {
        Grain::Thread => InternalMessages::BetweenThreads,
        Grain::Host | Grain::Process | Grain::Command => InternalMessages::LeftOut,
    }
}

/// Which of a process's own messages are there, for new ones to be as the former ones. What the
/// user wanted to keep once does not hold for what comes later.
fn internal(last: Option<&Reconciliation>) -> InternalMessages {
    match last.and_then(|last| last.settings).map(|settings| settings.internal) {
        Some(InternalMessages::BetweenThreads) => InternalMessages::BetweenThreads,
        _ => InternalMessages::LeftOut,
    }
}

/// How to make messages for nodes of that grain, with all else as it was; `None` if the `last` ones
/// will do.
fn for_grain(last: &Reconciliation, grain: Grain) -> Option<Options> {
    let (is, wanted) = match last.settings {
        Some(settings) => (settings.internal, wanted(grain)),
        None => (InternalMessages::LeftOut, wanted(grain)),
    };
    // A version that did not say how it was made did not say either what goes between threads.
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

    use reconcile::{FlowsAndMessages, Internal, Settings};

    use super::*;

    fn made(internal: InternalMessages, between_threads: u64) -> Reconciliation {
        let fat_gap = Duration::from_millis(7);
        let between_threads = FlowsAndMessages { flows: 1, messages: between_threads };
        Reconciliation {
            settings: Some(Settings { internal, fat_gap, translation: None }),
            internal: Internal { flows: 2, messages: 9, between_threads },
            ..Reconciliation::default()
        }
    }

    #[test]
    fn messages_are_made_again_only_where_the_grain_matters_and_with_all_else_as_it_was() {
        use InternalMessages::{BetweenThreads, Kept, LeftOut};
        let asked = |internal, threads, grain| {
            for_grain(&made(internal, threads), grain).map(|options| options.internal)
        };
        assert_eq!(asked(LeftOut, 5, Grain::Thread), Some(BetweenThreads));
        assert_eq!(asked(BetweenThreads, 5, Grain::Command), Some(LeftOut));
        for (internal, threads, grain) in [
            (LeftOut, 5, Grain::Command),
            (LeftOut, 0, Grain::Thread),
            (BetweenThreads, 5, Grain::Thread),
            (BetweenThreads, 0, Grain::Host),
            (Kept, 5, Grain::Thread),
            (Kept, 5, Grain::Process),
        ] {
            assert_eq!(asked(internal, threads, grain), None, "{internal:?} {threads} {grain}");
        }
        let again = for_grain(&made(LeftOut, 5), Grain::Thread).unwrap();
        assert_eq!((again.fat_gap, again.translation), (Duration::from_millis(7), None));
        // A version that did not count what goes between threads.
        let old = Reconciliation { settings: None, ..made(LeftOut, 0) };
        assert!(for_grain(&old, Grain::Thread).is_some());
        assert!(for_grain(&old, Grain::Process).is_none());
    }
}
