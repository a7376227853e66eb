//! How sure a pair is. Each candidate has odds against chance: what its two ends share, measured by how common that is;
//! whether its times fit the clocks; and what the translation that it would be part of has kept and has led to elsewhere.
//! The last two are learned from the candidates themselves, in a few rounds: frequent matches make a translation
//! likely, and a likely translation its matches.

use std::fmt;
use std::net::SocketAddr;

use rustc_hash::FxHashMap;

use super::HalfFlow;
use super::beliefs::Rivals;
use super::candidates::{Edge, Field};
use super::difference::median;
use super::learned::{Chances, Kept, Learned, Names, Way, kept};
use super::offsets::{Clocks, Verdict};
use super::timing::SLACK;

/// Rounds of learning.
const ROUNDS: usize = 12;
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
    last.saturating_sub(half.made).max(1) as f64
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
