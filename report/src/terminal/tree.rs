//! The tree of a pattern, one line for each hop: sender and receiver, and the delays of node and
//! network.

use std::io::{self, Write};

use analyze::paths::PathPattern;
use analyze::paths::timing::{CriticalDelay, DelayKind, PatternTiming, hop_time, is_noticeable};
use message_trace::stats::DelaySummary;
use message_trace::units::{format_duration, format_whole_percent};

use super::columns::{BAR_CHARACTERS, CONNECT_TITLE, ERRORS_TITLE, TreeColumns, label_indent};
use super::paint::{PaintedRow, TextRole};
use super::screen::TerminalScreen;
use crate::label::HopLabel;
use crate::summary::share_of_whole;
use crate::tree::{self, ChainMark, HopLine, TreeGuide};
/// Writes the tree of `pattern` below a line with the names of the columns.
pub(super) fn write_tree(
    pattern: &PathPattern,
    columns: &TreeColumns,
    screen: &TerminalScreen,
    out: &mut dyn Write,
) -> io::Result<()> {
    write_heading(columns, screen, out)?;
    let timing = PatternTiming::from_pattern(pattern);
    for line in tree::tree_lines(&pattern.hops, &timing) {
        let hop = &pattern.hops[line.hop];
        let critical = timing.critical.filter(|critical| critical.hop == line.hop);
        let mut row = screen.new_row();
        push_label(&line, pattern, critical, columns, screen, &mut row);
        let parts = [
            (DelayKind::Node, &hop.node, columns.label + 1),
            (DelayKind::Untraced, &hop.untraced, columns.label + 1),
            (DelayKind::Network, &hop.network, columns.network_start()),
        ];
        for (part, summary, start) in parts {
            if let Some(summary) = summary {
                let is_critical = critical.is_some_and(|critical| critical.kind == part);
                push_delays(summary, part, is_critical, start, columns, screen, &mut row);
            }
        }
        if let Some(connect) = hop.connect.filter(|_| is_noticeable(hop, pattern)) {
            let is_critical = critical.is_some_and(|critical| critical.kind == DelayKind::Connect);
            let role = if is_critical { TextRole::Critical } else { TextRole::Strong };
            let time = format_duration(connect.delay.mean).compact(!screen.unicode);
            row.push_right(role, &time, columns.connect_time_end());
            row.push_right(
                TextRole::Plain,
                &format_whole_percent(connect.share),
                columns.connect_end(),
            );
        }
        if let Some(outcomes) = hop.outcomes.filter(|of| of.errors > 0) {
            row.push_right(
                TextRole::Strong,
                &format_whole_percent(outcomes.error_share),
                columns.errors_end(),
            );
        }
        let share = share_of_whole(hop_time(hop), pattern.duration.mean);
        let role = if critical.is_some() { TextRole::Critical } else { TextRole::Plain };
        if share > 0.0 {
            row.push_right(role, &format_whole_percent(share), columns.share_end());
        }
        if columns.bars {
            row.pad_to(columns.share_end() + 1);
            row.push_text(role, &share_bar(share, screen.unicode));
            row.pad_to(columns.share_end() + 1 + BAR_CHARACTERS);
        }
        if critical.is_some() {
            row.pad_to(columns.share_end() + if columns.bars { BAR_CHARACTERS + 2 } else { 1 });
            row.push_text(TextRole::Critical, if screen.unicode { "◀" } else { "<" });
        }
        row.finish(out)?;
    }
    Ok(())
}

fn write_heading(
    columns: &TreeColumns,
    screen: &TerminalScreen,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut row = screen.new_row();
    // The title of the mean extends to the left of its column if the tree and the gap leave room
    // for it.
    for (group, start) in [("node", columns.label + 1), ("net", columns.network_start())] {
        for (index, name) in columns.delay_names().iter().enumerate() {
            let name = if index == 0 { format!("{group} {name}") } else { (*name).to_owned() };
            row.push_right(TextRole::Dim, &name, start + (index + 1) * columns.delay);
        }
    }
    if columns.connects {
        row.push_right(TextRole::Dim, CONNECT_TITLE, columns.connect_time_end());
        row.push_right(TextRole::Dim, "in", columns.connect_end());
    }
    if columns.errors {
        row.push_right(TextRole::Dim, ERRORS_TITLE, columns.errors_end());
    }
    row.push_right(TextRole::Dim, "share", columns.share_end());
    row.finish(out)
}

