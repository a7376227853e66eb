//! The result in its first ten lines: the periods, the change of response times, its parts, and the
//! suspects.

use std::io::{self, Write};

use compare::QUANTILES;
use compare::output::{ChangeBreakdown, ComparisonReport, DescribedPeriod, DescribedSuspect};
use message_trace::units::{
    count_noun, format_count, format_duration, format_whole_percent, to_printable,
};

use crate::output;
use crate::table::write_folded;
use crate::tuning::{DIFF_EVIDENCE, DIFF_SHARES, DIFF_SUSPECTS};

/// Writes the overview.
pub(super) fn write_overview(answer: &ComparisonReport, out: &mut impl Write) -> io::Result<()> {
    let width = output::width_limit();
    let [before, after] = &answer.periods;
    write_folded(
        &format!("before: {}; after: {}", period_line(before), period_line(after)),
        "",
        width,
        out,
    )?;
    for doubt in &answer.doubts {
        write_folded(&format!("doubt: {doubt}"), "", width, out)?;
    }
    write_folded(&response_times_line(answer), "", width, out)?;
    if !answer.changed {
        return match answer.response.differs {
            true => writeln!(out, "no change is large enough to matter"),
            false => writeln!(out, "chance explains all changes"),
        };
    }
    for kind in answer.new_kinds.iter().take(DIFF_SHARES) {
        let name = match (kind.node.as_str(), kind.operation.as_str()) {
            (node, "") => to_printable(node),
            (node, operation) => format!("{} {}", to_printable(node), to_printable(operation)),
        };
        let [before, after] = kind.shares;
        let line = match before > 0.0 {
            true => format!("gone: {name}, {} of the requests", format_whole_percent(before)),
            false => format!("new: {name}, {} of the requests", format_whole_percent(after)),
        };
        write_folded(&line, "", width, out)?;
    }
    if answer.response.differs && answer.response.quantiles[0].is_some() {
        write_folded(&change_shares_line("mean", &answer.mean), "  ", width, out)?;
        // Of the quantiles, the one with the largest change.
        let quantiles = QUANTILES.iter().zip(&answer.quantiles);
        let largest = quantiles
            .filter_map(|(share, parts)| Some((share, parts.as_ref()?)))
            .max_by(|one, other| one.1.total_ns.abs().total_cmp(&other.1.total_ns.abs()));
        if let Some((share, of)) = largest {
            write_folded(
                &change_shares_line(&format!("p{:.0}", 100.0 * share), of),
                "  ",
                width,
                out,
            )?;
        }
    }
    write_suspects("first suspect", &answer.suspects, width, out)?;
    let only_faster = answer.suspects.is_empty();
    if only_faster {
        write_suspects("faster", &answer.faster, width, out)?;
    }
    Ok(())
}

fn period_line(of: &DescribedPeriod) -> String {
    let mut words = format!("{}, {}", of.name, count_noun(of.requests, "request", "requests"));
    if let (Some(first), Some(last)) = (of.first, of.last) {
        words += &format!(" in {}", format_duration((last - first) as f64));
    }
    words
}

/// The change of a time, with its sign.
fn format_change(ns: f64) -> String {
    format!("{}{}", if ns < 0.0 { "-" } else { "+" }, format_duration(ns.abs()))
}

fn response_times_line(answer: &ComparisonReport) -> String {
    let response = &answer.response;
    let one = |name: &str, [before, after]: [f64; 2]| {
        format!("{name} {} → {}", format_duration(before), format_duration(after))
    };
    let mut words = vec![one("mean", response.mean)];
    for (share, values) in QUANTILES.iter().zip(response.quantiles) {
        words.extend(values.map(|values| one(&format!("p{:.0}", 100.0 * share), values)));
    }
    if response.quantiles[0].is_none() {
        return "response times of one period are not known".to_owned();
    }
    let ratio = |[before, after]: [f64; 2]| if before > 0.0 { after / before } else { 1.0 };
    let mean = ratio(response.mean);
    let median = response.quantiles[0].map_or(1.0, ratio);
    // Most requests changed in the opposite direction to the mean.
    let is_mixed = (mean - 1.0) * (median - 1.0) < 0.0 && (median - 1.0).abs() >= 0.1;
    let verdict = match (response.is_changed, response.differs, mean) {
        (true, ..) | (_, true, _) if is_mixed => "some slower, some faster",
        (true, _, 1.0..) => "slower",
        (true, ..) => "faster",
        (false, true, 1.005..) => "a little slower",
        (false, true, ..0.995) => "a little faster",
        (false, ..) => "about as fast",
    };
    format!("{verdict}: {}", words.join(", "))
}

fn change_shares_line(name: &str, parts: &ChangeBreakdown) -> String {
    let one = |part: &compare::output::ChangeContribution| {
        let what = to_printable(&part.what);
        let why = match part.kind {
            "paths" => format!("{what} by other paths"),
            "mix" => format!("another share of {what}"),
            _ => what,
        };
        format!("{} {why}", format_change(part.ns))
    };
    let shown: Vec<String> = parts.parts.iter().take(DIFF_SHARES).map(one).collect();
    let rest: f64 = parts.parts.iter().skip(DIFF_SHARES).map(|part| part.ns).sum();
    let more = parts.parts.len().saturating_sub(DIFF_SHARES);
    let rest = if more > 0 { format!("; {} all else", format_change(rest)) } else { String::new() };
    format!("{name} {}: {}{rest}", format_change(parts.total_ns), shown.join("; "))
}

/// Writes the first suspect with its evidence, and the names of the next ones.
fn write_suspects(
    title: &str,
    suspects: &[DescribedSuspect],
    width: Option<usize>,
    out: &mut impl Write,
) -> io::Result<()> {
    let Some((first, others)) = suspects.split_first() else { return Ok(()) };
    let name = to_printable(&first.node);
    writeln!(out, "{title}: {name} ({} of the evidence)", format_whole_percent(first.share))?;
    for evidence in first.evidence.iter().take(DIFF_EVIDENCE) {
        write_folded(&evidence.sentence, "  ", width, out)?;
    }
    let more = first.evidence.len().saturating_sub(DIFF_EVIDENCE);
    if more > 0 {
        writeln!(out, "  and {} more", format_count(more as u64))?;
    }
    let others: Vec<String> = others
        .iter()
        .take(DIFF_SUSPECTS)
        .map(|suspect| {
            format!("{} ({})", to_printable(&suspect.node), format_whole_percent(suspect.share))
        })
        .collect();
    if others.is_empty() {
        Ok(())
    } else {
        write_folded(&format!("then: {}", others.join(", ")), "", width, out)
    }
}
