//! Graphs for Graphviz (`dot -Tsvg`): a pattern message by message, the same as the call hierarchy
//! of Project 5's Figure 8, the delays that its convolution algorithm finds as in Figure 9, and the
//! map of the system. Each is a file here; what they share is how texts are written so that they
//! are texts, whatever is in them.

mod calls;
mod delays;
mod graph;
mod map;
mod pattern;

use std::ops::ControlFlow;

use analyze::calls::windows::in_windows;
use analyze::infer::convolution::DelayGraph;
use analyze::system_map::MapOfCalls;

use crate::description::Description;
use crate::error::Error;
use crate::exporter::{Exporter, Needs, Output, Source, TraceCount};
use crate::patterns::one_pattern;
use crate::tuning::MAX_EDGES;

/// What it says of itself.
pub const DESCRIPTION: Description = Description {
    name: "dot",
    summary: "A pattern, the map of the system or the paper's figures as a graph of Graphviz",
    opened_by: "Graphviz",
};

/// Writes a graph, with the options of the user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dot {
    /// The graph that is wanted.
    pub graph: Graph,
    /// The number of the pattern, of a graph that shows one; without one, 0.
    pub pattern: Option<i64>,
    /// Maximum number of edges, of a graph that shows no pattern; without one, [`MAX_EDGES`].
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
