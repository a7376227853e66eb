//! Sites: the sent and received messages of each node, with their times. The nodes of the graph are
//! *sites*: all processes of one name, since one of many processes that share the work has too few
//! messages for a correlation. An effect is only sought at the process (the *place*, as in message
//! linking) that received the cause.
//!
//! An untraced node has its peers' times, and is a separate site for each peer (WAP5 section 5.1,
//! step 2, in [`super::super::linking`]).

use message_trace::{MessageId, MessageTrace};
use rustc_hash::FxHashMap;

use crate::infer::linking::RoundTrips;
use crate::naming::Naming;

/// A message, sent or received at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SiteEvent {
    /// The process.
    pub(super) place: u32,
    /// Time of the sending or receipt: nanoseconds, common clock.
    pub(super) time: i64,
    /// The message.
    pub(super) message: MessageId,
}

/// The messages of one kind: sent by one site, with the same labels.
#[derive(Clone, Debug)]
pub(super) struct MessageGroup {
    /// The sending site.
    pub(super) from: u32,
    /// The receiving site; `None` if no message was received.
    pub(super) to: Option<u32>,
    /// The labels of the messages, for [`Naming::hop_name`].
    pub(super) hop: u32,
    /// Whether clients sent the messages, so that these begin paths.
    pub(super) begins: bool,
    /// Sendings of the messages, in the order of processes and times.
    pub(super) sent: Vec<SiteEvent>,
}

/// The messages of a trace by their sites.
pub(super) struct SiteMessages {
    /// All groups, in the order of their first messages.
    pub(super) groups: Vec<MessageGroup>,
    /// The groups that each site sends.
    of_site: Vec<Vec<u32>>,
    /// The site that received each message, and the event there.
    received: Vec<Option<(u32, SiteEvent)>>,
    /// The times of the first and the last event: nanoseconds, common clock.
    pub(super) bounds: (i64, i64),
}

/// Key of a site: a node's name, and for an untraced node also the name of its peer.
type SiteLabel = (u32, Option<u32>);

impl SiteMessages {
    /// Builds the sites of `trace`. Messages without a time at either end belong to no group.
    pub(super) fn from_trace(trace: &MessageTrace, naming: &Naming) -> SiteMessages {
        let mut rounds = RoundTrips::new(naming);
        let mut numbers: FxHashMap<SiteLabel, u32> = FxHashMap::default();
        let mut site = |key: SiteLabel| {
            let next = numbers.len() as u32;
            *numbers.entry(key).or_insert(next)
        };
        let name = |node: u32| naming.nodes()[node as usize].name;
        let mut groups: Vec<MessageGroup> = Vec::new();
        let mut known: FxHashMap<(u32, u32, bool), u32> = FxHashMap::default();
        let mut received = Vec::with_capacity(trace.len());
        let mut bounds = (i64::MAX, i64::MIN);
        for message in trace.ids() {
            let (src, dst) = (naming.src(message), naming.dst(message));
            let departure = rounds.departure(trace, message);
            let arrival = rounds.arrival(trace, message).map(|(place, time)| {
                let own = trace.recv_ts(message).is_some();
                let key = if own { (name(dst), None) } else { (name(dst), Some(name(src))) };
                (site(key), SiteEvent { place, time, message })
            });
            for time in [departure, arrival.map(|(_, event)| (0, event.time))].into_iter().flatten()
            {
                bounds = (bounds.0.min(time.1), bounds.1.max(time.1));
            }
            received.push(arrival);
            let Some((place, time)) = departure else { continue };
            let own = trace.send_ts(message).is_some();
            let from = site(if own { (name(src), None) } else { (name(src), Some(name(dst))) });
            let (hop, begins) = (naming.hop(message), naming.nodes()[src as usize].client);
            let group = *known.entry((from, hop, begins)).or_insert_with(|| {
                groups.push(MessageGroup { from, to: None, hop, begins, sent: Vec::new() });
                groups.len() as u32 - 1
            });
            let group = &mut groups[group as usize];
            group.to = group.to.or(arrival.map(|(site, _)| site));
            group.sent.push(SiteEvent { place, time, message });
        }
        let mut of_site = vec![Vec::new(); numbers.len()];
        for (number, group) in groups.iter_mut().enumerate() {
            group.sent.sort_unstable();
            of_site[group.from as usize].push(number as u32);
        }
        if bounds.0 > bounds.1 {
            bounds = (0, 0);
        }
        SiteMessages { groups, of_site, received, bounds }
    }

