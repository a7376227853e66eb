//! Selection of messages (Project 5, Figure 6, lines 22 and 23): of the messages Z that a node sent
//! those that followed d, plus or minus v, after it received a message of V. Times are compared in
//! quanta, as in the correlation that found d. A message that was sent before the other was
//! received is never selected, even if both are in one quantum.

use super::indicator::TimeQuanta;
use super::sites::SiteEvent;

/// Shifts from the first to the last, in quanta.
pub(super) type ShiftRange = (usize, usize);

/// d plus or minus v, in quanta.
pub(super) fn shifts_around(delay: usize, variation: usize) -> ShiftRange {
    (delay.saturating_sub(variation), delay.saturating_add(variation))
}

/// Calls `with` for each message of `z` and the messages of `v` that may have caused it: those
/// received at the process that sent it, `shifts` before. Both are sorted by place and time.
pub(super) fn for_each_effect<'v>(
    v: &'v [SiteEvent],
    z: &[SiteEvent],
    quanta: &TimeQuanta,
    shifts: ShiftRange,
    mut with: impl FnMut(SiteEvent, &'v [SiteEvent]),
) {
    let (mut first, mut end) = (0, 0);
    for event in z {
        let sent = quanta.quantum_at(event.time);
        let earliest = (event.place, sent.saturating_sub(shifts.1));
        while v
            .get(first)
            .is_some_and(|cause| (cause.place, quanta.quantum_at(cause.time)) < earliest)
        {
            first += 1;
        }
        end = end.max(first);
        while v.get(end).is_some_and(|cause| {
            let latest = quanta.quantum_at(cause.time).saturating_add(shifts.0) <= sent
                && cause.time <= event.time;
            cause.place < event.place || (cause.place == event.place && latest)
        }) {
            end += 1;
        }
        if let Some(causes) = v.get(first..end).filter(|causes| !causes.is_empty()) {
            with(*event, causes);
        }
    }
}

/// The messages of `z` that may be the effect of one of `v`. A message is never its own effect.
pub(super) fn select_effects(
    v: &[SiteEvent],
    z: &[SiteEvent],
    quanta: &TimeQuanta,
    shifts: ShiftRange,
) -> Vec<SiteEvent> {
    let mut selected = Vec::new();
    for_each_effect(v, z, quanta, shifts, |event, causes| {
        if causes.iter().any(|cause| cause.message != event.message) {
            selected.push(event);
        }
    });
    selected
}

#[cfg(test)]
mod tests {
    use message_trace::MessageId;

    use super::*;

    fn events(place: u32, times: &[i64]) -> Vec<SiteEvent> {
        times
            .iter()
            .map(|time| SiteEvent {
                time: *time,
                place,
                message: MessageId::from_index(*time as usize),
            })
            .collect()
    }

    fn selected(v: &[SiteEvent], z: &[SiteEvent], shifts: ShiftRange) -> Vec<i64> {
        let quanta = TimeQuanta::new(0, 1000, 10, 1000);
        select_effects(v, z, &quanta, shifts).into_iter().map(|event| event.time).collect()
    }

    #[test]
    fn messages_are_selected_within_d_plus_or_minus_v() {
        let (v, z) = (events(0, &[5, 200]), events(0, &[21, 31, 38, 44, 57, 68, 251]));
        // 5 is in quantum 0, 200 in 20: with d = 4 and v = 1, quanta 3 to 5 and 23 to 25.
        assert_eq!(selected(&v, &z, shifts_around(4, 1)), [31, 38, 44, 57, 251]);
        assert_eq!(selected(&v, &z, shifts_around(4, 0)), [44]);
        assert_eq!(shifts_around(2, 3), (0, 5));
    }

    #[test]
    fn messages_sent_before_the_receipt_are_not_selected() {
        let (v, z) = (events(0, &[15]), events(0, &[14, 15, 16]));
        // 15 is the message itself.
        assert_eq!(selected(&v, &z, (0, 0)), [16]);
        assert_eq!(
            selected(&v, &[SiteEvent { message: MessageId::from_index(99), ..z[1] }], (0, 0)),
            [15]
        );
    }

    #[test]
    fn a_process_sends_for_what_it_received_itself() {
        let v = [events(0, &[10]), events(2, &[100])].concat();
        let z = [events(0, &[50]), events(1, &[50]), events(2, &[50, 140])].concat();
        assert_eq!(selected(&v, &z, (4, 4)), [50, 140]);
        let quanta = TimeQuanta::new(0, 1000, 10, 1000);
        assert_eq!(select_effects(&v, &z, &quanta, (4, 4))[0].place, 0);
    }

    #[test]
    fn all_causes_in_reach_are_passed() {
        let (v, z) = (events(0, &[10, 20, 30, 40]), events(0, &[55, 61]));
        let mut found = Vec::new();
        for_each_effect(&v, &z, &TimeQuanta::new(0, 1000, 10, 1000), (2, 3), |event, causes| {
            found.push((event.time, causes.iter().map(|cause| cause.time).collect::<Vec<_>>()));
        });
        assert_eq!(found, [(55, vec![20, 30]), (61, vec![30, 40])]);
    }
}
