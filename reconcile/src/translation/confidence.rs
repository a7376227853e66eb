//! How sure a pair is. Each candidate has odds against chance: what its two ends share, measured by how common that is;
//! whether its times fit the clocks; and what the translation that it would be part of has kept and has led to elsewhere.
//! The last two are learned from the candidates themselves, in a few rounds: frequent matches make a translation
//! likely, and a likely translation its matches.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use rustc_hash::FxHashMap;

use super::HalfFlow;
use super::beliefs::Rivals;
use super::candidates::{Edge, Field};
use super::difference::median;
use super::offsets::{Clocks, Verdict};
use super::timing::SLACK;

/// Rounds of learning.
const ROUNDS: usize = 12;
/// So many flows to a name would have to be without a match for one match to say nothing.
const UNTRANSLATED: f64 = 10.0;
/// A match is given to a name before any was seen.
const GIVEN: f64 = 0.5;
/// A new way through a translation is as likely as so many matches.
const NEW_WAY: f64 = 0.2;
/// Ports that a client's end can have, about.
const PORTS: f64 = 28_000.0;
/// Chance makes no fewer matches than this.
const LEAST_CHANCE: f64 = 1e-6;

/// What speaks for a pair.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Evidence {
    /// How many of the first turns have the same size at both ends.
    pub turns: u8,
    /// Whether the bytes of both directions are equal.
    pub totals: bool,
    /// In how many directions the checksum of the beginning is equal.
    pub fingerprints: u8,
    /// Whether the client's port is the same at both ends.
    pub port: bool,
    /// Whether the client's address is.
    pub client: bool,
    /// Whether the server's name is.
    pub server: bool,
    /// How many pairs of these two hosts agree on the difference of their clocks.
    pub agreeing: u32,
    /// How many pairs (expected) have the same virtual and the same real name.
    pub alike: f32,
}

impl fmt::Display for Evidence {
    fn fmt(&self, text: &mut fmt::Formatter) -> fmt::Result {
        let mut reasons = Vec::new();
        if self.totals {
            reasons.push("equal bytes".to_owned());
        }
        if self.turns > 0 {
            reasons.push(format!("{} equal turns", self.turns));
        }
        if self.fingerprints > 0 {
            reasons.push("equal checksums".to_owned());
        }
        if self.port {
            reasons.push("the client's port".to_owned());
        }
        if self.client {
            reasons.push("the client's address".to_owned());
        }
        if self.server {
            reasons.push("the server's name".to_owned());
        }
        if self.agreeing > 1 {
            reasons.push(format!("times that agree with {} pairs", self.agreeing));
        }
        if self.alike >= 2.0 {
            reasons.push(format!("{:.0} pairs of the same names", self.alike));
        }
        text.write_str(&reasons.join(", "))
    }
}

/// What was found out of a candidate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Judged {
    /// The logarithm of its odds against chance.
    pub(super) odds: f64,
    /// How likely it is.
    pub(super) belief: f64,
    pub(super) evidence: Evidence,
}

/// What a candidate's names have in common.
#[derive(Clone, Copy, Debug)]
struct Kept([bool; 3]);

/// Where a candidate's translation leads: numbers of the virtual name, the real one, and both with the address that
/// the server saw.
#[derive(Clone, Copy, Debug)]
struct Way {
    virtual_name: u32,
    real: u32,
    both: u32,
}

