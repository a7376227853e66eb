//! Graphs for Graphviz (`dot -Tsvg`), a file for each: a pattern message by message, a pattern call
//! by call (Figure 8 of Project 5), the delays that the convolution algorithm finds (Figure 9), and
//! the map of the system. What they share is in [`text`].

mod calls;
mod delays;
mod map;
mod pattern;
mod text;

use std::ops::ControlFlow;

use analyze::calls::windows::in_windows;
use analyze::infer::convolution::DelayGraph;
use analyze::system_map::MapOfCalls;
use registry::{About, Choice, Flag, Given};

use crate::error::Error;
use crate::exporter::{Exporter, Needs, Output, Source, TraceCount};
use crate::flags::{LIMIT, PATTERN};
use crate::kind::Kind;
use crate::patterns::one_pattern;
use crate::tuning::MAX_EDGES;

/// The graph that is drawn.
static WHAT: Flag<Graph> = Flag::one_of("what", "GRAPH", graphs, graph, "Of dot: which graph")
    .refused("--what is for dot only");

fn graphs() -> Vec<Choice> {
    let choice = |name, alias, help| Choice { name, alias, help };
    vec![
        choice("pattern", None, "A pattern, message by message"),
        choice("calls", Some("figure8"), "A pattern, call by call: Figure 8 of Project 5"),
        choice(
            "delays",
            Some("figure9"),
            "The delays that the convolution algorithm finds: Figure 9 of Project 5",
        ),
        choice("map", None, "Who calls whom, how often, and how long it takes"),
    ]
}

fn graph(name: &str) -> Result<Graph, String> {
    match name {
        "calls" | "figure8" => Ok(Graph::Calls),
        "delays" | "figure9" => Ok(Graph::Delays),
        "map" => Ok(Graph::Map),
        _ => Ok(Graph::Pattern),
    }
}

/// The entry in the registry.
pub(crate) static DOT: Kind = Kind {
    about: About {
        name: "dot",
        summary: "A pattern, the map of the system or the paper's figures as a graph of Graphviz",
        examples: &["sockcap export dot --what map | dot -Tsvg > map.svg"],
        ..About::NOTHING
    },
    opened_by: "Graphviz",
    flags: &[&WHAT, &PATTERN, &LIMIT],
    make: exporter,
};

/// An exporter of graphs, with its options.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Dot {
    /// The graph that is wanted.
    pub graph: Graph,
    /// The number of the pattern, for a graph that shows one pattern. The default is 0.
    pub pattern: Option<i64>,
    /// Maximum number of edges, for a graph that shows no pattern. The default is [`MAX_EDGES`].
    pub limit: Option<usize>,
}

/// The graphs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Graph {
    /// A pattern, message by message.
    #[default]
    Pattern,
    /// A pattern, call by call: Figure 8 of Project 5.
    Calls,
    /// The delays that the convolution algorithm finds: Figure 9 of Project 5.
    Delays,
    /// Who calls whom, how often, and how long it takes.
    Map,
}

/// The exporter with the options of the user. Two of the graphs show one pattern, the others show
/// all.
fn exporter(given: &Given) -> Result<Box<dyn Exporter>, String> {
    let graph = given.get(&WHAT).unwrap_or_default();
    let is_of_all = matches!(graph, Graph::Map | Graph::Delays);
    match (is_of_all, given.has(&PATTERN), given.has(&LIMIT)) {
        (true, true, _) => Err(PATTERN.spec.refusal()),
        (false, _, true) => Err(LIMIT.spec.refusal()),
        _ => Ok(Box::new(Dot { graph, pattern: given.get(&PATTERN), limit: given.get(&LIMIT) })),
    }
}

impl Exporter for Dot {
    fn needs(&self) -> Needs {
        Needs::Analysis
    }

    fn write(
        &self,
        source: &Source<'_>,
        output: &mut Output<'_>,
    ) -> Result<Option<TraceCount>, Error> {
        let pattern = || one_pattern(source.data, self.pattern.unwrap_or_default());
        let (edges, out) = (self.limit.unwrap_or(MAX_EDGES), &mut *output.writer);
        match self.graph {
            Graph::Pattern => {
                pattern()?.iter().try_for_each(|pattern| pattern::draw(pattern, out))?;
            }
            Graph::Calls => pattern()?.iter().try_for_each(|pattern| calls::draw(pattern, out))?,
            Graph::Delays => {
                let options = source.analysis()?.options;
                let graph = DelayGraph::of_data(source.data, &options, source.progress)?;
                delays::draw(&graph, edges, out)?;
            }
            Graph::Map => {
                let mut map = MapOfCalls::default();
                in_windows::<Error>(source.data, &source.analysis()?.options, |window| {
                    map.window(window);
                    Ok(ControlFlow::Continue(()))
                })?;
                map::draw(&map.finish(), edges, out)?;
            }
        }
        output.writer.flush()?;
        Ok(None)
    }
}
