//! The list of all categories, the most frequent first.

use std::io::{self, Write};

use compare::output::{Answer, CategoryLine};
use message_trace::units::{count, duration, expected, plural, printable};

use crate::output;
use crate::table::{Side, Table, folded};

/// Writes at most `limit` categories.
pub(super) fn write(answer: &Answer, limit: usize, out: &mut impl Write) -> io::Result<()> {
    let of = |[large, below]: [usize; 2]| {
        let large = plural(large as u64, "has", "have");
        format!("{large} 10 requests or more, and {} of these vary little", count(below as u64))
    };
    let words = format!(
        "{}; before, {}; after, {}",
        plural(answer.categories as u64, "category", "categories"),
        of(answer.large[0]),
        of(answer.large[1])
    );
    folded(&words, "", output::limit(), out)?;
    writeln!(out)?;
    let right = ["REQUESTS", "NOW", "MEAN", "NOW", "DEVIATION", "NOW", "CV2", "NOW"];
    let mut head: Vec<(&'static str, Side)> = right.map(|name| (name, Side::Right)).to_vec();
    head.push(("CATEGORY", Side::Left));
    let mut table = Table::new(&head);
    for line in answer.category_list.iter().take(limit) {
        table.row(row(line), Vec::new());
    }
    table.write(output::limit(), out)?;
    match answer.category_list.len().saturating_sub(limit) {
        0 => Ok(()),
        more => {
            let categories = plural(more as u64, "more category", "more categories");
            writeln!(out, "and {categories}; --limit shows them")
        }
    }
}

fn row(line: &CategoryLine) -> Vec<String> {
    let known = |side: usize, words: &dyn Fn() -> String| match line.timed[side] {
        0 => "–".to_owned(),
        _ => words(),
    };
    let mut row: Vec<String> = line.counts.map(expected).to_vec();
    row.extend([0, 1].map(|side| known(side, &|| duration(line.mean_ns[side]).to_string())));
    let deviation = |side: usize| duration(line.variance[side].sqrt()).to_string();
    row.extend([0, 1].map(|side| known(side, &|| deviation(side))));
    let squared =
        |side: usize| line.squared_variation[side].map_or("–".into(), |of| format!("{of:.2}"));
    row.extend([0, 1].map(squared));
    let steps = plural(line.steps as u64, "step", "steps");
    let root = match line.operation.as_str() {
        "" => printable(&line.node),
        operation => format!("{} {}", printable(&line.node), printable(operation)),
    };
    row.push(format!("{root} with {steps}"));
    row
}
