//! The calling-context tree as a graph of Graphviz (Figure 7): what is left of it, with the parts
//! of the timing model filled, merged contexts as one, and a dashed line to what rare contexts are
//! linked to.

use std::io;

use message_trace::units::{count, duration, printable};
use rustc_hash::FxHashMap;

use crate::analysis::Analysis;
use crate::result::{ContextProfile, Summary, Times};
use crate::tree::{Leaf, LeafKind};

/// Writes the tree of the first `limit` operations.
///
/// # Errors
/// When `out` cannot be written.
pub fn write(analysis: &Analysis, limit: usize, out: &mut dyn io::Write) -> io::Result<()> {
    let linked = analysis.model.leaves.iter().filter(|leaf| leaf.kind == LeafKind::Linked);
    let linked = linked.filter_map(|leaf| Some((*leaf.contexts.first()?, leaf))).collect();
    let mut drawing = Drawing { analysis, linked, out };
    drawing.begin(limit)?;
    for operation in analysis.profile.operations.iter().take(limit) {
        let lines = [operation.name.clone(), figures(&operation.summary)];
        drawing.node(operation.id, 0, &lines)?;
        for context in &operation.contexts {
            drawing.context(operation.id, context)?;
        }
    }
    writeln!(drawing.out, "}}")
}

struct Drawing<'a> {
    analysis: &'a Analysis,
    /// The part of the model for what is linked to a node.
    linked: FxHashMap<u32, &'a Leaf>,
    out: &'a mut dyn io::Write,
}

impl Drawing<'_> {
    fn begin(&mut self, limit: usize) -> io::Result<()> {
        let profile = &self.analysis.profile;
        let label = format!(
            "calling-context tree: {} of {} operations, {} parts of the timing model",
            count(profile.operations.len().min(limit) as u64),
            count(profile.totals.operations),
            count(self.analysis.model.leaves.len() as u64),
        );
        let label = text(&[&label]);
        writeln!(self.out, "digraph contexts {{")?;
        writeln!(
            self.out,
            "  graph [rankdir=LR, label={label}, labelloc=t, fontname=\"sans-serif\"];"
        )?;
        writeln!(self.out, "  node [shape=box, fontname=\"sans-serif\", fontsize=10];")?;
        let steps = format!("{} steps", count(profile.totals.steps));
        writeln!(self.out, "  n0 [label={}];", text(&["all executions", &steps]))
    }

    fn context(&mut self, parent: u32, context: &ContextProfile) -> io::Result<()> {
        let Some(leaf) = self.leaf(context.id) else {
            // It is above the parts of the model.
            self.node(context.id, parent, &[context.name.clone(), figures(&context.summary)])?;
            return context.contexts.iter().try_for_each(|inner| self.context(context.id, inner));
        };
        if leaf.contexts.first() != Some(&context.id) || leaf.kind == LeafKind::Linked {
            // Another node stands for it.
            return Ok(());
        }
        let name = match leaf.contexts.len() {
            1 => context.name.clone(),
            many => format!("{} and {} alike", context.name, many - 1),
        };
        let lines = [name, times(leaf.calls, leaf.times.as_ref())];
        self.node(context.id, parent, &lines)
    }

    fn node(&mut self, id: u32, parent: u32, lines: &[String; 2]) -> io::Result<()> {
        let style = match self.leaf(id) {
            Some(_) => ", style=filled, fillcolor=\"#dde8f5\"",
            None => "",
        };
        let label = text(&lines.each_ref().map(String::as_str));
        writeln!(self.out, "  n{id} [label={label}{style}];")?;
        writeln!(self.out, "  n{parent} -> n{id};")?;
        let Some(linked) = self.linked.get(&id) else { return Ok(()) };
        let rare = format!("{} calls in rare contexts", count(linked.calls.round() as u64));
        let label = text(&[&rare, "use the response times of all"]);
        writeln!(
            self.out,
            "  l{id} [label={label}, style=\"filled,dashed\", fillcolor=\"#f2f2f2\"];"
        )?;
        writeln!(self.out, "  l{id} -> n{id} [style=dashed];")
    }

    fn leaf(&self, id: u32) -> Option<&Leaf> {
        let part = self.analysis.model.leaf_of.get(id as usize).copied().flatten()?;
        self.analysis.model.leaves.get(part as usize)
    }
}

fn figures(summary: &Summary) -> String {
    times(summary.times.as_ref().map_or(0.0, |times| times.weight), summary.times.as_ref())
}

fn times(calls: f64, times: Option<&Times>) -> String {
    let calls = count(calls.round() as u64);
    match times {
        None => "no response time".to_owned(),
        Some(times) => format!(
            "{calls} calls, mean {}, deviation {}",
            duration(times.mean),
            duration(times.deviation)
        ),
    }
}

/// These lines as one quoted text.
fn text(lines: &[&str]) -> String {
    let escaped = |line: &&str| {
        let line = printable(line).replace('\\', "\\\\").replace('"', "\\\"");
        // Graphviz reads entities of HTML in texts.
        line.replace('&', "&amp;")
    };
    format!("\"{}\"", lines.iter().map(escaped).collect::<Vec<_>>().join("\\n"))
}