/// Adds the guides, the mark and the label of a hop to `row`.
fn push_label(
    line: &HopLine,
    pattern: &PathPattern,
    critical: Option<CriticalDelay>,
    columns: &TreeColumns,
    screen: &TerminalScreen,
    row: &mut PaintedRow,
) {
    let mut prefix: Vec<&str> =
        line.guides.iter().map(|guide| guide_text(*guide, screen.unicode)).collect();
    prefix.push(mark_text(line.mark, screen.unicode));
    prefix.extend(std::iter::repeat_n("  ", line.calls));
    let mut prefix: String = prefix.concat();
    // In very deep forks the outer guides are left out, not the names.
    let limit = columns.label.saturating_sub(columns.label.min(20)).max(4);
    let mut used = label_indent(line);
    if used > limit {
        prefix = std::iter::once(screen.signs.ellipsis)
            .chain(prefix.chars().skip(used - limit + 1))
            .collect();
        used = limit;
    }
    debug_assert!(used <= label_indent(line));
    row.push_text(TextRole::Dim, &prefix);
    let text = HopLabel::from_ends(&pattern.hops[line.hop], screen.signs)
        .fit_width(columns.label.saturating_sub(used));
    row.push_text(if critical.is_some() { TextRole::Critical } else { TextRole::Plain }, &text);
}

/// Adds the shown delays of `summary` to `row`, in columns from `start` on.
fn push_delays(
    summary: &DelaySummary,
    part: DelayKind,
    is_critical: bool,
    start: usize,
    columns: &TreeColumns,
    screen: &TerminalScreen,
    row: &mut PaintedRow,
) {
    for (index, delay) in columns.shown_delays(summary).into_iter().enumerate() {
        let mut text = format_duration(delay).compact(!screen.unicode);
        let mut role = if index == 0 { TextRole::Strong } else { TextRole::Plain };
        if part == DelayKind::Untraced {
            role = TextRole::Untraced;
            if index == 0 {
                text.insert_str(0, screen.signs.untraced);
            }
        }
        if is_critical && index == 0 {
            role = TextRole::Critical;
        }
        row.push_right(role, &text, start + (index + 1) * columns.delay);
    }
}

fn guide_text(guide: TreeGuide, unicode: bool) -> &'static str {
    match (guide, unicode) {
        (TreeGuide::Through, true) => "│ ",
        (TreeGuide::Through, false) => "| ",
        (TreeGuide::Blank, _) => "  ",
        (TreeGuide::Branch, true) => "├─",
        (TreeGuide::Branch, false) => "|-",
        (TreeGuide::LastBranch, true) => "╰─",
        (TreeGuide::LastBranch, false) => "`-",
    }
}

fn mark_text(mark: ChainMark, unicode: bool) -> &'static str {
    match (mark, unicode) {
        (ChainMark::First | ChainMark::Only, true) => "● ",
        (ChainMark::First | ChainMark::Only, false) => "* ",
        (ChainMark::Middle, true) => "│ ",
        (ChainMark::Middle, false) => "| ",
        (ChainMark::Last, true) => "╰ ",
        (ChainMark::Last, false) => "` ",
    }
}

/// A bar of at most [`BAR_CHARACTERS`] characters.
fn share_bar(share: f64, unicode: bool) -> String {
    let eighths = (share.clamp(0.0, 1.0) * (BAR_CHARACTERS * 8) as f64).round() as usize;
    if !unicode {
        return "=".repeat((eighths + 4) / 8);
    }
    let partial = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    format!("{}{}", "█".repeat(eighths / 8), partial[eighths % 8])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_grow_with_the_share() {
        assert_eq!(
            (share_bar(0.0, true).as_str(), share_bar(1.0, true).as_str()),
            ("", "████████")
        );
        assert_eq!(
            (share_bar(0.5, true).as_str(), share_bar(0.32, true).as_str()),
            ("████", "██▌")
        );
        assert_eq!(
            (share_bar(0.5, false).as_str(), share_bar(7.0, false).as_str()),
            ("====", "========")
        );
    }
}
