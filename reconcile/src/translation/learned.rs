//! What the names of a candidate say: what its translation keeps (the client's port and address, the server's name) against
//! how often that is equal by chance, and where the same virtual name has led elsewhere. It is learned from the candidates
//! that are clearly ahead of their rivals, leaving each one's own share out where it is judged itself.

use std::net::{IpAddr, SocketAddr};

use rustc_hash::FxHashMap;

use super::HalfFlow;
use super::candidates::{Edge, Field};

/// So many flows to a name would have to be without a match for one match to say nothing.
const UNTRANSLATED: f64 = 10.0;
/// A match is given to a name before any was seen.
const GIVEN: f64 = 0.5;
/// A new way through a translation is as likely as so many matches.
const NEW_WAY: f64 = 0.2;
/// Ports that a client's end can have, about.
const PORTS: f64 = 28_000.0;

/// What a candidate's names have in common.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kept(pub(super) [bool; 3]);

/// Where a candidate's translation leads: numbers of the virtual name, the real one, and both with the address that
/// the server saw.
#[derive(Clone, Copy, Debug)]
pub(super) struct Way {
    pub(super) virtual_name: u32,
    pub(super) real: u32,
    pub(super) both: u32,
}

pub(super) fn kept(one: &HalfFlow, other: &HalfFlow) -> Kept {
    Kept([
        one.local.port() == other.peer.port(),
        one.local.ip() == other.peer.ip() && !one.local.ip().is_loopback(),
        one.peer == other.local && !one.peer.ip().is_loopback(),
    ])
}

/// Numbers for the names that candidates have.
#[derive(Debug, Default)]
pub(super) struct Names {
    pub(super) virtual_names: FxHashMap<SocketAddr, u32>,
    pub(super) reals: FxHashMap<SocketAddr, u32>,
    pub(super) both: FxHashMap<(u32, u32, Option<IpAddr>), u32>,
}

impl Names {
    pub(super) fn way(&mut self, field: &Field, edge: &Edge) -> Way {
        let (one, other) = (field.half(edge.connecting), field.half(edge.accepting));
        let next = self.virtual_names.len() as u32;
        let virtual_name = *self.virtual_names.entry(one.peer).or_insert(next);
        let next = self.reals.len() as u32;
        let real = *self.reals.entry(other.local).or_insert(next);
        // An address that is kept is the client's, and there are many.
        let seen = Some(other.peer.ip()).filter(|ip| *ip != one.local.ip());
        let next = self.both.len() as u32;
        let both = *self.both.entry((virtual_name, real, seen)).or_insert(next);
        Way { virtual_name, real, both }
    }
}

/// How likely parts of names are equal by chance.
#[derive(Debug)]
pub(super) struct Chances {
    /// How many accepting ends have a peer of that address, and are of that name.
    pub(super) addresses: FxHashMap<IpAddr, f64>,
    pub(super) names: FxHashMap<SocketAddr, f64>,
    pub(super) all: f64,
}

impl Chances {
    pub(super) fn of(field: &Field) -> Chances {
        let (mut addresses, mut names) = (FxHashMap::default(), FxHashMap::default());
        for place in &field.accepting {
            let half = field.half(*place);
            *addresses.entry(half.peer.ip()).or_insert(0.0) += 1.0;
            *names.entry(half.local).or_insert(0.0) += 1.0;
        }
        Chances { addresses, names, all: field.accepting.len().max(1) as f64 }
    }

    /// Of an equal port, an equal client's address, an equal server's name.
    pub(super) fn of_edge(&self, field: &Field, edge: &Edge) -> [f64; 3] {
        let one = field.half(edge.connecting);
        let share = |count: Option<&f64>| (count.copied().unwrap_or(0.0) / self.all).clamp(1e-3, 0.9);
        [1.0 / PORTS, share(self.addresses.get(&one.local.ip())), share(self.names.get(&one.peer))]
    }
}

/// What has been learned of the translations: expected numbers of matches.
#[derive(Debug)]
pub(super) struct Learned {
    /// Flows by virtual name and by real name.
    pub(super) totals: [Vec<f64>; 2],
    /// Matches of them.
    pub(super) matches: [Vec<f64>; 2],
    pub(super) both: Vec<f64>,
    /// In how many of the matches of a virtual name the parts were kept.
    pub(super) kept: Vec<[f64; 3]>,
    pub(super) rounds: u32,
}

impl Learned {
    pub(super) fn new(names: &Names, totals: [Vec<f64>; 2]) -> Learned {
        Learned {
            matches: [vec![0.0; totals[0].len()], vec![0.0; totals[1].len()]],
            both: vec![0.0; names.both.len()],
            kept: vec![[0.0; 3]; totals[0].len()],
            totals,
            rounds: 0,
        }
    }

    /// What the candidate's names say, in nats, leaving out what is known from itself (as much of a match as it counts).
    pub(super) fn says(&self, way: Way, kept: Kept, chance: [f64; 3], itself: f64) -> f64 {
        let (one, other) = (way.virtual_name as usize, way.real as usize);
        let others = |sum: f64| (sum - itself).max(0.0);
        let matches = [others(self.matches[0][one]), others(self.matches[1][other])];
        let way_taken = others(self.both[way.both as usize]);
        // Of the flows to the virtual name, or of those that came to the real one, so many went this way.
        let share = |side: usize, at: usize| {
            // The more matches there are, the less is held against this one.
            let doubt = GIVEN + UNTRANSLATED / (1.0 + matches[side]);
            let matched = (matches[side] + GIVEN) / (self.totals[side][at].max(1.0) + doubt);
            if self.rounds == 0 { matched } else { matched * (way_taken + NEW_WAY) / (matches[side] + 1.0) }
        };
        let translated = share(0, one).max(share(1, other)).min(0.999);
        let mut says = (translated / (1.0 - translated)).ln();
        for part in 0..3 {
            // Before anything is known, each is kept as often as not, the server's name less often.
            let before = [1.0, 0.6, 0.4][part];
            let mine = if kept.0[part] { itself } else { 0.0 };
            let rate = ((self.kept[one][part] - mine).max(0.0) + before / 2.0) / (matches[0] + before + 0.5);
            let chance = chance[part];
            says += if kept.0[part] { (rate / chance).ln() } else { ((1.0 - rate) / (1.0 - chance)).ln() };
        }
        says
    }

    pub(super) fn learn(&mut self, ways: &[Way], kept: &[Kept], counts: &[f64]) {
        self.matches.iter_mut().for_each(|matches| matches.fill(0.0));
        self.both.fill(0.0);
        self.kept.fill([0.0; 3]);
        for ((way, kept), count) in ways.iter().zip(kept).zip(counts) {
            self.matches[0][way.virtual_name as usize] += count;
            self.matches[1][way.real as usize] += count;
            self.both[way.both as usize] += count;
            for part in 0..3 {
                self.kept[way.virtual_name as usize][part] += if kept.0[part] { *count } else { 0.0 };
            }
        }
        self.rounds += 1;
    }
}
