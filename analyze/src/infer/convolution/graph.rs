//! The output graph (Project 5 section 5.2 and Figure 9). Vertices are labelled with nodes, and a
//! node may occur several times in a path. Edges are labelled with a delay and the number of
//! messages that showed it. Below each root the graph is a tree.

use std::fmt;

use super::select::ShiftRange;
use super::sites::SiteEvent;

/// The paths that were found in a trace.
#[derive(Clone, Debug, Default)]
pub struct PathGraph {
    vertices: Vec<GraphVertex>,
    edges: Vec<GraphEdge>,
}

/// A node's place in the graph.
#[derive(Clone, Debug)]
pub struct GraphVertex {
    /// The node's name.
    pub node: String,
    /// The edge that leads to the vertex; `None` for a root.
    pub edge: Option<usize>,
}

/// Messages from one node to another, which have a common delay after their causes unless the
/// sender is a root.
#[derive(Clone, Debug)]
pub struct GraphEdge {
    /// The vertex of the sender.
    pub from: usize,
    /// The vertex of the receiver.
    pub to: usize,
    /// d: time between receipt and sending at the sender, in nanoseconds; `None` at a root.
    pub delay: Option<i64>,
    /// W: the selected messages.
    pub(super) messages: Vec<SiteEvent>,
    /// The group of W.
    pub(super) group: u32,
    /// The mean time between sending and receipt, in nanoseconds.
    pub(super) travel: i64,
    /// The shifts within which W was selected, and the excess of C over its mean at each.
    pub(super) shifts: ShiftRange,
    pub(super) excess: Vec<f64>,
}

impl PathGraph {
    /// The vertices; edges refer to them by index.
    pub fn vertices(&self) -> &[GraphVertex] {
        &self.vertices
    }

    /// The edges. Each comes after the edge that leads to its sender.
    pub fn edges(&self) -> &[GraphEdge] {
        &self.edges
    }

    /// Adds a root.
    pub(super) fn add_root(&mut self, node: &str) -> usize {
        self.vertices.push(GraphVertex { node: node.to_owned(), edge: None });
        self.vertices.len() - 1
    }

    /// Adds `edge` with a vertex for its receiver, sets its `to`, and returns its number.
    pub(super) fn add_edge(&mut self, node: &str, mut edge: GraphEdge) -> usize {
        edge.to = self.vertices.len();
        self.vertices.push(GraphVertex { node: node.to_owned(), edge: Some(self.edges.len()) });
        self.edges.push(edge);
        self.edges.len() - 1
    }

    /// The edge that leads to the sender of `edge`.
    pub(super) fn parent_edge(&self, edge: usize) -> Option<usize> {
        self.vertices[self.edges[edge].from].edge
    }

    /// The edges from the root down to `vertex`, the lowest first.
    pub(super) fn path_to(&self, vertex: usize) -> impl Iterator<Item = &GraphEdge> {
        let mut next = self.vertices[vertex].edge;
        std::iter::from_fn(move || {
            let edge = &self.edges[next?];
            next = self.vertices[edge.from].edge;
            Some(edge)
        })
    }

    /// The paths from roots to leaves, the most frequent first: nodes, delays (none at the root)
    /// and numbers of messages of each edge.
    pub fn paths(&self) -> Vec<GraphPath> {
        let mut goes_on = vec![false; self.vertices.len()];
        self.edges.iter().for_each(|edge| goes_on[edge.from] = true);
        let ends = (0..self.vertices.len()).filter(|vertex| !goes_on[*vertex]);
        let mut paths: Vec<GraphPath> = ends
            .map(|end| {
                let mut path: Vec<&GraphEdge> = self.path_to(end).collect();
                path.reverse();
                let root = path.first().map_or(end, |edge| edge.from);
                let nodes = std::iter::once(root).chain(path.iter().map(|edge| edge.to));
                GraphPath {
                    nodes: nodes.map(|vertex| self.vertices[vertex].node.clone()).collect(),
                    delays: path.iter().map(|edge| edge.delay).collect(),
                    messages: path.iter().map(|edge| edge.message_count()).collect(),
                }
            })
            .collect();
        paths.sort_by_key(|path| std::cmp::Reverse(path.messages.last().copied()));
        paths
    }
}

impl GraphEdge {
    /// Number of messages: |W|.
    pub fn message_count(&self) -> usize {
        self.messages.len()
    }
}

/// A path of the graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphPath {
    /// The nodes, one more than there are edges.
    pub nodes: Vec<String>,
    /// Time between receipt and sending at each node, in nanoseconds; unknown for a root.
    pub delays: Vec<Option<i64>>,
    /// Number of messages of each edge.
    pub messages: Vec<usize>,
}

impl fmt::Display for GraphPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut nodes = self.nodes.iter();
        f.write_str(nodes.next().map_or("", String::as_str))?;
        for (node, (delay, messages)) in nodes.zip(self.delays.iter().zip(&self.messages)) {
            match delay {
                Some(delay) => write!(f, " -({messages}, {:.3} ms)-> {node}", *delay as f64 / 1e6)?,
                None => write!(f, " -({messages})-> {node}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
pub(super) mod tests {
    use message_trace::MessageId;

    use super::*;

    /// An edge from a vertex, with these messages by number.
    pub(in super::super) fn edge(
        from: usize,
        delay: Option<i64>,
        messages: std::ops::Range<u32>,
    ) -> GraphEdge {
        let event = |row: u32| SiteEvent {
            place: 0,
            time: i64::from(row),
            message: MessageId::from_index(row as usize),
        };
        GraphEdge {
            from,
            to: 0,
            delay,
            messages: messages.map(event).collect(),
            group: 0,
            travel: 0,
            shifts: (0, 0),
            excess: vec![1.0],
        }
    }

    #[test]
    fn paths_lead_from_roots_to_ends() {
        // A -> B, and from there -> C -> B after 5 ms and 7 ms, and -> D.
        let mut graph = PathGraph::default();
        let root = graph.add_root("A");
        let ab = graph.add_edge("B", edge(root, None, 0..10));
        let b = graph.edges()[ab].to;
        let bc = graph.add_edge("C", edge(b, Some(5_000_000), 0..6));
        let cb = graph.add_edge("B", edge(graph.edges()[bc].to, Some(7_000_000), 0..5));
        graph.add_edge("D", edge(b, Some(1_000_000), 0..8));
        assert_eq!(
            (graph.parent_edge(cb), graph.parent_edge(bc), graph.parent_edge(ab)),
            (Some(bc), Some(ab), None)
        );
        let paths: Vec<String> = graph.paths().iter().map(GraphPath::to_string).collect();
        assert_eq!(
            paths,
            ["A -(10)-> B -(8, 1.000 ms)-> D", "A -(10)-> B -(6, 5.000 ms)-> C -(5, 7.000 ms)-> B",]
        );
        assert_eq!(graph.vertices().len(), 5);
        let path: Vec<usize> =
            graph.path_to(graph.edges()[cb].to).map(|edge| edge.message_count()).collect();
        assert_eq!(path, [5, 6, 10]);
    }

    #[test]
    fn a_root_alone_is_a_path_without_edges() {
        let mut graph = PathGraph::default();
        graph.add_root("A");
        assert_eq!(graph.paths()[0].to_string(), "A");
        assert!(PathGraph::default().paths().is_empty());
    }
}
