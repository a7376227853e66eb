//! Triggers of calls: the receipt of the request, its last event, or the beginning or end of one of
//! its calls. The trigger that predicts best when a call is made is learned for every kind of call
//! ([`super::learn`]).

use super::service::{MadeCallId, NodeSpan, RequestId, Service};

/// An event of a request after which the request may make a call or be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Trigger {
    /// The last event of the request, of any kind.
    Last,
    /// The request was received.
    Receipt,
    /// The last response was received or, if there was none yet, the request.
    LastEnd,
    /// The response was sent: its last byte or, as long as that was not sent, its first.
    Answer,
    /// The last call of this kind was made.
    Start(u32),
    /// The last response to a call of this kind was received.
    End(u32),
}

impl Trigger {
    /// Time at which the trigger happened to a request that made the calls `made` before `time`;
    /// `None`: it did not happen.
    pub(super) fn time(
        self,
        service: &Service,
        request: RequestId,
        made: &[MadeCallId],
        time: i64,
    ) -> Option<i64> {
        let begin = service.requests[request.index()].begin;
        let before = service.shared_write(time).unwrap_or(i64::MAX);
        let calls = made.iter().map(|call| &service.calls[call.index()]);
        let calls = calls.filter(|call| call.begin < before);
        let ended = |call: &&NodeSpan| call.end <= time;
        match self {
            Trigger::Receipt => Some(begin),
            Trigger::Answer => {
                let first = service.requests[request.index()].end;
                let last = first.saturating_add(service.response_send_time(request));
                [last, first].into_iter().find(|end| *end <= time)
            }
            Trigger::Last => {
                let last = calls.map(|call| if ended(&call) { call.end } else { call.begin }).max();
                Some(last.map_or(begin, |last| last.max(begin)))
            }
            Trigger::LastEnd => {
                let last = calls.filter(ended).map(|call| call.end).max();
                Some(last.map_or(begin, |last| last.max(begin)))
            }
            Trigger::Start(kind) => {
                calls.rev().find(|call| call.kind == kind).map(|call| call.begin)
            }
            Trigger::End(kind) => {
                calls.filter(|call| call.kind == kind).filter(ended).map(|call| call.end).max()
            }
        }
    }
}

/// The last event of the calls `made` until `time`: the call, and whether the event is its response
/// instead of its beginning. `None` without calls.
pub(super) fn last_event(
    service: &Service,
    made: &[MadeCallId],
    time: i64,
) -> Option<(MadeCallId, bool)> {
    let event = |call: &MadeCallId| {
        let span = &service.calls[call.index()];
        if span.end <= time { (span.end, *call, true) } else { (span.begin, *call, false) }
    };
    made.iter().map(event).max().map(|(_, call, is_end)| (call, is_end))
}

/// Number of the calls `made` that had no response at `time`, up to 3.
pub(super) fn open_calls(service: &Service, made: &[MadeCallId], time: i64) -> usize {
    made.iter().filter(|call| service.calls[call.index()].end > time).count().min(3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn triggers_match_handwritten_times() {
        let span = |begin, end, kind| NodeSpan { begin, end, kind };
        let service = Service {
            requests: vec![span(0, 100, 9)],
            calls: vec![span(10, 30, 1), span(20, 60, 2)],
            ..Service::default()
        };
        let (request, both) = (RequestId::from_index(0), [0, 1].map(MadeCallId::from_index));
        let at = |trigger: Trigger, time| trigger.time(&service, request, &both, time);
        assert_eq!(at(Trigger::Receipt, 50), Some(0));
        assert_eq!(at(Trigger::Last, 25), Some(20));
        assert_eq!(at(Trigger::Last, 50), Some(30));
        assert_eq!((at(Trigger::LastEnd, 25), at(Trigger::LastEnd, 70)), (Some(0), Some(60)));
        assert_eq!((at(Trigger::Start(2), 50), at(Trigger::Start(3), 50)), (Some(20), None));
        assert_eq!((at(Trigger::End(2), 50), at(Trigger::End(2), 60)), (None, Some(60)));
        // The first call that a system call sent does not trigger the others that it sent.
        let service = Service { shared_writes: vec![[20, 21]], ..service };
        let at = |trigger: Trigger, time| trigger.time(&service, request, &both, time);
        assert_eq!([at(Trigger::Last, 21), at(Trigger::Start(2), 21)], [Some(10), None]);
        assert_eq!([at(Trigger::Last, 22), at(Trigger::Last, 20)], [Some(20), Some(10)]);
        assert_eq!((open_calls(&service, &both, 25), open_calls(&service, &both, 60)), (2, 0));
    }
}