/// Judges all candidates.
pub(super) fn judge(field: &Field, edges: &[Edge], clocks: &Clocks) -> Vec<Judged> {
    let mut names = Names::default();
    let ways: Vec<Way> = edges.iter().map(|edge| names.way(field, edge)).collect();
    let kept: Vec<Kept> =
        edges.iter().map(|edge| kept(field.half(edge.connecting), field.half(edge.accepting))).collect();
    let mut totals = [vec![0.0; names.virtual_names.len()], vec![0.0; names.reals.len()]];
    for (places, side) in [(&field.connecting, 0), (&field.accepting, 1)] {
        for place in places {
            let half = field.half(*place);
            let (numbers, name) =
                if side == 0 { (&names.virtual_names, half.peer) } else { (&names.reals, half.local) };
            if let Some(number) = numbers.get(&name) {
                totals[side][*number as usize] += 1.0;
            }
        }
    }
    let verdicts: Vec<Option<Verdict>> = edges.iter().map(|edge| clocks.verdict(field, edge)).collect();
    let (spans, durations) = (spans(field), durations(field));
    let likely: Vec<f64> = edges
        .iter()
        .zip(&verdicts)
        .map(|(edge, verdict)| alone(field, edge, clocks, *verdict, &spans, &durations))
        .collect();
    let chances = Chances::of(field);
    let mut rivals =
        Rivals::new(edges.iter().map(|edge| [edge.connecting, edge.accepting]).collect(), field.halves.len());
    let mut learned = Learned::new(&names, totals);
    let mut odds = Vec::new();
    let (mut beliefs, mut counts) = (vec![0.0; edges.len()], vec![0.0; edges.len()]);
    for _ in 0..ROUNDS {
        odds = (0..edges.len())
            .map(|place| {
                let chance = chances.of_edge(field, &edges[place]);
                likely[place] + learned.says(ways[place], kept[place], chance, counts[place])
            })
            .collect();
        beliefs = rivals.beliefs(&odds);
        // One that is as likely as a rival tells nothing of where translations lead.
        counts = rivals.leads(&beliefs);
        learned.learn(&ways, &kept, &counts);
    }
    let judged = |place: usize| Judged {
        odds: odds[place],
        belief: beliefs[place],
        evidence: Evidence {
            turns: edges[place].likeness.turns,
            totals: edges[place].likeness.totals,
            fingerprints: edges[place].likeness.fingerprints,
            port: kept[place].0[0],
            client: kept[place].0[1],
            server: kept[place].0[2],
            agreeing: verdicts[place]
                .filter(|verdict| verdict.trust > 0.5)
                .map_or(0, |verdict| verdict.support),
            alike: learned.both[ways[place].both as usize] as f32,
        },
    };
    (0..edges.len()).map(judged).collect()
}

/// What the two ends share, against how common it is, and whether the times fit; in nats.
fn alone(
    field: &Field,
    edge: &Edge,
    clocks: &Clocks,
    verdict: Option<Verdict>,
    spans: &FxHashMap<u32, f64>,
    durations: &FxHashMap<SocketAddr, f64>,
) -> f64 {
    let alike = field.alike(edge).map(f64::from);
    let rare = field.accepting.len().max(field.connecting.len()) as f64 * (-edge.likeness.information).exp();
    let chance = rare.max(alike[0]).max(alike[1]).max(LEAST_CHANCE);
    let times = verdict.map_or(0.0, |verdict| {
        let span = spans.get(&field.half(edge.accepting).host).copied().unwrap_or(1e9);
        let one = field.half(edge.connecting);
        let long = durations.get(&one.peer).map_or(1.0, |usual| duration(one) / usual);
        let width = edge.window.width().max(SLACK) as f64;
        let wide = clocks.usual_width(field, edge).map_or(1.0, |usual| width / usual);
        let fits = span * verdict.density * likeness_of_width(wide, long);
        (verdict.trust * fits + (1.0 - verdict.trust) + 1e-12).ln()
    });
    edge.pauses + times - chance.ln()
}

/// How much a window that is so many times as `wide` as usual is like one of a true pair, against one of a false pair.
/// Much narrower it never is, as no byte goes faster than that. Much wider it is now and then; where the connection took as many times as `long` as
/// usual that is no wonder, and would be so with any other as well.
fn likeness_of_width(wide: f64, long: f64) -> f64 {
    let usual = |times: f64| times.powi(3) / (1.0 + times * times).powi(2);
    let most = usual(1.0);
    if wide <= 1.0 { usual(wide) } else { (most * usual(wide) / usual(long.max(1.0))).min(most) }
}

/// How long a half flow lasted, in nanoseconds.
fn duration(half: &HalfFlow) -> f64 {
    let last = half.sent.last.max(half.received.last);
    (last - half.made).max(1) as f64
}

