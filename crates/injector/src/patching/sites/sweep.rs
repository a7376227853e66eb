//! Decoding of the code around an address, from where an instruction certainly or very probably
//! begins.

use std::ops::Range;

use iced_x86::{Code, Decoder, DecoderOptions, Instruction};

use crate::patching::image::ImageSegment;
use crate::patching::tuning::{
    AGREED_INSTRUCTIONS, BYTES_AFTER_SITE, BYTES_BEFORE_SITE, CHECK_BYTES, CHECKS_AGREED,
    MAX_FUNCTION_BYTES, RUN_UP_BYTES, RUN_UPS, RUN_UPS_AGREED,
};

/// Meaning of the two bytes `0f 05` at an address.
#[derive(Debug)]
pub(crate) enum DecodedSite {
    /// A `syscall`: the instructions around it, and its index in them.
    Instruction { code: Vec<Instruction>, place: usize },
    /// The inside of another instruction, or no code.
    Inside,
    /// The meaning is uncertain.
    Uncertain,
}

/// Decodes the code around a possible `syscall` at `address`. `functions` are in order.
pub(crate) fn decode_around(
    segment: &ImageSegment<'_>,
    functions: &[Range<u64>],
    address: u64,
) -> DecodedSite {
    let early = address.saturating_sub(BYTES_BEFORE_SITE).max(segment.address);
    let own = enclosing_function(functions, address);
    let begin = match own {
        Some(begin) => begin,
        None => match run_up(segment, address) {
            RunUp::Agreed(begin) => begin,
            RunUp::Inside => return DecodedSite::Inside,
            RunUp::Disagreed => return DecodedSite::Uncertain,
        },
    };
    // The code before the function can jump into it, too.
    let before = (begin > early)
        .then(|| enclosing_function(functions, early).unwrap_or(early.saturating_sub(RUN_UP_BYTES)))
        .map_or(begin, |before| before.max(segment.address));
    let mut starts = vec![before, begin];
    let near = functions.partition_point(|function| function.start < before);
    let last = address.saturating_add(BYTES_AFTER_SITE);
    let known = functions.iter().skip(near).map(|function| function.start);
    starts.extend(known.take_while(|start| *start <= last));
    starts.retain(|start| *start <= begin || own.is_some() || *start >= address);
    starts.sort_unstable();
    starts.dedup();
    let code = decode_range(segment, &starts, last);
    match code.binary_search_by_key(&address, Instruction::ip) {
        Ok(place) if code.get(place).is_some_and(|of| of.code() == Code::Syscall) => match own {
            Some(begin) if !is_checked(segment, begin, address) => DecodedSite::Uncertain,
            _ => DecodedSite::Instruction { code, place },
        },
        _ => DecodedSite::Inside,
    }
}

/// Whether an instruction certainly or possibly begins at an address.
pub(crate) fn may_begin(
    segment: &ImageSegment<'_>,
    functions: &[Range<u64>],
    address: u64,
) -> bool {
    match enclosing_function(functions, address) {
        Some(begin) => {
            let code = decode_range(segment, &[begin], address);
            code.last().is_some_and(|last| last.ip() == address)
        }
        None => !matches!(run_up(segment, address), RunUp::Inside),
    }
}

/// Beginning of the function that contains an address.
fn enclosing_function(functions: &[Range<u64>], address: u64) -> Option<u64> {
    let after = functions.partition_point(|function| function.start <= address);
    // Functions with several names, and parts of one within another, follow each other.
    let own = functions.get(..after)?.iter().rev().take(4).find(|own| own.contains(&address))?;
    (address - own.start <= MAX_FUNCTION_BYTES).then_some(own.start)
}

/// Result of decoding without a known function.
enum RunUp {
    /// From this start, and nearly all others, decoding reaches the address.
    Agreed(u64),
    /// The address is inside another instruction.
    Inside,
    /// Different starts lead to different instructions.
    Disagreed,
}

/// Decodes towards an address from several starts before it, and compares what they reach.
fn run_up(segment: &ImageSegment<'_>, address: u64) -> RunUp {
    let tails = instruction_tails(segment, address, RUN_UP_BYTES);
    let Some((begin, common)) = tails.iter().find(|(_, tail)| tail.first() == Some(&address))
    else {
        // At the very beginning of a segment there are no bytes to decode before.
        return if tails.is_empty() { RunUp::Agreed(address) } else { RunUp::Inside };
    };
    let agreed = tails.iter().filter(|(_, tail)| tail == common).count();
    let arrived = tails.iter().filter(|(_, tail)| tail.first() == Some(&address)).count();
    if agreed >= RUN_UPS_AGREED.min(tails.len()) {
        RunUp::Agreed(*begin)
    } else if arrived * 4 <= tails.len() {
        RunUp::Inside
    } else {
        RunUp::Disagreed
    }
}

