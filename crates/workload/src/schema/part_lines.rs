//! Lines below an EVENT.

use crate::schema::statements::{
    Affect, Begin, BeginBy, Binding, Comparison, Condition, Mark, Mode, Part, ProcessorUse,
    Resource, ResourceKind, Why,
};
use crate::schema::tokens::expanded;
use crate::schema::values::Words;

/// Takes a line below an EVENT into its part.
pub(super) fn part_line(
    part: &mut Part,
    keyword: &str,
    words: &mut Words<'_>,
) -> Result<(), String> {
    match keyword {
        "ATTRIBUTE" => part.bindings.push(binding(words)?),
        "WHERE" => part.conditions.push(condition(words)?),
        "AFTER" => {
            while let Some(word) = words.word() {
                part.after.extend(expanded(word));
            }
        }
        "THREAD" => part.thread = Some(attribute(words, keyword)?),
        "NAME" => part.name = Some(attribute(words, keyword)?),
        "SEED" => part.seed = true,
        "WAIT" => part.wait = true,
        "COMPLETE" => part.complete = true,
        "AFFECT" => part.affects.push(affect(words)?),
        "MARK" => part.marks.push(Mark { values: words.values()?, on: true }),
        "UNMARK" => part.marks.push(Mark { values: words.values()?, on: false }),
        "RESOURCE" => part.resources.push(resource(words)?),
        "PROCESSOR" => part.processor = Some(processor(words)?),
        "INSIDE" => {
            part.inside = Some(why(words.word()).ok_or_else(|| format!("INSIDE takes {REASONS}"))?);
        }
        "BEGIN" => part.begins.push(begin(words)?),
        _ => return Err(format!("{keyword} is no keyword; take one of {KEYWORDS}")),
    }
    Ok(())
}

const KEYWORDS: &str = "EVENT, WHERE, AFTER, THREAD, ATTRIBUTE, AFFECT, SEED, NAME, COMPLETE, \
                        WAIT, RESOURCE, PROCESSOR, INSIDE, BEGIN, MARK, UNMARK, SYNC, APART";

const REASONS: &str = "disk, lock, peer, asleep, runnable or unknown";

fn attribute(words: &mut Words<'_>, keyword: &str) -> Result<String, String> {
    let word = words.word().map(str::to_owned);
    word.ok_or_else(|| format!("{keyword} takes an attribute of the event"))
}

/// `ATTRIBUTE name(attribute, ...) MODE`, or the paper's `ATTRIBUTE("name", BIND_MODE, 0)`.
fn binding(words: &mut Words<'_>) -> Result<Binding, String> {
    const MODES: &str = "ATTRIBUTE takes an attribute and BASIC, START, STOP, LIVE, CLAIM or NOTE: \
                         ATTRIBUTE connection(process, fd) START";
    let values = words.values().map_err(|_| MODES.to_owned())?;
    let word = words.word().ok_or(MODES)?;
    let mode = match word.strip_prefix("BIND_").unwrap_or(word) {
        "BASIC" => Mode::Basic,
        "START" => Mode::Start,
        "STOP" => Mode::Stop,
        "LIVE" => Mode::Live,
        "CLAIM" => Mode::Claim,
        "NOTE" => Mode::Note,
        _ => return Err(format!("{word} is no binding; {MODES}")),
    };
    words.keyword("0");
    Ok(Binding { values, mode })
}

