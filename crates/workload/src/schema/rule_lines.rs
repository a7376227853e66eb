//! Lines below an EVENT.

use crate::schema::rule_words::RuleWords;
use crate::schema::rules::{
    AttributeBinding, BeginBy, BindMode, EventCondition, EventRule, IntervalEffect, ProcessorUse,
    ResourceKind, ResourceUse, SyntheticBegin, ValueComparison, ValueMark, WaitReason,
};
use crate::schema::tokens::expand_braces;

/// Adds a line below an EVENT to its part.
pub(super) fn parse_rule_line(
    part: &mut EventRule,
    keyword: &str,
    words: &mut RuleWords<'_>,
) -> Result<(), String> {
    match keyword {
        "ATTRIBUTE" => part.bindings.push(parse_binding(words)?),
        "WHERE" => part.conditions.push(parse_condition(words)?),
        "AFTER" => {
            while let Some(word) = words.take_word() {
                part.after.extend(expand_braces(word));
            }
        }
        "THREAD" => part.thread = Some(parse_attribute(words, keyword)?),
        "NAME" => part.name = Some(parse_attribute(words, keyword)?),
        "SEED" => part.seed = true,
        "WAIT" => part.wait = true,
        "COMPLETE" => part.complete = true,
        "AFFECT" => part.affects.push(parse_effect(words)?),
        "MARK" => part.marks.push(ValueMark { values: words.take_values()?, on: true }),
        "UNMARK" => part.marks.push(ValueMark { values: words.take_values()?, on: false }),
        "RESOURCE" => part.resources.push(parse_resource(words)?),
        "PROCESSOR" => part.processor = Some(parse_processor(words)?),
        "INSIDE" => {
            part.inside = Some(
                parse_reason(words.take_word()).ok_or_else(|| format!("INSIDE takes {REASONS}"))?,
            );
        }
        "BEGIN" => part.begins.push(parse_begin(words)?),
        _ => return Err(format!("{keyword} is not a keyword; use one of {KEYWORDS}")),
    }
    Ok(())
}

const KEYWORDS: &str = "EVENT, WHERE, AFTER, THREAD, ATTRIBUTE, AFFECT, SEED, NAME, COMPLETE, \
                        WAIT, RESOURCE, PROCESSOR, INSIDE, BEGIN, MARK, UNMARK, SYNC, APART";

const REASONS: &str = "disk, lock, peer, asleep, runnable or unknown";

fn parse_attribute(words: &mut RuleWords<'_>, keyword: &str) -> Result<String, String> {
    let word = words.take_word().map(str::to_owned);
    word.ok_or_else(|| format!("{keyword} takes an attribute of the event"))
}

/// `ATTRIBUTE name(attribute, ...) MODE`, or the paper's `ATTRIBUTE("name", BIND_MODE, 0)`.
fn parse_binding(words: &mut RuleWords<'_>) -> Result<AttributeBinding, String> {
    const MODES: &str = "ATTRIBUTE takes an attribute and BASIC, START, STOP, LIVE, CLAIM or NOTE: \
                         ATTRIBUTE connection(process, fd) START";
    let values = words.take_values().map_err(|_| MODES.to_owned())?;
    let word = words.take_word().ok_or(MODES)?;
    let mode = match word.strip_prefix("BIND_").unwrap_or(word) {
        "BASIC" => BindMode::Basic,
        "START" => BindMode::Start,
        "STOP" => BindMode::Stop,
        "LIVE" => BindMode::Live,
        "CLAIM" => BindMode::Claim,
        "NOTE" => BindMode::Note,
        _ => return Err(format!("{word} is not a binding; {MODES}")),
    };
    words.take_keyword("0");
    Ok(AttributeBinding { values, mode })
}

