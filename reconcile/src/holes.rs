//! What could have been recorded and was not, by program and cause: so that whoever reads a result knows whose part
//! of it is missing.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::capture::Capture;

/// Something that is missing of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Hole {
    /// The program, with its host where there are several.
    pub program: String,
    /// Why it is missing.
    pub cause: String,
    /// How many records.
    pub records: u64,
}

/// The holes of `lost`: for the place of a process and a cause, how many records there are. The largest comes first.
pub(crate) fn of(capture: &Capture, lost: &[(u32, &'static str, u64)]) -> Vec<Hole> {
    let many = capture.hosts.len() > 1;
    let mut sums: BTreeMap<(String, &str), u64> = BTreeMap::new();
    for (place, cause, records) in lost {
        let Some(process) = capture.processes.get(*place as usize) else { continue };
        let node = &process.node;
        let program = if many { format!("{}/{}", node.host, node.command) } else { node.command.clone() };
        let sum = sums.entry((program, cause)).or_default();
        *sum = sum.saturating_add(*records);
    }
    let holes = sums.into_iter().map(|((program, cause), records)| Hole {
        program,
        cause: cause.to_owned(),
        records,
    });
    let mut holes: Vec<Hole> = holes.collect();
    holes.sort_by_key(|hole| std::cmp::Reverse(hole.records));
    holes
}
