//! Graphs for Graphviz (`dot -Tsvg`), one file each: a pattern message by message, a pattern call
//! by call (Figure 8 of Project 5), the delays that the convolution algorithm finds (Figure 9), and
//! the map of the system. Shared code is in [`text`].

mod calls;
mod delays;
mod map;
mod pattern;
mod text;

use std::ops::ControlFlow;
use std::str::FromStr;

use analyze::calls::windows::for_each_window;
use analyze::infer::convolution::DelayGraph;
use analyze::system_map::CallMapBuilder;
use clap::builder::PossibleValue;
use clap::{ArgMatches, Args};
use registry::values::one_of;
use registry::{EntryHelp, Refusal, Spec};

use crate::error::Error;
use crate::exporter::{ExportOutput, ExportSource, Exporter, RequiredStage, TraceCount};
use crate::exporter_spec::{ExporterEntry, ExporterSpec};
use crate::flags::{LIMIT_REFUSAL, PATTERN_REFUSAL, SelectionFlags, read_flags};
use crate::patterns::one_pattern;
use crate::tuning::MAX_EDGES;

/// The flags of graphs.
#[derive(Args)]
struct DotFlags {
    /// For dot: the graph to draw
    #[arg(
        long,
        value_name = "GRAPH",
        value_parser = one_of::<GraphKind>(graph_words()),
        add = Refusal("--what is for dot only")
    )]
    what: Option<GraphKind>,
    #[command(flatten)]
    selection: SelectionFlags,
}

fn graph_words() -> [PossibleValue; 4] {
    let word = |name, help| PossibleValue::new(name).help(help);
    let convolution = "The delays that the convolution algorithm finds: Figure 9 of Project 5";
    [
        word("pattern", "A pattern, message by message"),
        word("calls", "A pattern, call by call: Figure 8 of Project 5").alias("figure8"),
        word("delays", convolution).alias("figure9"),
        word("map", "Callers and callees, with the rate and duration of calls"),
    ]
}

impl FromStr for GraphKind {
    type Err = String;

    fn from_str(text: &str) -> Result<GraphKind, String> {
        match text {
            "pattern" => Ok(GraphKind::Pattern),
            "calls" | "figure8" => Ok(GraphKind::Calls),
            "delays" | "figure9" => Ok(GraphKind::Delays),
            "map" => Ok(GraphKind::Map),
            _ => Err(format!("'{text}' is not a graph; choose pattern, calls, delays or map")),
        }
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
    flags: DotFlags::augment_args,
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

/// Builds the exporter from the user's options. Two of the graphs show one pattern, and the other
/// two the whole system.
fn build_exporter(given: &ArgMatches) -> Result<Box<dyn Exporter>, String> {
    let DotFlags { what, selection: SelectionFlags { only, limit } } = read_flags(given)?;
    let (graph, pattern) = (what.unwrap_or_default(), only.pattern);
    let shows_all_patterns = matches!(graph, GraphKind::Map | GraphKind::Delays);
    match (shows_all_patterns, pattern, limit) {
        (true, Some(_), _) => Err(PATTERN_REFUSAL.to_owned()),
        (false, _, Some(_)) => Err(LIMIT_REFUSAL.to_owned()),
        _ => Ok(Box::new(DotExporter { graph, pattern, limit })),
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