/// `WHERE attribute = a|b`, `WHERE mark(attribute, ...)` or `WHERE NOT mark(attribute, ...)`.
fn parse_condition(words: &mut RuleWords<'_>) -> Result<EventCondition, String> {
    const FORMS: &str = "WHERE takes a comparison or a mark: WHERE ret > 0, WHERE state = R|R+, \
                         WHERE NOT client(process, fd)";
    let not = words.take_keyword("NOT");
    let values = words.take_values().map_err(|_| FORMS.to_owned())?;
    let by = match words.take_any_sign() {
        None => return Ok(EventCondition::Marked { values, not }),
        Some("=") => ValueComparison::Equal,
        Some("!=") => ValueComparison::NotEqual,
        Some("<") => ValueComparison::Less,
        Some("<=") => ValueComparison::AtMost,
        Some(">") => ValueComparison::Greater,
        Some(">=") => ValueComparison::AtLeast,
        Some("&") => ValueComparison::HasBits,
        Some(sign) => return Err(format!("{sign:?} is not a comparison; {FORMS}")),
    };
    if not || values.of != [values.name.as_str()] {
        return Err(FORMS.to_owned());
    }
    let mut with = Vec::new();
    loop {
        with.push(words.take_word().ok_or(FORMS)?.to_owned());
        if !words.take_sign("|") {
            break;
        }
    }
    let numbers = with.iter().all(|text| parse_number(text).is_some());
    if !numbers && !matches!(by, ValueComparison::Equal | ValueComparison::NotEqual) {
        return Err("only whole numbers can be smaller, greater, or have bits".to_owned());
    }
    Ok(EventCondition::Compare { attribute: values.name, by, with })
}

/// The integer in `text`, in decimal or after `0x`.
pub(crate) fn parse_number(text: &str) -> Option<i64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok().map(u64::cast_signed),
        None => text.parse().ok(),
    }
}

fn parse_effect(words: &mut RuleWords<'_>) -> Result<IntervalEffect, String> {
    const FORM: &str = "AFFECT takes a join attribute and START or STOP: AFFECT thread STOP";
    let attribute = words.take_word().ok_or(FORM)?.to_owned();
    match words.take_word().ok_or(FORM)? {
        "START" => Ok(IntervalEffect { attribute, starts: true }),
        "STOP" => Ok(IntervalEffect { attribute, starts: false }),
        _ => Err(FORM.to_owned()),
    }
}

fn parse_resource(words: &mut RuleWords<'_>) -> Result<ResourceUse, String> {
    const FORM: &str = "RESOURCE takes disk_read, disk_write, sent or received, and an attribute: \
                        RESOURCE disk_read sectors * 512";
    let kind = match words.take_word().ok_or(FORM)? {
        "disk_read" => ResourceKind::DiskRead,
        "disk_write" => ResourceKind::DiskWrite,
        "sent" => ResourceKind::Sent,
        "received" => ResourceKind::Received,
        _ => return Err(FORM.to_owned()),
    };
    let attribute = words.take_word().ok_or(FORM)?.to_owned();
    let times = match words.take_sign("*") {
        true => words.take_word().and_then(parse_number).ok_or(FORM)?,
        false => 1,
    };
    Ok(ResourceUse { kind, attribute, times })
}

fn parse_processor(words: &mut RuleWords<'_>) -> Result<ProcessorUse, String> {
    Ok(match words.take_word() {
        Some("in") => ProcessorUse::In,
        Some("out") if words.is_empty() => ProcessorUse::Out(None),
        Some("out") => {
            let why = parse_reason(words.take_word());
            ProcessorUse::Out(Some(why.ok_or_else(|| format!("PROCESSOR out takes {REASONS}"))?))
        }
        Some("ready") => ProcessorUse::Ready,
        Some("interrupt") => ProcessorUse::Interrupt,
        Some("return") => ProcessorUse::Return,
        _ => return Err("PROCESSOR takes in, out, ready, interrupt or return".to_owned()),
    })
}

fn parse_reason(word: Option<&str>) -> Option<WaitReason> {
    Some(match word? {
        "runnable" => WaitReason::Runnable,
        "disk" => WaitReason::Disk,
        "lock" => WaitReason::Lock,
        "peer" => WaitReason::Peer,
        "asleep" => WaitReason::Asleep,
        "unknown" => WaitReason::Unknown,
        _ => return None,
    })
}

fn parse_begin(words: &mut RuleWords<'_>) -> Result<SyntheticBegin, String> {
    const FORM: &str = "BEGIN takes BEFORE or AT, an attribute, and a kind: \
                        BEGIN BEFORE duration AS provider/name.begin";
    let by = match words.take_word() {
        Some("BEFORE") => BeginBy::Before,
        Some("AT") => BeginBy::At,
        _ => return Err(FORM.to_owned()),
    };
    let attribute = words.take_word().ok_or(FORM)?.to_owned();
    if !words.take_keyword("AS") {
        return Err(FORM.to_owned());
    }
    Ok(SyntheticBegin { attribute, by, kind: words.take_word().ok_or(FORM)?.to_owned() })
}