    /// Number of sites.
    pub(super) fn len(&self) -> usize {
        self.of_site.len()
    }

    /// The groups that `site` sends.
    pub(super) fn sent_by(&self, site: u32) -> &[u32] {
        &self.of_site[site as usize]
    }

    /// Messages that arrived at `site`, in the order of processes and times.
    pub(super) fn received_by(&self, site: u32) -> Vec<SiteEvent> {
        let arrivals = self.received.iter().flatten().filter(|(at, _)| *at == site);
        let mut arrivals: Vec<SiteEvent> = arrivals.map(|(_, event)| *event).collect();
        arrivals.sort_unstable();
        arrivals
    }

    /// The arrivals of `messages` at `site`, in the order of processes and times.
    pub(super) fn arrivals_at(&self, messages: &[SiteEvent], site: u32) -> Vec<SiteEvent> {
        let at =
            |event: &SiteEvent| self.received[event.message.index()].filter(|(at, _)| *at == site);
        let mut arrivals: Vec<SiteEvent> =
            messages.iter().filter_map(at).map(|(_, event)| event).collect();
        // Nearly in order already, since messages sent later mostly arrive later.
        arrivals.sort();
        arrivals
    }

    /// The mean time between sending and receipt of `messages`, in nanoseconds.
    pub(super) fn mean_travel_time(&self, messages: &[SiteEvent]) -> i64 {
        let times = messages.iter().filter_map(|sent| {
            let (_, received) = self.received[sent.message.index()]?;
            Some(i128::from(received.time) - i128::from(sent.time))
        });
        let (sum, count) = times.fold((0, 0), |(sum, count), time| (sum + time, count + 1));
        i64::try_from(sum / count.max(1)).unwrap_or(i64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;
    use crate::options::Options;

    #[test]
    fn processes_of_a_name_are_one_site_with_separate_places() {
        let mut trace = Fixture::new();
        trace.send("load", "web#1", 0, 10).ports(40_000, 80);
        trace.send("load", "web#2", 5, 20).ports(40_001, 80);
        trace.send("web#1", "db", 30, 40).ports(40_002, 5432);
        trace.send("web#2", "db", 35, 60).ports(40_003, 5432);
        let trace = trace.trace();
        let naming = Naming::new(&trace, &Options::default());
        let sites = SiteMessages::from_trace(&trace, &naming);
        assert_eq!((sites.groups.len(), sites.len(), sites.bounds), (2, 3, (0, 60)));
        let [requests, queries] = [0, 1].map(|group| &sites.groups[group]);
        assert!(requests.begins && !queries.begins);
        assert_eq!(requests.to, Some(queries.from));
        assert_eq!(sites.sent_by(queries.from), [1]);
        let arrivals = sites.arrivals_at(&requests.sent, queries.from);
        assert_eq!(arrivals.iter().map(|event| event.time).collect::<Vec<_>>(), [10, 20]);
        // The received and sent messages of a process are at one place.
        assert_eq!([0, 1].map(|at| arrivals[at].place == queries.sent[at].place), [true; 2]);
        assert_ne!(arrivals[0].place, arrivals[1].place);
        assert_eq!(sites.mean_travel_time(&queries.sent), 17);
    }

    #[test]
    fn an_untraced_node_is_a_site_for_each_peer() {
        let mut trace = Fixture::new().untraced(&["dns"]);
        trace.send("a", "dns", 0, 0);
        trace.send("z", "dns", 1, 0);
        trace.send("dns", "a", 0, 50);
        // A node that accepts connections is not a client, and has a name of its own.
        trace.send("c", "a", 90, 91).ports(40_001, 81);
        trace.send("c", "z", 90, 91).ports(40_001, 82);
        let trace = trace.trace();
        let naming = Naming::new(&trace, &Options::default());
        let sites = SiteMessages::from_trace(&trace, &naming);
        let of = |src: &str| {
            let of =
                |group: &&MessageGroup| naming.label_text(naming.hop_name(group.hop).src) == src;
            sites.groups.iter().find(of).unwrap()
        };
        assert_eq!(of("a").to, Some(of("dns").from));
        assert_ne!(of("z").to, Some(of("dns").from));
        assert_eq!(sites.arrivals_at(&of("a").sent, of("dns").from)[0].time, 0);
    }

    #[test]
    fn an_empty_trace_has_no_sites() {
        let trace = Fixture::new().trace();
        let sites = SiteMessages::from_trace(&trace, &Naming::new(&trace, &Options::default()));
        assert_eq!((sites.len(), sites.bounds), (0, (0, 0)));
    }
}
