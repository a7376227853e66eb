//! The calling-context tree as a graph, as Graphviz would read it.

use std::collections::BTreeMap;

use contexts::ContextAnalysis;
use contexts::identity::OperationIdentity;
use contexts::output::write_dot;
use contexts::tree::{LeafKind, ModelOptions, build_model};

use crate::support::{RequestSet, call};

/// A parsed graph: nodes with the lines of their labels and their other attributes, and edges with
/// theirs.
#[derive(Default)]
struct Graph {
    nodes: BTreeMap<String, (Vec<String>, String)>,
    edges: Vec<(String, String, String)>,
}

/// The lines of a quoted string, and the remaining text.
fn quoted(text: &str) -> (Vec<String>, &str) {
    let mut lines = vec![String::new()];
    let mut letters = text.strip_prefix('"').unwrap().char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => {
                let lines = lines.iter().map(|line| line.replace("&amp;", "&")).collect();
                return (lines, &text[at + 2..]);
            }
            '\\' => match letters.next().unwrap().1 {
                'n' => lines.push(String::new()),
                escaped @ ('"' | '\\') => lines.last_mut().unwrap().push(escaped),
                other => panic!("\\{other} means something else to Graphviz"),
            },
            _ => lines.last_mut().unwrap().push(letter),
        }
    }
    panic!("no end of {text}");
}

fn parsed(text: &str) -> Graph {
    let mut graph = Graph::default();
    let body = text.strip_prefix("digraph contexts {\n").unwrap().strip_suffix("}\n").unwrap();
    for line in body.lines() {
        let statement = line.strip_prefix("  ").unwrap().strip_suffix(';').unwrap();
        let (name, attributes) = match statement.split_once(" [") {
            Some((name, attributes)) => (name, attributes.strip_suffix(']').unwrap()),
            None => (statement, ""),
        };
        if let Some((from, to)) = name.split_once(" -> ") {
            graph.edges.push((from.to_owned(), to.to_owned(), attributes.to_owned()));
        } else if let Some(label) = attributes.strip_prefix("label=") {
            let (lines, more) = quoted(label);
            let known = graph.nodes.insert(name.to_owned(), (lines, more.to_owned()));
            assert!(known.is_none(), "{name} is there once");
        } else {
            assert!(["graph", "node"].contains(&name), "{line}");
        }
    }
    graph
}

const NAME: &str = "say \"50% & more\" \\n";

/// An operation with a name that must be escaped is called by four callers: one is slow, two are
/// similar, one is rare. All are called by the same page.
fn analysis(memory: u64) -> ContextAnalysis {
    let mut made = RequestSet::new();
    for round in 0..300 {
        let (caller, base) = match round % 3 {
            0 => ("checkout", 10_000),
            1 => ("cart", 1_000),
            _ => ("catalog", 1_010),
        };
        let caller = if round > 297 { "rare" } else { caller };
        let say = call(NAME, base + (round * 37) % 101, vec![]);
        made.add(&call("page", 1, vec![call(caller, 1, vec![say])]));
    }
    made.with(OperationIdentity::Operation, memory, |collected, profiled| ContextAnalysis {
        spent: None,
        profile: profiled.profile.clone(),
        model: build_model(profiled, collected, &ModelOptions::default()).unwrap(),
        instrumentations: None,
    })
}

fn drawn(analysis: &ContextAnalysis, limit: usize) -> Graph {
    let mut out = Vec::new();
    write_dot(analysis, limit, &mut out).unwrap();
    parsed(&String::from_utf8(out).unwrap())
}

#[test]
fn the_graph_is_a_tree_with_the_parts_of_the_model() {
    let analysis = analysis(u64::MAX);
    let graph = drawn(&analysis, 100);
    assert_eq!(graph.nodes["n0"].0, ["all executions", "900 steps"]);
    for (from, to, _) in &graph.edges {
        assert!(graph.nodes.contains_key(from) && graph.nodes.contains_key(to), "{from} -> {to}");
    }
    for name in graph.nodes.keys() {
        let above = graph.edges.iter().filter(|(_, to, more)| to == name && more.is_empty());
        assert_eq!(above.count(), usize::from(name.starts_with('n') && name != "n0"), "{name}");
    }
    // Every part of the model is a filled node, and links have one in addition to the linked node's
    // own.
    let filled = |begin: &str| {
        let is_filled = |more: &str| more.contains("filled");
        let all = graph.nodes.iter().filter(|(name, _)| name.starts_with(begin));
        all.filter(|(_, (_, more))| is_filled(more)).count()
    };
    let linked = analysis.model.leaves.iter().filter(|leaf| leaf.kind == LeafKind::Linked).count();
    assert!(linked > 0);
    assert_eq!((filled("n"), filled("l")), (analysis.model.leaves.len() - linked, linked));
}

#[test]
fn texts_are_escaped_and_name_merged_and_linked_contexts() {
    let graph = drawn(&analysis(u64::MAX), 100);
    let name = format!("n {NAME}");
    let (id, (lines, more)) = graph.nodes.iter().find(|(_, (lines, _))| lines[0] == name).unwrap();
    assert!(lines[1].starts_with("300 calls, mean ") && more.is_empty(), "{lines:?} {more}");
    let mut below: Vec<&str> = graph
        .edges
        .iter()
        .filter(|(from, ..)| from == id)
        .map(|(_, to, _)| graph.nodes[to].0[0].as_str())
        .collect();
    below.sort_unstable();
    assert_eq!(below, ["n cart and 1 alike", "n checkout"]);
    let rare = &graph.nodes[&id.replace('n', "l")];
    assert_eq!(rare.0, ["2 calls in rare contexts", "use the response times of all"]);
    let edge = (id.replace('n', "l"), id.clone(), "style=dashed".to_owned());
    assert!(graph.edges.contains(&edge), "{:?}", graph.edges);
}

#[test]
fn a_limit_of_operations_is_kept() {
    let graph = drawn(&analysis(u64::MAX), 1);
    let operations = graph.edges.iter().filter(|(from, ..)| from == "n0").count();
    assert_eq!(operations, 1);
    assert_eq!(drawn(&analysis(0), 100).nodes.len(), drawn(&analysis(u64::MAX), 100).nodes.len());
}
