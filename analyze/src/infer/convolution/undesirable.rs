//! Parts that are removed from the graph (Project 5 section 5.2.3, which names these without a
//! method): noise, which are edges of few messages; cycles; and accidentally short paths. The paper
//! would filter the latter by frequency counts (section 5.3.1). Here the selected messages show
//! them, since a message has one cause.
//!
//! Edges with negative delays never arise ([`super::spikes`]).

use std::ops::RangeInclusive;

use super::caused::CausedMessages;
use super::graph::PathGraph;
use super::sites::SiteEvent;

/// Marks of messages, to count those that two sets have in common.
pub(super) struct MessageMarks {
    /// The last mark of each message.
    marked: Vec<u32>,
    /// The current mark. To increase it clears the marks of all messages.
    mark: u32,
}

impl MessageMarks {
    /// Marks for a trace of `messages` messages.
    pub(super) fn new(messages: usize) -> MessageMarks {
        MessageMarks { marked: vec![0; messages], mark: 0 }
    }

    fn clear(&mut self) {
        self.mark = self.mark.checked_add(1).unwrap_or_else(|| {
            self.marked.fill(0);
            1
        });
    }

    fn mark_messages(&mut self, messages: &[SiteEvent]) {
        for event in messages {
            self.marked[event.message.index()] = self.mark;
        }
    }

    fn is_marked(&self, event: &SiteEvent) -> bool {
        self.marked[event.message.index()] == self.mark
    }

    /// Number of `messages` that are marked.
    fn count_marked(&self, messages: &[SiteEvent]) -> usize {
        messages.iter().filter(|event| self.is_marked(event)).count()
    }
}

/// Removes from `messages`, the next messages of the path to `vertex`, those that are on the path
/// already; returns whether these were more than half: then the edge would only close a cycle.
pub(super) fn is_cycle(
    graph: &PathGraph,
    vertex: usize,
    group: u32,
    messages: &mut Vec<SiteEvent>,
    marks: &mut MessageMarks,
) -> bool {
    marks.clear();
    for edge in graph.path_to(vertex).filter(|edge| edge.group == group) {
        marks.mark_messages(&edge.messages);
    }
    let is_cycle = 2 * marks.count_marked(messages) > messages.len();
    messages.retain(|event| !marks.is_marked(event));
    is_cycle
}

/// Returns whether most of `caused`, which were sent after `delays` nanoseconds, are reached from
/// `vertex` on longer routes that the graph already has. If A -> B is followed by B -> C, C -> B
/// and B -> D, the delay from A -> B to B -> D is only the sum of the delays in between. Of the
/// caused messages only as many count as are in excess of chance. `step` is the length of a
/// quantum in nanoseconds.
pub(super) fn is_short(
    graph: &PathGraph,
    vertex: usize,
    caused: &CausedMessages,
    delays: &RangeInclusive<i64>,
    step: i64,
    marks: &mut MessageMarks,
) -> bool {
    marks.clear();
    // Edges are added depth first: edges after the one to the vertex are below it.
    let first = graph.vertices()[vertex].edge.map_or(0, |edge| edge + 1);
    for edge in graph.edges()[first..].iter().filter(|edge| edge.group == caused.group) {
        // From the receipt at the vertex to the sending, with each delay known to about a quantum.
        let (mut delay, mut slack) = (0_i64, 0_i64);
        for (above, edge) in graph.path_to(edge.to).take_while(|edge| edge.to != vertex).enumerate()
        {
            let travel = if above == 0 { 0 } else { edge.travel };
            delay = delay.saturating_add(edge.delay.unwrap_or(0)).saturating_add(travel);
            slack = slack.saturating_add(step);
        }
        if (delays.start().saturating_sub(slack)..=delays.end().saturating_add(slack))
            .contains(&delay)
        {
            marks.mark_messages(&edge.messages);
        }
    }
    2.0 * marks.count_marked(&caused.messages) as f64 > caused.excess_count()
}

#[cfg(test)]
mod tests {
    use message_trace::MessageId;

    use super::super::graph::tests::edge;
    use super::*;

    /// A -> B, and from there B -> C after 50, C -> B after 20 and B -> D after 30, with a tenth of
    /// it for travel.
    fn graph() -> (PathGraph, usize, usize) {
        let mut graph = PathGraph::default();
        let root = graph.add_root("A");
        let mut at = root;
        let mut vertices = Vec::new();
        for (group, (node, delay)) in
            [("B", None), ("C", Some(50)), ("B", Some(20)), ("D", Some(30))].into_iter().enumerate()
        {
            let group = group as u32;
            let new = edge(at, delay, group * 100..group * 100 + 100);
            let number = graph.add_edge(node, super::super::GraphEdge { group, travel: 1, ..new });
            at = graph.edges()[number].to;
            vertices.push(at);
        }
        (graph, vertices[0], vertices[3])
    }

    fn messages(range: std::ops::Range<usize>) -> Vec<SiteEvent> {
        MessageId::of_rows(range).map(|message| SiteEvent { place: 0, time: 0, message }).collect()
    }

    #[test]
    fn a_path_that_leads_to_its_own_messages_is_a_cycle() {
        let (graph, _, end) = graph();
        let mut marks = MessageMarks::new(1000);
        // B -> C is group 1, messages 100 to 200. 51 of 100 are on the path.
        let mut again = messages(149..249);
        assert!(is_cycle(&graph, end, 1, &mut again, &mut marks));
        // A half is not most. Messages on the path are removed.
        let mut again = messages(150..250);
        assert!(!is_cycle(&graph, end, 1, &mut again, &mut marks));
        assert_eq!(again, messages(200..250));
        // The same messages do not belong to another group.
        assert!(!is_cycle(&graph, end, 7, &mut messages(100..200), &mut marks));
    }

    #[test]
    fn an_edge_that_a_longer_path_reaches_after_the_same_time_is_accidentally_short() {
        let (graph, b, end) = graph();
        let mut marks = MessageMarks::new(1000);
        let mut short_of = |at, messages: Vec<SiteEvent>, excess: f64, delays| {
            let caused = CausedMessages {
                group: 3,
                delay: 0,
                shifts: (0, 0),
                excess: vec![excess / 2.0; 2],
                messages,
            };
            is_short(&graph, at, &caused, &delays, 1, &mut marks)
        };
        // 60 of 80 in 361..441 are not by chance, and 39 of all are reached.
        assert!(short_of(b, messages(361..441), 60.0, 102..=102));
        assert!(!short_of(b, messages(361..441), 78.0, 102..=102));
        let mut short = |at, messages: Vec<SiteEvent>, delays| {
            let all = messages.len() as f64;
            short_of(at, messages, all, delays)
        };
        // From A -> B to B -> D: 50 + 1 + 20 + 1 + 30.
        assert!(short(b, messages(340..420), 102..=102));
        // Three delays, each known to a quantum.
        assert!(short(b, messages(340..420), 105..=110));
        assert!(!short(b, messages(340..420), 106..=110));
        assert!(!short(b, messages(340..420), 90..=98));
        // 39 of 80 only.
        assert!(!short(b, messages(361..441), 102..=102));
        // No route starts at the end of the path.
        assert!(!short(end, messages(340..420), 0..=1000));
    }

    #[test]
    fn marks_start_again_after_overflow() {
        let mut marks = MessageMarks { marked: vec![0, u32::MAX], mark: u32::MAX };
        marks.clear();
        assert_eq!(marks.count_marked(&messages(0..2)), 0);
        marks.mark_messages(&messages(1..2));
        assert_eq!(marks.count_marked(&messages(0..2)), 1);
    }
}