/// `WHERE attribute = a|b`, `WHERE mark(attribute, ...)` or `WHERE NOT mark(attribute, ...)`.
fn condition(words: &mut Words<'_>) -> Result<Condition, String> {
    const FORMS: &str = "WHERE takes a comparison or a mark: WHERE ret > 0, WHERE state = R|R+, \
                         WHERE NOT client(process, fd)";
    let not = words.keyword("NOT");
    let values = words.values().map_err(|_| FORMS.to_owned())?;
    let by = match words.any_sign() {
        None => return Ok(Condition::Marked { values, not }),
        Some("=") => Comparison::Equal,
        Some("!=") => Comparison::NotEqual,
        Some("<") => Comparison::Less,
        Some("<=") => Comparison::AtMost,
        Some(">") => Comparison::Greater,
        Some(">=") => Comparison::AtLeast,
        Some("&") => Comparison::HasBits,
        Some(sign) => return Err(format!("{sign:?} does not compare; {FORMS}")),
    };
    if not || values.of != [values.name.as_str()] {
        return Err(FORMS.to_owned());
    }
    let mut with = Vec::new();
    loop {
        with.push(words.word().ok_or(FORMS)?.to_owned());
        if !words.sign("|") {
            break;
        }
    }
    let numbers = with.iter().all(|text| number(text).is_some());
    if !numbers && !matches!(by, Comparison::Equal | Comparison::NotEqual) {
        return Err("only whole numbers can be smaller, greater, or have bits".to_owned());
    }
    Ok(Condition::Compare { attribute: values.name, by, with })
}

/// The whole number that `text` is, in decimal or behind `0x`.
pub(crate) fn number(text: &str) -> Option<i64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok().map(u64::cast_signed),
        None => text.parse().ok(),
    }
}

fn affect(words: &mut Words<'_>) -> Result<Affect, String> {
    const FORM: &str = "AFFECT takes a join attribute and START or STOP: AFFECT thread STOP";
    let attribute = words.word().ok_or(FORM)?.to_owned();
    match words.word().ok_or(FORM)? {
        "START" => Ok(Affect { attribute, starts: true }),
        "STOP" => Ok(Affect { attribute, starts: false }),
        _ => Err(FORM.to_owned()),
    }
}

fn resource(words: &mut Words<'_>) -> Result<Resource, String> {
    const FORM: &str = "RESOURCE takes disk_read, disk_write, sent or received, and an attribute: \
                        RESOURCE disk_read sectors * 512";
    let kind = match words.word().ok_or(FORM)? {
        "disk_read" => ResourceKind::DiskRead,
        "disk_write" => ResourceKind::DiskWrite,
        "sent" => ResourceKind::Sent,
        "received" => ResourceKind::Received,
        _ => return Err(FORM.to_owned()),
    };
    let attribute = words.word().ok_or(FORM)?.to_owned();
    let times = match words.sign("*") {
        true => words.word().and_then(number).ok_or(FORM)?,
        false => 1,
    };
    Ok(Resource { kind, attribute, times })
}

fn processor(words: &mut Words<'_>) -> Result<ProcessorUse, String> {
    Ok(match words.word() {
        Some("in") => ProcessorUse::In,
        Some("out") if words.is_empty() => ProcessorUse::Out(None),
        Some("out") => {
            let why = why(words.word());
            ProcessorUse::Out(Some(why.ok_or_else(|| format!("PROCESSOR out takes {REASONS}"))?))
        }
        Some("ready") => ProcessorUse::Ready,
        Some("interrupt") => ProcessorUse::Interrupt,
        Some("return") => ProcessorUse::Return,
        _ => return Err("PROCESSOR takes in, out, ready, interrupt or return".to_owned()),
    })
}

fn why(word: Option<&str>) -> Option<Why> {
    Some(match word? {
        "runnable" => Why::Runnable,
        "disk" => Why::Disk,
        "lock" => Why::Lock,
        "peer" => Why::Peer,
        "asleep" => Why::Asleep,
        "unknown" => Why::Unknown,
        _ => return None,
    })
}

fn begin(words: &mut Words<'_>) -> Result<Begin, String> {
    const FORM: &str = "BEGIN takes BEFORE or AT, an attribute, and a kind: \
                        BEGIN BEFORE duration AS provider/name.begin";
    let by = match words.word() {
        Some("BEFORE") => BeginBy::Before,
        Some("AT") => BeginBy::At,
        _ => return Err(FORM.to_owned()),
    };
    let attribute = words.word().ok_or(FORM)?.to_owned();
    if !words.keyword("AS") {
        return Err(FORM.to_owned());
    }
    Ok(Begin { attribute, by, kind: words.word().ok_or(FORM)?.to_owned() })
}
