//! Connections on which one side sends and the other never answers (jobs for a broker, lines for a
//! log). No turn of the other side parts the messages there, so that many would be taken for one,
//! as if they were pieces of a body.
//!
//! A body has an answer at last, and one piece comes on the heels of the other. Here the sender
//! mostly got something new to do before it sent again, time after time, and nothing ever comes
//! back.
//!
//! Who accepted a connection may tell things unasked as well, as to one who listens for news. There
//! the answer to a request may be many pieces for which the sender asks others, and nothing follows
//! it. So what is told is small, and its receiver goes about something else each time before it is
//! told more.

use crate::calls::{CallSpan, FlowMessage};
use crate::streams::boundary::IsBoundary;
use crate::tuning::{
    MANY_UNANSWERED_BORDERS, MAX_TOLD_BYTES, MIN_PIECE_BYTES, MIN_UNANSWERED_BORDERS,
    PIECES_A_BORDER,
};

/// Whether `next` is another message than what was sent before it, where nobody answers.
pub(crate) fn is_boundary(last: &FlowMessage, next: &FlowMessage) -> bool {
    let thread = |part: &FlowMessage| part.sent.map(|seen| (seen.process, seen.tid));
    let sender_tells = next.elsewhere || thread(last) != thread(next);
    // Of a sender that was not seen its receiver tells.
    sender_tells || next.sent.is_none() && next.acted
}

/// Whether `next` is told unasked, and the one before it was.
pub(crate) fn is_notification(last: &FlowMessage, next: &FlowMessage) -> bool {
    is_boundary(last, next)
        && next.acted
        && last.bytes <= MAX_TOLD_BYTES
        && next.bytes <= MAX_TOLD_BYTES
}

/// Whether nobody answers what is sent in `parts`. `counts` says where a message begins, and `seen`
/// at which side their times are. `back` is when something came back to their sender, in order.
/// Within `gap` nanoseconds that may be an answer, and within `late` nanoseconds to the last of
/// them, as nothing was sent any more until it came.
pub(crate) fn is_unanswered(
    parts: impl Iterator<Item = FlowMessage>,
    back: impl Iterator<Item = i64>,
    [gap, late]: [i64; 2],
    counts: IsBoundary,
    seen: impl Fn(&FlowMessage) -> Option<CallSpan>,
) -> bool {
    let mut back = back.peekable();
    let mut last: Option<FlowMessage> = None;
    // Of the pieces since the last answer how many there are, and how many are the first of a
    // message.
    let (mut pieces, mut borders) = (0_u64, 0_u64);
    let mut found = false;
    for part in parts {
        let Some(sent) = seen(&part) else { return false };
        if let Some(last) = last.as_ref().zip(last.as_ref().and_then(&seen)) {
            let (last, since) = last;
            let mut is_answered = false;
            while let Some(time) = back.next_if(|time| *time < sent.first) {
                is_answered |= time.saturating_sub(since.last) <= gap;
            }
            if is_answered {
                found |= borders >= MANY_UNANSWERED_BORDERS && PIECES_A_BORDER * borders >= pieces;
                (pieces, borders) = (0, 0);
            } else {
                pieces += 1;
                // Who passes on a body gets each piece of it elsewhere, too.
                borders += u64::from(part.bytes < MIN_PIECE_BYTES && counts(last, &part));
            }
        }
        last = Some(part);
    }
    let since = last.as_ref().and_then(&seen).map_or(i64::MAX, |sent| sent.last);
    let is_answered = back.next().is_some_and(|time| time.saturating_sub(since) <= late);
    let least = if is_answered { MANY_UNANSWERED_BORDERS } else { MIN_UNANSWERED_BORDERS };
    found || borders >= least && PIECES_A_BORDER * borders >= pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pieces that are sent every `step` nanoseconds; before one of `one_in` of them the sender got
    /// something new.
    fn pieces(count: i64, step: i64, one_in: i64) -> Vec<FlowMessage> {
        let part = |at: i64| FlowMessage {
            sent: Some(CallSpan::from_call(step * at, 0, 1)),
            received: None,
            bytes: 500,
            parts: 1,
            elsewhere: at % one_in == 0,
            acted: false,
            begins: [false; 2],
        };
        (0..count).map(part).collect()
    }

    fn is_unanswered(parts: &[FlowMessage], back: &[i64]) -> bool {
        super::is_unanswered(
            parts.iter().copied(),
            back.iter().copied(),
            [100, i64::MAX],
            is_boundary,
            |part| part.sent,
        )
    }

    #[test]
    fn jobs_that_nobody_answers_are() {
        let jobs = pieces(40, 50, 1);
        assert!(is_unanswered(&jobs, &[]));
        assert!(is_unanswered(&pieces(80, 20, 2), &[]), "a head and a body each");
        assert!(!is_unanswered(&pieces(16, 50, 1), &[]), "too few to tell");
        // What was said when the connection was made is over.
        let later: Vec<FlowMessage> = pieces(50, 50, 1);
        assert!(is_unanswered(&later, &[60, 110]));
        assert!(is_unanswered(&pieces(600, 50, 1), &[25_000]), "a heartbeat after long");
    }

    #[test]
    fn what_is_told_to_who_then_acts_is() {
        let told = |bytes, acted| -> Vec<FlowMessage> {
            pieces(40, 50, 1).into_iter().map(|part| FlowMessage { bytes, acted, ..part }).collect()
        };
        let is_told = |parts: Vec<FlowMessage>| {
            super::is_unanswered(
                parts.into_iter(),
                [60].into_iter(),
                [100; 2],
                is_notification,
                |part| part.sent,
            )
        };
        assert!(is_told(told(500, true)));
        assert!(!is_told(told(500, false)), "pieces of an answer for which others are asked");
        assert!(!is_told(told(4096, true)), "pieces of a body");
    }

    #[test]
    fn bodies_and_calls_are_not() {
        assert!(!is_unanswered(&pieces(400, 10, 10), &[]), "pieces of a body");
        assert!(!is_unanswered(&pieces(40, 50, 1), &[2000]), "it was answered at last");
        let answers: Vec<i64> = (0..40).map(|at| 50 * at + 20).collect();
        assert!(!is_unanswered(&pieces(40, 50, 1), &answers), "each is answered");
        let passed_on: Vec<FlowMessage> = pieces(400, 50, 1)
            .into_iter()
            .map(|part| FlowMessage { bytes: 16_384, ..part })
            .collect();
        assert!(!is_unanswered(&passed_on, &[20_010]), "a body that is passed on piece by piece");
        assert!(!is_unanswered(&passed_on, &[]));
        assert!(!is_unanswered(&pieces(64, 50, 1), &[3_500]), "it was answered late");
        let unseen = [FlowMessage { sent: None, ..pieces(1, 1, 1)[0] }];
        assert!(!is_unanswered(&unseen, &[]));
    }
}
