//! Graphs for Graphviz (`dot -Tsvg`), one file each: a pattern message by message, a pattern call
//! by call (Figure 8 of Project 5), the delays that the convolution algorithm finds (Figure 9), and
//! the map of the system. Shared code is in [`text`].

mod calls;
mod delays;
mod map;
mod pattern;
mod text;

use std::ops::ControlFlow;

use analyze::calls::windows::for_each_window;
use analyze::infer::convolution::DelayGraph;
use analyze::system_map::CallMapBuilder;
use registry::{EntryHelp, Flag, FlagChoice, FlagValues, Spec};

use crate::error::Error;
use crate::exporter::{ExportOutput, ExportSource, Exporter, RequiredStage, TraceCount};
use crate::exporter_spec::{ExporterEntry, ExporterSpec};
use crate::flags::{LIMIT, PATTERN};
use crate::patterns::one_pattern;
use crate::tuning::MAX_EDGES;

/// The graph to draw.
static WHAT: Flag<GraphKind> =
    Flag::one_of("what", "GRAPH", graph_choices, parse_graph, "For dot: the graph to draw")
        .refused("--what is for dot only");

fn graph_choices() -> Vec<FlagChoice> {
    let choice = |name, alias, help| FlagChoice { name, alias, help };
    vec![
        choice("pattern", None, "A pattern, message by message"),
        choice("calls", Some("figure8"), "A pattern, call by call: Figure 8 of Project 5"),
        choice(
            "delays",
            Some("figure9"),
            "The delays that the convolution algorithm finds: Figure 9 of Project 5",
        ),
        choice("map", None, "Callers and callees, with the rate and duration of calls"),
    ]
}

fn parse_graph(name: &str) -> Result<GraphKind, String> {
    match name {
        "calls" | "figure8" => Ok(GraphKind::Calls),
        "delays" | "figure9" => Ok(GraphKind::Delays),
        "map" => Ok(GraphKind::Map),
        _ => Ok(GraphKind::Pattern),
    }
}

/// The entry in the registry.
pub(crate) static DOT: ExporterSpec = Spec {
    about: EntryHelp {
        name: "dot",
        summary: "A pattern, the map of the system or the paper's figures as a graph of Graphviz",
        examples: &["sockcap export dot --what map | dot -Tsvg > map.svg"],
        ..EntryHelp::NOTHING
    },
    flags: &[&WHAT, &PATTERN, &LIMIT],
    entry: ExporterEntry { opened_by: "Graphviz", make: build_exporter },
};

/// An exporter of graphs, with its options.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct DotExporter {
    /// The graph to draw.
    pub graph: GraphKind,
    /// The number of the pattern, for a graph that shows one pattern. The default is 0.
    pub pattern: Option<i64>,
    /// Maximum number of edges, for a graph that shows no pattern. The default is [`MAX_EDGES`].
    pub limit: Option<usize>,
}

/// The kind of graph that is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum GraphKind {
    /// A pattern, message by message.
    #[default]
    Pattern,
    /// A pattern, call by call: Figure 8 of Project 5.
    Calls,
    /// The delays that the convolution algorithm finds: Figure 9 of Project 5.
    Delays,
    /// Callers and callees, with the rate and duration of calls.
    Map,
}

/// Builds the exporter from the user's options. Two of the graphs show one pattern, the others show
/// all.
fn build_exporter(given: &FlagValues) -> Result<Box<dyn Exporter>, String> {
    let graph = given.get(&WHAT).unwrap_or_default();
    let is_of_all = matches!(graph, GraphKind::Map | GraphKind::Delays);
    match (is_of_all, given.is_given(&PATTERN), given.is_given(&LIMIT)) {
        (true, true, _) => Err(PATTERN.spec.refusal()),
        (false, _, true) => Err(LIMIT.spec.refusal()),
        _ => Ok(Box::new(DotExporter {
            graph,
            pattern: given.get(&PATTERN),
            limit: given.get(&LIMIT),
        })),
    }
}

impl Exporter for DotExporter {
    fn required_stage(&self) -> RequiredStage {
        RequiredStage::Analysis
    }

    fn write_export(
        &self,
        source: &ExportSource<'_>,
        output: &mut ExportOutput<'_>,
    ) -> Result<Option<TraceCount>, Error> {
        let pattern = || one_pattern(source.data, self.pattern.unwrap_or_default());
        let (edges, out) = (self.limit.unwrap_or(MAX_EDGES), &mut *output.writer);
        match self.graph {
            GraphKind::Pattern => {
                pattern()?.iter().try_for_each(|pattern| pattern::draw_pattern(pattern, out))?;
            }
            GraphKind::Calls => {
                pattern()?.iter().try_for_each(|pattern| calls::draw_calls(pattern, out))?
            }
            GraphKind::Delays => {
                let options = source.read_analysis()?.options;
                let graph = DelayGraph::from_data(source.data, &options, source.progress)?;
                delays::draw_delays(&graph, edges, out)?;
            }
            GraphKind::Map => {
                let mut map = CallMapBuilder::default();
                for_each_window::<Error>(
                    source.data,
                    &source.read_analysis()?.options,
                    |window| {
                        map.add_window(window);
                        Ok(ControlFlow::Continue(()))
                    },
                )?;
                map::draw_map(&map.finish(), edges, out)?;
            }
        }
        output.writer.flush()?;
        Ok(None)
    }
}
