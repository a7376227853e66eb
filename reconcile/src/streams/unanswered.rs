//! Unanswered directions: connections on which one side sends and the other never answers (jobs for
//! a broker, lines for a log). No turn of the other side separates the messages there, so that many
//! would be merged into one, like the pieces of a body.
//!
//! A body has an answer in the end, and its pieces follow each other closely. Here the sender
//! mostly got something new to do before it sent again, time after time, and nothing ever comes
//! back.
//!
//! The accepting side may also send notifications, for example to a subscriber. There the answer to
//! a request may be many pieces for which the sender queries other servers, and nothing follows it.
//! So notifications are small, and their receiver turns to something else each time before the
//! next.

use crate::calls::{CallSpan, FlowMessage};
use crate::streams::boundary::IsBoundary;
use crate::tuning::{
    MANY_UNANSWERED_BOUNDARIES, MAX_NOTIFICATION_BYTES, MIN_PIECE_BYTES, MIN_UNANSWERED_BOUNDARIES,
    PIECES_A_BOUNDARY,
};

/// Whether `next` is another message than the fragment before it, in an unanswered direction.
pub(crate) fn is_boundary(last: &FlowMessage, next: &FlowMessage) -> bool {
    let thread = |part: &FlowMessage| part.sent.map(|seen| (seen.process, seen.tid));
    let sender_did_else = next.elsewhere || thread(last) != thread(next);
    // If the sender was not recorded, the receiver decides.
    sender_did_else || next.sent.is_none() && next.acted
}

/// Whether `next` is a notification that follows another one.
pub(crate) fn is_notification(last: &FlowMessage, next: &FlowMessage) -> bool {
    is_boundary(last, next)
        && next.acted
        && last.bytes <= MAX_NOTIFICATION_BYTES
        && next.bytes <= MAX_NOTIFICATION_BYTES
}

/// Whether nothing sent in `parts` is answered. `begins_message` decides whether a part begins
/// another message than the part before it, and `seen` returns the times of a part at the side that
/// counts. `back` has the times when something came back to their sender, in order. What comes back
/// within `gap` nanoseconds of a part may be an answer to it, and within `late` nanoseconds of the
/// last part, since nothing more was sent until it came.
pub(crate) fn is_unanswered(
    parts: impl Iterator<Item = FlowMessage>,
    back: impl Iterator<Item = i64>,
    [gap, late]: [i64; 2],
    begins_message: IsBoundary,
    seen: impl Fn(&FlowMessage) -> Option<CallSpan>,
) -> bool {
    let mut back = back.peekable();
    let mut last: Option<FlowMessage> = None;
    // Number of pieces since the last answer, and number of those that begin a message.
    let (mut pieces, mut boundaries) = (0_u64, 0_u64);
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
                found |= boundaries >= MANY_UNANSWERED_BOUNDARIES
                    && PIECES_A_BOUNDARY * boundaries >= pieces;
                (pieces, boundaries) = (0, 0);
            } else {
                pieces += 1;
                // A process that passes on a body also gets each piece of it elsewhere.
                boundaries +=
                    u64::from(part.bytes < MIN_PIECE_BYTES && begins_message(last, &part));
            }
        }
        last = Some(part);
    }
    let since = last.as_ref().and_then(&seen).map_or(i64::MAX, |sent| sent.last);
    let is_answered = back.next().is_some_and(|time| time.saturating_sub(since) <= late);
    let least = if is_answered { MANY_UNANSWERED_BOUNDARIES } else { MIN_UNANSWERED_BOUNDARIES };
    found || boundaries >= least && PIECES_A_BOUNDARY * boundaries >= pieces
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::indices::ProcessIndex;

    /// Pieces that are sent every `step` nanoseconds; before one in `one_in` the sender got
    /// something new.
    fn pieces(count: i64, step: i64, one_in: i64) -> Vec<FlowMessage> {
        let part = |at: i64| FlowMessage {
            sent: Some(CallSpan::from_call(step * at, ProcessIndex::default(), 1)),
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
    fn jobs_without_answers_are_unanswered() {
        let jobs = pieces(40, 50, 1);
        assert!(is_unanswered(&jobs, &[]));
        assert!(is_unanswered(&pieces(80, 20, 2), &[]), "a head and a body each");
        assert!(!is_unanswered(&pieces(16, 50, 1), &[]), "too few to tell");
        // The dialog of the connection setup is over.
        let later: Vec<FlowMessage> = pieces(50, 50, 1);
        assert!(is_unanswered(&later, &[60, 110]));
        assert!(is_unanswered(&pieces(600, 50, 1), &[25_000]), "a heartbeat after long");
    }

    #[test]
    fn notifications_with_a_reaction_are_unanswered() {
        let notifications = |bytes, acted| -> Vec<FlowMessage> {
            pieces(40, 50, 1).into_iter().map(|part| FlowMessage { bytes, acted, ..part }).collect()
        };
        let are_notifications = |parts: Vec<FlowMessage>| {
            super::is_unanswered(
                parts.into_iter(),
                [60].into_iter(),
                [100; 2],
                is_notification,
                |part| part.sent,
            )
        };
        assert!(are_notifications(notifications(500, true)));
        assert!(
            !are_notifications(notifications(500, false)),
            "pieces of an answer for which others are asked"
        );
        assert!(!are_notifications(notifications(4096, true)), "pieces of a body");
    }

    #[test]
    fn bodies_and_calls_are_not_unanswered() {
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