/// How long the connections to each name usually last.
fn durations(field: &Field) -> FxHashMap<SocketAddr, f64> {
    let mut all: FxHashMap<SocketAddr, Vec<f64>> = FxHashMap::default();
    for place in &field.connecting {
        let half = field.half(*place);
        all.entry(half.peer).or_default().push(duration(half));
    }
    all.into_iter().filter_map(|(name, mut all)| Some((name, median(&mut all)?))).collect()
}

/// How long each host was seen to accept, in nanoseconds, and no less than a second.
fn spans(field: &Field) -> FxHashMap<u32, f64> {
    let mut ranges: FxHashMap<u32, (i64, i64)> = FxHashMap::default();
    for place in &field.accepting {
        let half = field.half(*place);
        let range = ranges.entry(half.host).or_insert((half.made, half.made));
        *range = (range.0.min(half.made), range.1.max(half.made));
    }
    ranges.into_iter().map(|(host, (first, last))| (host, ((last - first) as f64).max(1e9))).collect()
}

fn kept(one: &HalfFlow, other: &HalfFlow) -> Kept {
    Kept([
        one.local.port() == other.peer.port(),
        one.local.ip() == other.peer.ip() && !one.local.ip().is_loopback(),
        one.peer == other.local && !one.peer.ip().is_loopback(),
    ])
}

/// Numbers for the names that candidates have.
#[derive(Debug, Default)]
struct Names {
    virtual_names: FxHashMap<SocketAddr, u32>,
    reals: FxHashMap<SocketAddr, u32>,
    both: FxHashMap<(u32, u32, Option<IpAddr>), u32>,
}

impl Names {
    fn way(&mut self, field: &Field, edge: &Edge) -> Way {
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
struct Chances {
    /// How many accepting ends have a peer of that address, and are of that name.
    addresses: FxHashMap<IpAddr, f64>,
    names: FxHashMap<SocketAddr, f64>,
    all: f64,
}

impl Chances {
    fn of(field: &Field) -> Chances {
        let (mut addresses, mut names) = (FxHashMap::default(), FxHashMap::default());
        for place in &field.accepting {
            let half = field.half(*place);
            *addresses.entry(half.peer.ip()).or_insert(0.0) += 1.0;
            *names.entry(half.local).or_insert(0.0) += 1.0;
        }
        Chances { addresses, names, all: field.accepting.len().max(1) as f64 }
    }

    /// Of an equal port, an equal client's address, an equal server's name.
    fn of_edge(&self, field: &Field, edge: &Edge) -> [f64; 3] {
        let one = field.half(edge.connecting);
        let share = |count: Option<&f64>| (count.copied().unwrap_or(0.0) / self.all).clamp(1e-3, 0.9);
        [1.0 / PORTS, share(self.addresses.get(&one.local.ip())), share(self.names.get(&one.peer))]
    }
}

/// What has been learned of the translations: expected numbers of matches.
#[derive(Debug)]
struct Learned {
    /// Flows by virtual name and by real name.
    totals: [Vec<f64>; 2],
    /// Matches of them.
    matches: [Vec<f64>; 2],
    both: Vec<f64>,
    /// In how many of the matches of a virtual name the parts were kept.
    kept: Vec<[f64; 3]>,
    rounds: u32,
}

impl Learned {
    fn new(names: &Names, totals: [Vec<f64>; 2]) -> Learned {
        Learned {
            matches: [vec![0.0; totals[0].len()], vec![0.0; totals[1].len()]],
            both: vec![0.0; names.both.len()],
            kept: vec![[0.0; 3]; totals[0].len()],
            totals,
            rounds: 0,
        }
    }

    /// What the candidate's names say, in nats, leaving out what is known from itself (as much of a match as it counts).
    fn says(&self, way: Way, kept: Kept, chance: [f64; 3], itself: f64) -> f64 {
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

    fn learn(&mut self, ways: &[Way], kept: &[Kept], counts: &[f64]) {
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
