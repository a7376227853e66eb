//! The list of mutations in descending order of contribution, each next to its originator.

use std::io::{self, Write};

use compare::output::{ComparisonReport, DescribedHop, DescribedMutation, TreePlace};
use message_trace::units::{
    count_noun, format_count, format_duration, format_expected, format_whole_percent, to_printable,
};

use crate::output;
use crate::table::{ColumnAlignment, ScreenTable};

/// Writes at most `limit` mutations.
pub(super) fn write_mutations(
    answer: &ComparisonReport,
    limit: usize,
    out: &mut impl Write,
) -> io::Result<()> {
    if answer.mutations.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    let right = ["CONTRIBUTES", "REQUESTS", "NOW", "MEAN", "NOW"];
    let mut head: Vec<(&'static str, ColumnAlignment)> =
        right.map(|name| (name, ColumnAlignment::Right)).to_vec();
    head.push(("MUTATION", ColumnAlignment::Left));
    let mut table = ScreenTable::new(&head);
    for mutation in answer.mutations.iter().take(limit) {
        table.add_row(mutation_cells(mutation), lines_below(mutation));
    }
    table.write_table(output::width_limit(), out)?;
    match answer.mutations.len().saturating_sub(limit) {
        0 => Ok(()),
        more => {
            let mutations = count_noun(more as u64, "more mutation", "more mutations");
            writeln!(out, "and {mutations}; --limit shows them")
        }
    }
}

fn mutation_cells(mutation: &DescribedMutation) -> Vec<String> {
    let tree = &mutation.tree;
    let sign = if mutation.contribution_ns < 0.0 { "-" } else { "+" };
    let time = |side: usize| match tree.timed[side] > 0 {
        true => format_duration(tree.mean_ns[side]).to_string(),
        false => "–".to_owned(),
    };
    vec![
        format!("{sign}{}", format_duration(mutation.contribution_ns.abs())),
        format_expected(tree.counts[0]),
        format_expected(tree.counts[1]),
        time(0),
        time(1),
        mutation_name(mutation),
    ]
}

/// A short description of the requests of a mutation.
fn mutation_name(mutation: &DescribedMutation) -> String {
    let root = mutation.tree.places.first().map_or("?".to_owned(), place_words);
    let steps = count_noun(mutation.tree.places.len() as u64, "step", "steps");
    match mutation.kind {
        "structural" => format!("more {root} with {steps}"),
        _ => format!("{root} with {steps}"),
    }
}

fn place_words(of: &TreePlace) -> String {
    let failed = if of.failed { " (fails)" } else { "" };
    let node = to_printable(&of.node);
    if of.operation.is_empty() || of.operation == of.node {
        format!("{node}{failed}")
    } else {
        format!("{node} {}{failed}", to_printable(&of.operation))
    }
}

/// Lines below the row of a mutation: its changed hops, its share, its originator, and what
/// explains it.
fn lines_below(mutation: &DescribedMutation) -> Vec<String> {
    let places = &mutation.tree.places;
    let name = |number: u32| places.get(number as usize).map_or("?".to_owned(), place_words);
    let hop = |hop: &DescribedHop| {
        let way = match hop.what {
            compare::analysis::HopKind::Own => "",
            compare::analysis::HopKind::Network => "the way to ",
        };
        let [before, after] = hop.mean_ns;
        format!(
            "{way}{}: {} → {}",
            name(hop.place),
            format_duration(before),
            format_duration(after)
        )
    };
    let mut lines: Vec<String> = mutation.hops.iter().take(MAX_HOPS).map(hop).collect();
    if let Some([before, after]) = mutation.shares {
        let shares = format!("{} → {}", format_whole_percent(before), format_whole_percent(after));
        lines.push(format!("its share of such requests: {shares}"));
    }
    if let Some(originator) = mutation.originators.first() {
        let [here, there] = originator.parting;
        let tree = &originator.tree;
        let there = tree.places.get(there as usize).map_or("?".to_owned(), place_words);
        let were =
            format!("{} → {}", format_expected(tree.counts[0]), format_expected(tree.counts[1]));
        let steps = count_noun(tree.places.len() as u64, "step", "steps");
        let more = match mutation.originators.len() - 1 {
            0 => String::new(),
            1 => "; another one is equally likely".to_owned(),
            more => format!("; {} others are equally likely", format_count(more as u64)),
        };
        let here = name(here);
        let part = if here == there { here } else { format!("{here} in place of {there}") };
        lines.push(format!("before: {steps}, {were} requests; they diverge at {part}{more}"));
    }
    let sentences = mutation.explanation.iter().flat_map(|explanation| &explanation.sentences);
    lines.extend(
        sentences.take(MAX_SENTENCES).map(|sentence| format!("explained by {}", sentence.text)),
    );
    lines
}

/// Maximum number of hops shown of a mutation.
const MAX_HOPS: usize = 3;

/// Maximum number of sentences that explain a mutation.
const MAX_SENTENCES: usize = 2;
