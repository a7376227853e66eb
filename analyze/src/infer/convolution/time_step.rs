//! The default length of a time quantum (Project 5 section 5.2.1 leaves it to the user). It must be
//! well below the delays that are to be distinguished, and not much below their deviations.
//! Otherwise the messages of a spike are spread over many quanta, and it does not stand out.

use super::sites::SiteMessages;
use crate::tuning::convolution::{MAX_CHOSEN_QUANTA, MESSAGES_OF_SITE, QUANTA_PER_DELAY};

/// A quantum for the trace of `sites`, in nanoseconds: a fraction of the median time from a
/// process's last receipt to its sending, among the times up to `window`.
pub(super) fn choose_time_step(sites: &SiteMessages, window: i64) -> i64 {
    let mut delays = Vec::new();
    for site in 0..sites.len() as u32 {
        let sent = sites.sent_by(site).iter().map(|group| &sites.groups[*group as usize]);
        let mut sent: Vec<_> =
            sent.filter(|group| !group.begins).flat_map(|group| &group.sent).collect();
        sent.sort_unstable();
        let received = sites.received_by(site);
        let mut next = 0;
        let every = sent.len() / MESSAGES_OF_SITE + 1;
        for (number, event) in sent.into_iter().enumerate() {
            while received
                .get(next)
                .is_some_and(|arrival| (arrival.place, arrival.time) <= (event.place, event.time))
            {
                next += 1;
            }
            let last = next.checked_sub(1).and_then(|last| received.get(last));
            let delay = last.filter(|last| last.place == event.place);
            let delay = delay.map(|last| event.time.saturating_sub(last.time));
            delays.extend(delay.filter(|delay| *delay <= window && number % every == 0));
        }
    }
    let span = sites.bounds.1.saturating_sub(sites.bounds.0);
    let middle = delays.len() / 2;
    let median = match delays.get(middle) {
        Some(_) => *delays.select_nth_unstable(middle).1,
        None => window,
    };
    (median / QUANTA_PER_DELAY).max(span / MAX_CHOSEN_QUANTA).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;
    use crate::naming::Naming;
    use crate::options::Options;

    fn chosen(trace: Fixture, window: i64) -> i64 {
        let trace = trace.trace();
        choose_time_step(
            &SiteMessages::from_trace(&trace, &Naming::new(&trace, &Options::default())),
            window,
        )
    }

    #[test]
    fn a_quantum_is_half_of_the_median_delay() {
        let mut trace = Fixture::new();
        for (request, delay) in [400, 100, 800, 100_000].into_iter().enumerate() {
            let time = request as i64 * 1_000_000;
            trace.send("a", "b", time, time);
            trace.send("b", "c", time + delay, time + delay).ports(40_001, 81);
        }
        // Of 100, 400 and 800; times beyond the window do not count.
        assert_eq!(chosen(trace, 1000), 200);
    }

    #[test]
    fn long_traces_have_longer_quanta_and_every_trace_has_some() {
        let mut trace = Fixture::new();
        for time in [0, 1 << 40] {
            trace.send("a", "b", time, time);
            trace.send("b", "c", time + 8, time + 8).ports(40_001, 81);
        }
        assert_eq!(chosen(trace, 1000), 1 << 22);
        assert_eq!(chosen(Fixture::new(), 1000), 500);
        assert_eq!(chosen(Fixture::new(), 1), 1);
    }
}
