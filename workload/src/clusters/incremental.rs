//! Incremental clusters: each request joins the nearest cluster or begins a new one (section 5).

use rustc_hash::FxHashMap;

use super::gathered::{Gathered, RequestFacts};
use super::scaled::Character;
use super::{Growing, Scaled, distance};
use crate::canonical::Canonical;
use crate::tuning::MAX_CLUSTERS;

/// Clusters to which requests are added one by one. Memory does not grow with their number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Incremental {
    clusters: Vec<Growing>,
    /// Number of each cluster. Numbers are not given twice.
    numbers: Vec<u64>,
    next: u64,
    /// Clusters by the text of their representatives.
    by_text: FxHashMap<Vec<Character>, Vec<u32>>,
    /// Requests whose clusters were given up.
    given_up: Gathered,
}

impl Incremental {
    /// Goes on with clusters that there are.
    pub(crate) fn of(clusters: Vec<Growing>) -> Incremental {
        let next = clusters.len() as u64;
        let numbers = (0..next).collect();
        let mut incremental = Incremental { clusters, numbers, next, ..Incremental::default() };
        incremental.sort_by_text();
        incremental
    }

    /// Adds a request to the nearest cluster, or to a new one where it is farther than `threshold`
    /// from all. Returns the number of its cluster.
    pub(crate) fn add(&mut self, of: &Canonical, facts: &RequestFacts, threshold: f32) -> u64 {
        let scaled = Scaled::of(of);
        let found = self.nearest(&scaled, threshold);
        let (place, far) = found.unwrap_or_else(|| (self.begin(of, facts, &scaled), 0.0));
        self.clusters[place].add(&scaled, of, facts, far);
        self.numbers[place]
    }

    /// The nearest cluster that is within the limit, by its place, and how far it is. Of equally
    /// near ones it is the first.
    pub(crate) fn nearest(&self, scaled: &Scaled, limit: f32) -> Option<(usize, f32)> {
        let mut nearest: Option<(f32, usize)> = None;
        let mut look = |number: usize| {
            let limit = nearest.map_or(limit, |(far, _)| far);
            if let Some(far) = distance(scaled, &self.clusters[number].center, limit) {
                let here = (far, number);
                nearest = Some(nearest.filter(|nearest| *nearest <= here).unwrap_or(here));
            }
        };
        // Clusters of its own text are the likeliest, and what they leave bounds the others.
        let alike = self.by_text.get(&scaled.text).map_or(&[][..], |of| of);
        alike.iter().for_each(|number| look(*number as usize));
        for (number, cluster) in self.clusters.iter().enumerate() {
            if cluster.center.text != scaled.text {
                look(number);
            }
        }
        nearest.map(|(far, number)| (number, far))
    }

    /// All clusters.
    pub(crate) fn clusters(&self) -> &[Growing] {
        &self.clusters
    }

    /// The number of each cluster, as [`Incremental::add`] gives it.
    pub(crate) fn numbers(&self) -> &[u64] {
        &self.numbers
    }

    /// Requests whose clusters were given up.
    pub(crate) fn given_up(&self) -> &Gathered {
        &self.given_up
    }

    fn begin(&mut self, of: &Canonical, facts: &RequestFacts, scaled: &Scaled) -> usize {
        let fresh = Growing::around(of.clone(), *facts);
        self.next += 1;
        if self.clusters.len() < MAX_CLUSTERS {
            let number = self.clusters.len();
            self.by_text.entry(scaled.text.clone()).or_default().push(number as u32);
            self.clusters.push(fresh);
            self.numbers.push(self.next - 1);
            return number;
        }
        // The smallest cluster that is longest without a new member makes room.
        let age = |of: &Growing| (of.gathered.count, of.gathered.times.map(|(_, last)| last));
        let oldest = (0..self.clusters.len()).min_by_key(|at| age(&self.clusters[*at]));
        let number = oldest.unwrap_or_default();
        let gone = std::mem::replace(&mut self.clusters[number], fresh);
        self.given_up.append(gone.gathered);
        self.numbers[number] = self.next - 1;
        self.sort_by_text();
        number
    }

    fn sort_by_text(&mut self) {
        self.by_text.clear();
        for (number, cluster) in self.clusters.iter().enumerate() {
            let of = self.by_text.entry(cluster.center.text.clone()).or_default();
            of.push(number as u32);
        }
    }
}
