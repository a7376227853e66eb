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

use crate::description::Description;
use crate::error::Error;
use crate::exporter::{Exporter, Needs, Output, Source, TraceCount};
use crate::patterns::one_pattern;
use crate::tuning::MAX_EDGES;

/// The name of the exporter, and what it is for.
pub const DESCRIPTION: Description = Description {
    name: "dot",
    summary: "A pattern, the map of the system or the paper's figures as a graph of Graphviz",
    opened_by: "Graphviz",
};

/// An exporter of graphs, with its options.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dot {
    /// The graph that is wanted.
    pub graph: Graph,
    /// The number of the pattern, for a graph that shows one pattern. The default is 0.
    pub pattern: Option<i64>,
    /// Maximum number of edges, for a graph that shows no pattern. The default is [`MAX_EDGES`].
    pub limit: Option<usize>,
}

/// The graphs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Graph {
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
