//! The calling-context tree as a Graphviz graph (Figure 7): the reduced tree, with the parts of the
//! timing model filled, merged contexts as one, and dashed lines from rare contexts to the nodes
//! that they are linked to.

use std::io;

use message_trace::units::{format_count, format_duration, to_printable};
use rustc_hash::FxHashMap;

use crate::analysis::ContextAnalysis;
use crate::result::{ContextProfile, ContextSummary, ResponseTimes};
use crate::tree::{LeafKind, ModelLeaf};

/// Writes the tree of the first `limit` operations.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_dot_tree(
    analysis: &ContextAnalysis,
    limit: usize,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let linked = analysis.model.leaves.iter().filter(|leaf| leaf.kind == LeafKind::Linked);
    let linked = linked.filter_map(|leaf| Some((*leaf.contexts.first()?, leaf))).collect();
    let mut drawing = TreeDrawing { analysis, linked, out };
    drawing.draw_tree(limit)?;
    for operation in analysis.profile.operations.iter().take(limit) {
        let lines = [operation.name.clone(), summary_figures(&operation.summary)];
        drawing.draw_node(operation.id, 0, &lines)?;
        for context in &operation.contexts {
            drawing.draw_context(operation.id, context)?;
        }
    }
    writeln!(drawing.out, "}}")
}

struct TreeDrawing<'a> {
    analysis: &'a ContextAnalysis,
    /// The part of the model for the contexts that are linked to a node.
    linked: FxHashMap<u32, &'a ModelLeaf>,
    out: &'a mut dyn io::Write,
}

impl TreeDrawing<'_> {
    fn draw_tree(&mut self, limit: usize) -> io::Result<()> {
        let profile = &self.analysis.profile;
        let label = format!(
            "calling-context tree: {} of {} operations, {} parts of the timing model",
            format_count(profile.operations.len().min(limit) as u64),
            format_count(profile.totals.operations),
            format_count(self.analysis.model.leaves.len() as u64),
        );
        let label = quote_lines(&[&label]);
        writeln!(self.out, "digraph contexts {{")?;
        writeln!(
            self.out,
            "  graph [rankdir=LR, label={label}, labelloc=t, fontname=\"sans-serif\"];"
        )?;
        writeln!(self.out, "  node [shape=box, fontname=\"sans-serif\", fontsize=10];")?;
        let steps = format!("{} steps", format_count(profile.totals.steps));
        writeln!(self.out, "  n0 [label={}];", quote_lines(&["all executions", &steps]))
    }

    fn draw_context(&mut self, parent: u32, context: &ContextProfile) -> io::Result<()> {
        let Some(leaf) = self.find_leaf(context.id) else {
            // The node is above the parts of the model.
            self.draw_node(
                context.id,
                parent,
                &[context.name.clone(), summary_figures(&context.summary)],
            )?;
            return context
                .contexts
                .iter()
                .try_for_each(|inner| self.draw_context(context.id, inner));
        };
        if leaf.contexts.first() != Some(&context.id) || leaf.kind == LeafKind::Linked {
            // The node of the merged or linked context stands for this context.
            return Ok(());
        }
        let name = match leaf.contexts.len() {
            1 => context.name.clone(),
            many => format!("{} and {} alike", context.name, many - 1),
        };
        let lines = [name, time_figures(leaf.calls, leaf.times.as_ref())];
        self.draw_node(context.id, parent, &lines)
    }

    fn draw_node(&mut self, id: u32, parent: u32, lines: &[String; 2]) -> io::Result<()> {
        let style = match self.find_leaf(id) {
            Some(_) => ", style=filled, fillcolor=\"#dde8f5\"",
            None => "",
        };
        let label = quote_lines(&lines.each_ref().map(String::as_str));
        writeln!(self.out, "  n{id} [label={label}{style}];")?;
        writeln!(self.out, "  n{parent} -> n{id};")?;
        let Some(linked) = self.linked.get(&id) else { return Ok(()) };
        let rare = format!("{} calls in rare contexts", format_count(linked.calls.round() as u64));
        let label = quote_lines(&[&rare, "use the response times of all"]);
        writeln!(
            self.out,
            "  l{id} [label={label}, style=\"filled,dashed\", fillcolor=\"#f2f2f2\"];"
        )?;
        writeln!(self.out, "  l{id} -> n{id} [style=dashed];")
    }

    /// The part of the timing model that contains all executions of a node; `None` if several do.
    fn find_leaf(&self, id: u32) -> Option<&ModelLeaf> {
        let part = self.analysis.model.leaf_of.get(id as usize).copied().flatten()?;
        self.analysis.model.leaves.get(part as usize)
    }
}

fn summary_figures(summary: &ContextSummary) -> String {
    time_figures(summary.times.as_ref().map_or(0.0, |times| times.weight), summary.times.as_ref())
}

fn time_figures(calls: f64, times: Option<&ResponseTimes>) -> String {
    let calls = format_count(calls.round() as u64);
    match times {
        None => "no response time".to_owned(),
        Some(times) => format!(
            "{calls} calls, mean {}, deviation {}",
            format_duration(times.mean),
            format_duration(times.deviation)
        ),
    }
}

/// The lines as one quoted Graphviz string.
fn quote_lines(lines: &[&str]) -> String {
    let escaped = |line: &&str| {
        let line = to_printable(line).replace('\\', "\\\\").replace('"', "\\\"");
        // Graphviz interprets HTML entities in strings.
        line.replace('&', "&amp;")
    };
    format!("\"{}\"", lines.iter().map(escaped).collect::<Vec<_>>().join("\\n"))
}
