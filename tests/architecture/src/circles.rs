//! Circles: each module of a circle uses all others of it, directly or by way of others.

use std::collections::{BTreeMap, BTreeSet};

use crate::source::Crate;

/// A node of the graph of modules: its path from the crate's root.
type Path = Vec<String>;

impl Crate {
    /// All circles of files.
    pub fn circles(&self) -> Vec<Vec<Path>> {
        let arrows = self.arrows().into_iter().map(|arrow| (arrow.from, arrow.to));
        circles(arrows.collect())
    }

    /// Circles of rooms: in each folder, its modules with all that is inside them are taken as one
    /// each. A folder's own file is not one of its modules.
    pub fn circles_of_rooms(&self) -> Vec<Vec<Path>> {
        let mut rooms: BTreeSet<(Path, Path)> = BTreeSet::new();
        for arrow in self.arrows() {
            let shared =
                arrow.from.iter().zip(&arrow.to).take_while(|(one, two)| one == two).count();
            if shared < arrow.from.len() && shared < arrow.to.len() {
                rooms.insert((arrow.from[..=shared].to_vec(), arrow.to[..=shared].to_vec()));
            }
        }
        circles(rooms)
    }
}

/// Groups of more than one node that reach each other.
fn circles(arrows: BTreeSet<(Path, Path)>) -> Vec<Vec<Path>> {
    let mut next: BTreeMap<&Path, Vec<&Path>> = BTreeMap::new();
    for (from, to) in &arrows {
        next.entry(from).or_default().push(to);
    }
    let reached = |from: &Path| {
        let mut seen: BTreeSet<Path> = BTreeSet::new();
        let mut open = vec![from];
        while let Some(node) = open.pop() {
            for to in next.get(node).into_iter().flatten() {
                if seen.insert((*to).clone()) {
                    open.push(to);
                }
            }
        }
        seen
    };
    let nodes: BTreeSet<&Path> = arrows.iter().flat_map(|(from, to)| [from, to]).collect();
    let reached: BTreeMap<&Path, BTreeSet<Path>> =
        nodes.iter().map(|node| (*node, reached(node))).collect();
    let mut found: BTreeSet<Vec<Path>> = BTreeSet::new();
    for (node, seen) in &reached {
        if seen.contains(*node) {
            let circle = seen.iter().filter(|other| reached[other].contains(*node)).cloned();
            found.insert(circle.collect());
        }
    }
    found.into_iter().collect()
}
