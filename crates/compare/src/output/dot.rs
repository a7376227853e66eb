//! Mutations as Graphviz graphs (Spectroscope, Figure 2): the originator, or the category in the
//! first period, next to the mutation. Changes are red and thick.

use std::io::{self, Write};

use message_trace::units::{format_duration, format_expected, to_printable};

use super::category_tree::CategoryTree;
use super::comparison_report::ComparisonReport;
use super::described::DescribedMutation;
use super::trace_events::mutation_sides;

/// Writes the first `limit` mutations.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_dot(answer: &ComparisonReport, limit: usize, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "digraph diff {{")?;
    writeln!(out, "  graph [rankdir=LR, fontname=\"sans-serif\"];")?;
    writeln!(out, "  node [shape=box, fontname=\"sans-serif\", fontsize=10];")?;
    writeln!(out, "  edge [fontname=\"sans-serif\", fontsize=9];")?;
    for (number, mutation) in answer.mutations.iter().take(limit).enumerate() {
        for (side, (title, tree, period)) in mutation_sides(mutation).into_iter().enumerate() {
            let name = format!("m{number}s{side}");
            write_cluster(mutation, tree, (&name, number, title), period, out)?;
        }
    }
    writeln!(out, "}}")
}

fn write_cluster(
    mutation: &DescribedMutation,
    tree: &CategoryTree,
    (name, number, title): (&str, usize, &str),
    period: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    let label = format!(
        "#{} {title}: {} requests, mean {}",
        number + 1,
        format_expected(tree.counts[period]),
        format_duration(tree.mean_ns[period])
    );
    writeln!(out, "  subgraph cluster_{name} {{")?;
    writeln!(out, "    label={};", quote_lines(&[&label]))?;
    let parting = mutation.originators.first().map(|originator| {
        if title == "originator" { originator.parting[1] } else { originator.parting[0] }
    });
    let red = ", color=red, fontcolor=red, penwidth=2";
    for (place, of) in (0_u32..).zip(&tree.places) {
        let changed = |network: bool| {
            let is_hop = mutation.hops.iter().any(|hop| {
                let is_network = hop.what == crate::analysis::HopKind::Network;
                hop.place == place && is_network == network
            });
            is_hop || (!network && parting == Some(place))
        };
        let color = |is: bool| if is { red } else { "" };
        let repeated = if of.repeated { " (several times)" } else { "" };
        let failed = if of.failed { " (fails)" } else { "" };
        let operation = format!("{}{repeated}{failed}", to_printable(&of.operation));
        let own = format_duration(of.own_ns[period]).to_string();
        let lines = quote_lines(&[&to_printable(&of.node), &operation, &own]);
        writeln!(out, "    {name}p{place} [label={lines}{}];", color(changed(false)))?;
        if let Some(parent) = of.parent {
            let transfer = match of.network_ns[period] {
                transfer if transfer > 0.0 => format_duration(transfer).to_string(),
                _ => String::new(),
            };
            let style = if of.concurrent { ", style=dashed" } else { "" };
            let color = color(changed(true));
            writeln!(
                out,
                "    {name}p{parent} -> {name}p{place} [label={}{style}{color}];",
                quote_lines(&[&transfer])
            )?;
        }
    }
    writeln!(out, "  }}")
}

/// Lines as a quoted Graphviz string.
fn quote_lines(lines: &[&str]) -> String {
    let quoted = |line: &&str| line.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{}\"", lines.iter().map(quoted).collect::<Vec<_>>().join("\\n"))
}
