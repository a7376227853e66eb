//! The tree of a pattern, one line for each hop: sender and receiver, and the delays of node and
//! network.

use std::io::{self, Write};

use analyze::paths::PathPattern;
use analyze::paths::timing::{Critical, Part, Timing, hop_time, is_noticeable};
use message_trace::stats::Summary;
use message_trace::units::{duration, whole_percent};

use super::columns::{BAR, CONNECT, Columns, ERRORS, indent};
use super::paint::{Role, Row};
use super::screen::Screen;
use crate::label::Label;
use crate::summary::share;
use crate::tree::{self, Guide, Line, Mark};
/// Writes the tree of `pattern` below a line with the names of the columns.
pub(super) fn write(
    pattern: &PathPattern,
    columns: &Columns,
    screen: &Screen,
    out: &mut dyn Write,
) -> io::Result<()> {
    heading(columns, screen, out)?;
    let timing = Timing::of(pattern);
    for line in tree::lines(&pattern.hops, &timing) {
        let hop = &pattern.hops[line.hop];
        let critical = timing.critical.filter(|critical| critical.hop == line.hop);
        let mut row = screen.row();
        label(&line, pattern, critical, columns, screen, &mut row);
        let parts = [
            (Part::Node, &hop.node, columns.label + 1),
            (Part::Untraced, &hop.untraced, columns.label + 1),
            (Part::Network, &hop.network, columns.network_start()),
        ];
        for (part, summary, start) in parts {
            if let Some(summary) = summary {
                let is_critical = critical.is_some_and(|critical| critical.part == part);
                delays(summary, part, is_critical, start, columns, screen, &mut row);
            }
        }
        if let Some(connect) = hop.connect.filter(|_| is_noticeable(hop, pattern)) {
            let is_critical = critical.is_some_and(|critical| critical.part == Part::Connect);
            let role = if is_critical { Role::Critical } else { Role::Strong };
            let time = duration(connect.delay.mean).compact(!screen.unicode);
            row.right(role, &time, columns.connect_time_end());
            row.right(Role::Plain, &whole_percent(connect.share), columns.connect_end());
        }
        if let Some(outcomes) = hop.outcomes.filter(|of| of.errors > 0) {
            row.right(Role::Strong, &whole_percent(outcomes.error_share), columns.errors_end());
        }
        let share = share(hop_time(hop), pattern.duration.mean);
        let role = if critical.is_some() { Role::Critical } else { Role::Plain };
        if share > 0.0 {
            row.right(role, &whole_percent(share), columns.share_end());
        }
        if columns.bars {
            row.pad_to(columns.share_end() + 1);
            row.push(role, &bar(share, screen.unicode));
            row.pad_to(columns.share_end() + 1 + BAR);
        }
        if critical.is_some() {
            row.pad_to(columns.share_end() + if columns.bars { BAR + 2 } else { 1 });
            row.push(Role::Critical, if screen.unicode { "◀" } else { "<" });
        }
        row.finish(out)?;
    }
    Ok(())
}

fn heading(columns: &Columns, screen: &Screen, out: &mut dyn Write) -> io::Result<()> {
    let mut row = screen.row();
    // The name of the mean reaches to the left of its column, where the tree and the gap leave room
    // for it.
    for (group, start) in [("node", columns.label + 1), ("net", columns.network_start())] {
        for (index, name) in columns.names().iter().enumerate() {
            let name = if index == 0 { format!("{group} {name}") } else { (*name).to_owned() };
            row.right(Role::Dim, &name, start + (index + 1) * columns.delay);
        }
    }
    if columns.connects {
        row.right(Role::Dim, CONNECT, columns.connect_time_end());
        row.right(Role::Dim, "in", columns.connect_end());
    }
    if columns.errors {
        row.right(Role::Dim, ERRORS, columns.errors_end());
    }
    row.right(Role::Dim, "share", columns.share_end());
    row.finish(out)
}

fn label(
    line: &Line,
    pattern: &PathPattern,
    critical: Option<Critical>,
    columns: &Columns,
    screen: &Screen,
    row: &mut Row,
) {
    let mut prefix: Vec<&str> =
        line.guides.iter().map(|guide| guide_text(*guide, screen.unicode)).collect();
    prefix.push(mark_text(line.mark, screen.unicode));
    prefix.extend(std::iter::repeat_n("  ", line.calls));
    let mut prefix: String = prefix.concat();
    // In very deep forks the outer guides are left out, not the names.
    let limit = columns.label.saturating_sub(columns.label.min(20)).max(4);
    let mut used = indent(line);
    if used > limit {
        prefix = std::iter::once(screen.signs.ellipsis)
            .chain(prefix.chars().skip(used - limit + 1))
            .collect();
        used = limit;
    }
    debug_assert!(used <= indent(line));
    row.push(Role::Dim, &prefix);
    let text =
        Label::of(&pattern.hops[line.hop], screen.signs).fitted(columns.label.saturating_sub(used));
    row.push(if critical.is_some() { Role::Critical } else { Role::Plain }, &text);
}

fn delays(
    summary: &Summary,
    part: Part,
    is_critical: bool,
    start: usize,
    columns: &Columns,
    screen: &Screen,
    row: &mut Row,
) {
    for (index, delay) in columns.shown(summary).into_iter().enumerate() {
        let mut text = duration(delay).compact(!screen.unicode);
        let mut role = if index == 0 { Role::Strong } else { Role::Plain };
        if part == Part::Untraced {
            role = Role::Untraced;
            if index == 0 {
                text.insert_str(0, screen.signs.untraced);
            }
        }
        if is_critical && index == 0 {
            role = Role::Critical;
        }
        row.right(role, &text, start + (index + 1) * columns.delay);
    }
}

fn guide_text(guide: Guide, unicode: bool) -> &'static str {
    match (guide, unicode) {
        (Guide::Through, true) => "│ ",
        (Guide::Through, false) => "| ",
        (Guide::Blank, _) => "  ",
        (Guide::Branch, true) => "├─",
        (Guide::Branch, false) => "|-",
        (Guide::LastBranch, true) => "╰─",
        (Guide::LastBranch, false) => "`-",
    }
}

fn mark_text(mark: Mark, unicode: bool) -> &'static str {
    match (mark, unicode) {
        (Mark::First | Mark::Only, true) => "● ",
        (Mark::First | Mark::Only, false) => "* ",
        (Mark::Middle, true) => "│ ",
        (Mark::Middle, false) => "| ",
        (Mark::Last, true) => "╰ ",
        (Mark::Last, false) => "` ",
    }
}

/// A bar of at limit [`BAR`] characters.
fn bar(share: f64, unicode: bool) -> String {
    let eighths = (share.clamp(0.0, 1.0) * (BAR * 8) as f64).round() as usize;
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
        assert_eq!((bar(0.0, true).as_str(), bar(1.0, true).as_str()), ("", "████████"));
        assert_eq!((bar(0.5, true).as_str(), bar(0.32, true).as_str()), ("████", "██▌"));
        assert_eq!((bar(0.5, false).as_str(), bar(7.0, false).as_str()), ("====", "========"));
    }
}
