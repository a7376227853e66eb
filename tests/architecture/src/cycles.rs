//! Cycles: each module of a cycle uses all others of it, directly or indirectly.

use std::collections::{BTreeMap, BTreeSet};

use crate::source::CrateSources;

/// A node of the graph of modules: its path from the crate's root.
type ModulePath = Vec<String>;

impl CrateSources {
    /// All cycles of files.
    pub fn file_cycles(&self) -> Vec<Vec<ModulePath>> {
        let dependencies = self
            .module_dependencies()
            .into_iter()
            .map(|dependency| (dependency.from, dependency.to));
        find_cycles(dependencies.collect())
    }

    /// Cycles of folders: each module of a folder counts as one node, with everything inside it. A
    /// folder's own file is not one of its modules.
    pub fn folder_cycles(&self) -> Vec<Vec<ModulePath>> {
        let mut folders: BTreeSet<(ModulePath, ModulePath)> = BTreeSet::new();
        for dependency in self.module_dependencies() {
            let shared = dependency
                .from
                .iter()
                .zip(&dependency.to)
                .take_while(|(one, two)| one == two)
                .count();
            if shared < dependency.from.len() && shared < dependency.to.len() {
                folders.insert((
                    dependency.from[..=shared].to_vec(),
                    dependency.to[..=shared].to_vec(),
                ));
            }
        }
        find_cycles(folders)
    }
}

/// Groups of more than one node that reach each other.
fn find_cycles(dependencies: BTreeSet<(ModulePath, ModulePath)>) -> Vec<Vec<ModulePath>> {
    let mut next: BTreeMap<&ModulePath, Vec<&ModulePath>> = BTreeMap::new();
    for (from, to) in &dependencies {
        next.entry(from).or_default().push(to);
    }
    let reached = |from: &ModulePath| {
        let mut seen: BTreeSet<ModulePath> = BTreeSet::new();
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
    let nodes: BTreeSet<&ModulePath> =
        dependencies.iter().flat_map(|(from, to)| [from, to]).collect();
    let reached: BTreeMap<&ModulePath, BTreeSet<ModulePath>> =
        nodes.iter().map(|node| (*node, reached(node))).collect();
    let mut found: BTreeSet<Vec<ModulePath>> = BTreeSet::new();
    for (node, seen) in &reached {
        if seen.contains(*node) {
            let cycle = seen.iter().filter(|other| reached[other].contains(*node)).cloned();
            found.insert(cycle.collect());
        }
    }
    found.into_iter().collect()
}
