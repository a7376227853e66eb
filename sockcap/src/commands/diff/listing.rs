//! The list of mutations, the one that contributes most first, each beside its originator.

use std::io::{self, Write};

use compare::output::{Answer, DescribedHop, DescribedMutation, TreePlace};
use message_trace::units::{count, duration, expected, plural, printable, whole_percent};

use crate::output;
use crate::table::{Side, Table};

/// Writes at most `limit` mutations.
pub(super) fn write(answer: &Answer, limit: usize, out: &mut impl Write) -> io::Result<()> {
    if answer.mutations.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    let right = ["CONTRIBUTES", "REQUESTS", "NOW", "MEAN", "NOW"];
    let mut head: Vec<(&'static str, Side)> = right.map(|name| (name, Side::Right)).to_vec();
    head.push(("MUTATION", Side::Left));
    let mut table = Table::new(&head);
    for mutation in answer.mutations.iter().take(limit) {
        table.row(row(mutation), below(mutation));
    }
    table.write(output::limit(), out)?;
    match answer.mutations.len().saturating_sub(limit) {
        0 => Ok(()),
        more => {
            let mutations = plural(more as u64, "more mutation", "more mutations");
            writeln!(out, "and {mutations}; --limit shows them")
        }
    }
}

fn row(mutation: &DescribedMutation) -> Vec<String> {
    let tree = &mutation.tree;
    let sign = if mutation.contribution_ns < 0.0 { "-" } else { "+" };
    let time = |side: usize| match tree.timed[side] > 0 {
        true => duration(tree.mean_ns[side]).to_string(),
        false => "–".to_owned(),
    };
    vec![
        format!("{sign}{}", duration(mutation.contribution_ns.abs())),
        expected(tree.counts[0]),
        expected(tree.counts[1]),
        time(0),
        time(1),
        name(mutation),
    ]
}

/// What the requests of a mutation are, in short.
fn name(mutation: &DescribedMutation) -> String {
    let root = mutation.tree.places.first().map_or("?".to_owned(), place);
    let steps = plural(mutation.tree.places.len() as u64, "step", "steps");
    match mutation.kind {
        "structural" => format!("more {root} with {steps}"),
        _ => format!("{root} with {steps}"),
    }
}

fn place(of: &TreePlace) -> String {
    let failed = if of.failed { " (fails)" } else { "" };
    let node = printable(&of.node);
    if of.operation.is_empty() || of.operation == of.node {
        format!("{node}{failed}")
    } else {
        format!("{node} {}{failed}", printable(&of.operation))
    }
}

fn below(mutation: &DescribedMutation) -> Vec<String> {
    let places = &mutation.tree.places;
    let name = |number: u32| places.get(number as usize).map_or("?".to_owned(), place);
    let hop = |hop: &DescribedHop| {
        let way = match hop.what {
            compare::analysis::HopKind::Own => "",
            compare::analysis::HopKind::Network => "the way to ",
        };
        let [before, after] = hop.mean_ns;
        format!("{way}{}: {} → {}", name(hop.place), duration(before), duration(after))
    };
    let mut lines: Vec<String> = mutation.hops.iter().take(MAX_HOPS).map(hop).collect();
    if let Some([before, after]) = mutation.shares {
        let shares = format!("{} → {}", whole_percent(before), whole_percent(after));
        lines.push(format!("its share of such requests: {shares}"));
    }
    if let Some(originator) = mutation.originators.first() {
        let [here, there] = originator.parting;
        let tree = &originator.tree;
        let there = tree.places.get(there as usize).map_or("?".to_owned(), place);
        let were = format!("{} → {}", expected(tree.counts[0]), expected(tree.counts[1]));
        let steps = plural(tree.places.len() as u64, "step", "steps");
        let more = match mutation.originators.len() - 1 {
            0 => String::new(),
            1 => "; another one is as possible".to_owned(),
            more => format!("; {} others are as possible", count(more as u64)),
        };
        let here = name(here);
        let part = if here == there { here } else { format!("{here} in place of {there}") };
        lines.push(format!("before: {steps}, {were} requests; they part at {part}{more}"));
    }
    let sentences = mutation.explanation.iter().flat_map(|explanation| &explanation.sentences);
    lines
        .extend(sentences.take(MAX_SENTENCES).map(|sentence| format!("told by {}", sentence.text)));
    lines
}

/// Maximum number of hops shown of a mutation.
const MAX_HOPS: usize = 3;

/// Maximum number of sentences that explain a mutation.
const MAX_SENTENCES: usize = 2;
