//! Sniffer that drops messages (Project 5, section 7.5.5): it captures messages at a maximum rate,
//! queues faster ones, and discards those that find the queue full. Losses therefore come in
//! bursts, as traffic does.

use message_trace::MessageTrace;

use crate::error::Error;
use crate::ground_truth::GroundTruth;
use crate::maketrace::TruthTable;
use crate::synthetic_import;

/// Sniffer. Every message counts as one packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sniffer {
    /// Maximum rate of capture, in messages a second.
    pub rate: f64,
    /// Maximum number of waiting messages; the paper's sniffer has 64.
    pub queue: u32,
}

/// A captured trace.
#[derive(Clone, Debug)]
pub struct CapturedTrace {
    /// Messages that were captured, in the order of the trace.
    pub trace: MessageTrace,
    /// Row of each former message; `None` for a dropped one.
    pub rows: Vec<Option<u64>>,
}

impl Sniffer {
    /// Captures `trace`, which must be sorted.
    ///
    /// # Errors
    /// When no message is captured.
    pub fn capture_trace(&self, trace: &MessageTrace) -> Result<CapturedTrace, Error> {
        let (mut waiting, mut last) = (0.0f64, None);
        let (mut rows, mut kept) = (Vec::with_capacity(trace.len()), 0);
        let captured = synthetic_import::map_messages(trace, |message| {
            let time = message.sort_time();
            let passed = last.map_or(0, |last: i64| time.saturating_sub(last).max(0));
            last = Some(time);
            waiting = (waiting - passed as f64 * self.rate / 1e9).max(0.0);
            // A message that is being captured still occupies its place in the queue.
            if waiting.ceil() >= f64::from(self.queue) {
                rows.push(None);
                return None;
            }
            waiting += 1.0;
            rows.push(Some(kept));
            kept += 1;
            Some(message)
        });
        if kept == 0 {
            return Err(Error::Unknown("nothing would be captured; use a longer --queue".into()));
        }
        Ok(CapturedTrace { trace: captured, rows })
    }
}

impl CapturedTrace {
    /// Number of messages that were dropped.
    pub fn dropped_messages(&self) -> u64 {
        self.rows.iter().filter(|row| row.is_none()).count() as u64
    }

    /// Truth about the captured trace, from `truth` about the whole. Effects of a dropped message
    /// count to the nearest captured message above it. A truth about calls is unchanged: the ids
    /// stay the same, and the score sees which are missing.
    pub fn captured_truth(&self, truth: &GroundTruth) -> TruthTable {
        let of = match truth {
            GroundTruth::Calls(of) => {
                let mut rows: Vec<_> =
                    of.iter().map(|(call, parent)| (call.clone(), parent.clone())).collect();
                rows.sort_unstable();
                return TruthTable::Calls(rows);
            }
            GroundTruth::Messages(of) => of,
        };
        let row =
            |message: u64| usize::try_from(message).ok().and_then(|row| *self.rows.get(row)?);
        let mut causes = vec![None; self.trace.len()];
        for (child, parent) in of {
            let Some(child) = row(*child) else { continue };
            let mut parent = *parent;
            // A cycle in the truth ends after all messages at the latest.
            for _ in 0..=of.len() {
                match parent {
                    Some(above) if row(above).is_none() => {
                        parent = of.get(&above).copied().flatten()
                    }
                    _ => break,
                }
            }
            causes[child as usize] = parent.and_then(row);
        }
        TruthTable::Messages(causes)
    }
}

#[cfg(test)]
mod tests {
    use message_trace::MessageId;

    use super::*;
    use crate::maketrace::{TraceConfig, make_trace};
    use std::path::Path;

    /// Ten messages, one every millisecond; each causes the next.
    fn trace() -> (MessageTrace, GroundTruth) {
        let text = r#"
call_ids = false
delay = "1ms"
[[tracelet]]
name = "to and fro"
instances = 1
messages = [ { from = "a", to = "b" }, { from = "b", to = "a" }, { from = "a", to = "b" }, { from = "b", to = "a" },
             { from = "a", to = "b" }, { from = "b", to = "a" }, { from = "a", to = "b" }, { from = "b", to = "a" } ]
"#;
        let made = make_trace(&TraceConfig::parse(Path::new("x"), text).unwrap(), &()).unwrap();
        let TruthTable::Messages(causes) = made.truth else { panic!("not by messages") };
        let causes =
            causes.into_iter().enumerate().map(|(child, cause)| (child as u64, cause)).collect();
        (made.trace, GroundTruth::Messages(causes))
    }

    #[test]
    fn long_bursts_are_dropped() {
        let (trace, truth) = trace();
        // One message every two milliseconds is captured, two may wait. At 0, 1 and 2 ms 0, 0.5 and
        // 1 wait; at 3 ms 1.5, which take both places; at 4 ms 1; then every second message is
        // dropped.
        let captured = Sniffer { rate: 500.0, queue: 2 }.capture_trace(&trace).unwrap();
        let rows = [Some(0), Some(1), Some(2), None, Some(3), None, Some(4), None];
        assert_eq!((captured.rows.as_slice(), captured.dropped_messages()), (&rows[..], 3));
        assert_eq!(captured.trace.len(), 5);
        let [fourth, fifth] = [3, 4].map(MessageId::from_index);
        assert_eq!(captured.trace.send_ts(fourth), trace.send_ts(fifth));
        // 4 was caused by 3, which was dropped, and that by 2.
        let causes = vec![None, Some(0), Some(1), Some(2), Some(3)];
        assert_eq!(captured.captured_truth(&truth), TruthTable::Messages(causes));
    }

    #[test]
    fn a_fast_sniffer_drops_nothing() {
        let (trace, truth) = trace();
        let captured = Sniffer { rate: 1000.0, queue: 1 }.capture_trace(&trace).unwrap();
        assert_eq!(captured.dropped_messages(), 0);
        let causes = (0..8u64).map(|child| child.checked_sub(1)).collect();
        assert_eq!(captured.captured_truth(&truth), TruthTable::Messages(causes));
        assert!(Sniffer { rate: 1.0, queue: 0 }.capture_trace(&trace).is_err());
    }
}