/// Whether decoding from a function's beginning agrees with decoding from other starts.
fn is_checked(segment: &ImageSegment<'_>, begin: u64, address: u64) -> bool {
    let own: Vec<u64> = last_instructions(&decode_range(segment, &[begin], address), begin);
    let tails = instruction_tails(segment, address, CHECK_BYTES);
    let agreed = |(_, other): &&(u64, Vec<u64>)| {
        // Before its beginning there is another function.
        let here = other.iter().filter(|ip| **ip >= begin);
        here.take(own.len()).eq(own.iter().take(other.len()))
    };
    tails.iter().filter(agreed).count() >= CHECKS_AGREED.min(tails.len())
}

/// Results of decoding towards an address from several starts before it: the start, and the last
/// instructions, the last one first.
fn instruction_tails(
    segment: &ImageSegment<'_>,
    address: u64,
    before: u64,
) -> Vec<(u64, Vec<u64>)> {
    let first = address.saturating_sub(before).max(segment.address);
    let mut lengths = InstructionLengths::new(segment, first, address);
    let begins = (first..address).take(RUN_UPS as usize);
    begins.map(|begin| (begin, lengths.last_instructions(begin, address))).collect()
}

/// Lengths of the instructions at all addresses from a first one, each decoded once: after some
/// steps, all decodings converge.
struct InstructionLengths<'a> {
    first: u64,
    decoder: Option<Decoder<'a>>,
    /// For each address the length and whether it is an instruction at all, once it is decoded.
    known: Vec<Option<(u64, bool)>>,
}

impl<'a> InstructionLengths<'a> {
    fn new(segment: &ImageSegment<'a>, first: u64, last: u64) -> Self {
        let bytes = segment.bytes_from(first);
        Self {
            first,
            decoder: bytes.map(|bytes| Decoder::with_ip(64, bytes, first, DecoderOptions::NONE)),
            known: vec![None; (last - first) as usize + 1],
        }
    }

    /// Length at an address. Bytes that are not an instruction count as one byte.
    fn length_at(&mut self, address: u64) -> Option<(u64, bool)> {
        let place = (address - self.first) as usize;
        let known = self.known.get_mut(place)?;
        if known.is_none() {
            let decoder = self.decoder.as_mut()?;
            decoder.set_position(place).ok()?;
            decoder.set_ip(address);
            let instruction = decoder.decode();
            let is_code = !instruction.is_invalid();
            *known = Some((if is_code { instruction.len() as u64 } else { 1 }, is_code));
        }
        *known
    }

    /// Addresses of the last instructions that decoding from `begin` to `last` finds, the last one
    /// first.
    fn last_instructions(&mut self, begin: u64, last: u64) -> Vec<u64> {
        let (mut at, mut addresses) = (begin, Vec::new());
        while at <= last
            && let Some((length, is_code)) = self.length_at(at)
        {
            if is_code {
                addresses.push(at);
            }
            at += length;
        }
        addresses.reverse();
        addresses.truncate(AGREED_INSTRUCTIONS);
        addresses
    }
}

/// Addresses of the last instructions, the last one first.
fn last_instructions(code: &[Instruction], begin: u64) -> Vec<u64> {
    let addresses = code.iter().rev().map(Instruction::ip);
    addresses.take_while(|ip| *ip >= begin).take(AGREED_INSTRUCTIONS).collect()
}

/// Decodes to `last`, inclusive. An instruction begins at each of `starts`, which are in order: an
/// instruction that crosses one is left out, and so are bytes that cannot be decoded.
pub(crate) fn decode_range(
    segment: &ImageSegment<'_>,
    starts: &[u64],
    last: u64,
) -> Vec<Instruction> {
    let mut code = Vec::new();
    let mut starts = starts.iter().copied().peekable();
    while let Some(begin) = starts.next() {
        if code.last().is_some_and(|before: &Instruction| before.ip() >= begin) {
            continue;
        }
        let end = starts.peek().copied().unwrap_or(u64::MAX);
        let Some(bytes) = segment.bytes_from(begin) else { continue };
        let mut decoder = Decoder::with_ip(64, bytes, begin, DecoderOptions::NONE);
        while decoder.can_decode() && decoder.ip() <= last && decoder.ip() < end {
            let instruction = decoder.decode();
            if instruction.is_invalid() {
                // An instruction follows somewhere.
                if decoder.set_position((instruction.ip() - begin) as usize + 1).is_err() {
                    break;
                }
                decoder.set_ip(instruction.ip() + 1);
            } else if instruction.next_ip() <= end {
                code.push(instruction);
            }
        }
    }
    code
}
