//! The list of all categories, the most frequent first.

use std::io::{self, Write};

use compare::output::{CategoryLine, ComparisonReport};
use message_trace::units::{
    count_noun, format_count, format_duration, format_expected, to_printable,
};

use crate::output;
use crate::table::{ColumnAlignment, ScreenTable, write_folded};

/// Writes at most `limit` categories.
pub(super) fn write_categories(
    answer: &ComparisonReport,
    limit: usize,
    out: &mut impl Write,
) -> io::Result<()> {
    let of = |[large, below]: [usize; 2]| {
        let large = count_noun(large as u64, "has", "have");
        format!(
            "{large} 10 requests or more, and {} of these vary little",
            format_count(below as u64)
        )
    };
    let words = format!(
        "{}; before, {}; after, {}",
        count_noun(answer.categories as u64, "category", "categories"),
        of(answer.large[0]),
        of(answer.large[1])
    );
    write_folded(&words, "", output::width_limit(), out)?;
    writeln!(out)?;
    let right = ["REQUESTS", "NOW", "MEAN", "NOW", "DEVIATION", "NOW", "CV2", "NOW"];
    let mut head: Vec<(&'static str, ColumnAlignment)> =
        right.map(|name| (name, ColumnAlignment::Right)).to_vec();
    head.push(("CATEGORY", ColumnAlignment::Left));
    let mut table = ScreenTable::new(&head);
    for line in answer.category_list.iter().take(limit) {
        table.add_row(category_cells(line), Vec::new());
    }
    table.write_table(output::width_limit(), out)?;
    match answer.category_list.len().saturating_sub(limit) {
        0 => Ok(()),
        more => {
            let categories = count_noun(more as u64, "more category", "more categories");
            writeln!(out, "and {categories}; --limit shows them")
        }
    }
}

fn category_cells(line: &CategoryLine) -> Vec<String> {
    let known = |side: usize, words: &dyn Fn() -> String| match line.timed[side] {
        0 => "–".to_owned(),
        _ => words(),
    };
    let mut row: Vec<String> = line.counts.map(format_expected).to_vec();
    row.extend([0, 1].map(|side| known(side, &|| format_duration(line.mean_ns[side]).to_string())));
    let deviation = |side: usize| format_duration(line.variance[side].sqrt()).to_string();
    row.extend([0, 1].map(|side| known(side, &|| deviation(side))));
    let squared =
        |side: usize| line.squared_variation[side].map_or("–".into(), |of| format!("{of:.2}"));
    row.extend([0, 1].map(squared));
    let steps = count_noun(line.steps as u64, "step", "steps");
    let root = match line.operation.as_str() {
        "" => to_printable(&line.node),
        operation => format!("{} {}", to_printable(&line.node), to_printable(operation)),
    };
    row.push(format!("{root} with {steps}"));
    row
}
