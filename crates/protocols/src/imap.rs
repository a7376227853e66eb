//! IMAP (RFC 9051): verbs without their arguments and statuses, paired by tags.

mod command_lines;

use registry::{EntryHelp, Spec};

use self::command_lines::{
    has_tag_like, is_greeting, is_tag, literal_length, parse_command, tag_number,
};
use crate::bounded_map::BoundedMap;
use crate::cursor::first_line;
use crate::flow_snippet::{FlowSpeaker, LogPosition, SnippetRule};
use crate::opening::{FlowOpening, yes_if};
use crate::operation::{MessageRole, OperationSink, ProtocolOperation};
use crate::parser::{FlowContinuation, ProtocolParser};
use crate::protocol::{ProtocolEntry, ProtocolSpec};
use crate::silent_turn::role_of_speaker;
use crate::streams::{MessageParser, MessageStreams, ParseStep, UnparsedBytes};
use crate::tuning::{MAX_UNANSWERED, OTHER_MESSAGE_BYTES};

/// Registry entry of IMAP.
pub(crate) static IMAP: ProtocolSpec = Spec {
    about: EntryHelp {
        name: "imap",
        summary: "IMAP: verbs without mailboxes and searches, statuses, by tags",
        ..EntryHelp::NOTHING
    },
    flags: registry::no_flags,
    entry: ProtocolEntry {
        class: SnippetRule::Other,
        recognised: "A greeting with `* OK` or `* PREAUTH`, or a tag with a digit and a known verb.",
        recognise: |opening: &FlowOpening| {
            let command =
                first_line(opening.client_bytes()).and_then(|(line, _)| parse_command(line));
            let greets = is_greeting(opening.server_bytes());
            let has_digit = |tag: &[u8]| tag.iter().any(u8::is_ascii_digit);
            yes_if(
                command.is_some_and(|(tag, _)| opening.server_leads() && greets || has_digit(tag)),
            )
        },
        open: open_parser,
        #[cfg(test)]
        samples: tests::sample_conversations,
    },
};

fn open_parser() -> Box<dyn ProtocolParser> {
    Box::new(MessageStreams::new(Imap {
        unanswered: BoundedMap::new(MAX_UNANSWERED),
        answer: None,
        has_begun: false,
        has_unanswered: true,
        continues: false,
        literal: 0,
        wanted_continuation: None,
        possible_continuation: None,
        assumed_continuation: None,
    }))
}

const NAME: &str = "imap";

#[derive(Debug)]
struct Imap {
    /// Unanswered commands, by tag.
    unanswered: BoundedMap<u64, &'static str>,
    /// Place where the server's response began, and the command that it answers if only one was
    /// unanswered.
    answer: Option<(LogPosition, Option<u64>)>,
    /// Whether anything was sent.
    has_begun: bool,
    /// Whether the client has sent, or may have sent, something that is unanswered.
    has_unanswered: bool,
    /// Whether the client's next line continues its previous command.
    continues: bool,
    /// Length in bytes of a literal that the client sends when the server requests it.
    literal: u64,
    /// Command that the server wants continued: what the client sends next is another request of
    /// that command.
    wanted_continuation: Option<u64>,
    /// The command that the server may want continued, after an unreadable response: what the
    /// client sends next continues this command, unless it is another command.
    possible_continuation: Option<u64>,
    /// Command that the client's latest bytes were assumed to continue, and whose call id their
    /// operation got. If the server's response has an unknown tag, the bytes were another command,
    /// and its response gets the same call id.
    assumed_continuation: Option<u64>,
}

impl MessageParser for Imap {
    const NAME: &'static str = NAME;
    const MAX_EXAMINED_BYTES: usize = OTHER_MESSAGE_BYTES;

    fn parse_message(
        &mut self,
        unparsed: &UnparsedBytes<'_>,
        out: &mut OperationSink<'_>,
    ) -> ParseStep {
        let is_client = unparsed.speaker == FlowSpeaker::Client;
        if is_client {
            if self.possible_continuation.is_some() {
                let Some((line, _)) = first_line(unparsed.bytes) else {
                    return unparsed.wait_or_give_up();
                };
                let wanted_continuation = self.possible_continuation.take();
                if parse_command(line).is_some()
                    || wanted_continuation.is_some_and(|it| has_tag_like(line, it))
                {
                    (self.continues, self.literal) = (false, 0);
                } else {
                    (self.wanted_continuation, self.assumed_continuation) =
                        (wanted_continuation, wanted_continuation);
                    // The command is unanswered again; its verb is no longer known.
                    wanted_continuation
                        .into_iter()
                        .for_each(|call| self.unanswered.insert(call, ""));
                }
            }
            self.continue_command(unparsed.position_at(0), out);
            let literal = std::mem::take(&mut self.literal);
            if literal > 0 {
                return ParseStep::Skip(literal);
            }
        }
        let Some((line, length)) = first_line(unparsed.bytes) else {
            return self.begin_partial_line(unparsed, out);
        };
        let after = literal_length(line);
        let length = length as u64;
        if is_client {
            if !self.process_client_line(line, unparsed.position_at(0), out) {
                return ParseStep::Lost;
            }
            self.continues = after.is_some();
            // The client waits for the server's consent before a literal, unless it is marked as
            // non-synchronising.
            let is_at_once = line.ends_with(b"+}");
            self.literal = after.filter(|_| !is_at_once).unwrap_or(0);
            return ParseStep::Skip(
                length.saturating_add(after.filter(|_| is_at_once).unwrap_or(0)),
            );
        }
        match self.process_server_line(line, unparsed.position_at(0), out) {
            Some(FlowContinuation::Same) => {
                ParseStep::Skip(length.saturating_add(after.unwrap_or(0)))
            }
            Some(next) => ParseStep::Leave(next),
            None => ParseStep::Lost,
        }
    }

    fn on_turn(&mut self, speaker: FlowSpeaker, out: &mut OperationSink<'_>) {
        if speaker == FlowSpeaker::Client {
            // The data answered a request that could not be read.
            let is_known = self.unanswered.latest_key().is_some();
            if let Some((place, None)) = self.answer.take_if(|_| !is_known) {
                out.for_speaker(FlowSpeaker::Server).push(ProtocolOperation::new(
                    place,
                    MessageRole::Response,
                    NAME,
                ));
            }
            (self.has_begun, self.has_unanswered) = (true, true);
        }
    }

    fn lose_track(&mut self, speaker: FlowSpeaker, out: &mut OperationSink<'_>) {
        self.on_gap(speaker, out);
        if speaker == FlowSpeaker::Server {
            // The unreadable part may have been the response, or a request for more.
            self.possible_continuation = self.unanswered.latest_key().copied();
            self.unanswered.drain_entries().for_each(drop);
            self.wanted_continuation = None;
        }
    }

    fn on_gap(&mut self, speaker: FlowSpeaker, out: &mut OperationSink<'_>) {
        if speaker == FlowSpeaker::Client {
            (self.continues, self.literal, self.wanted_continuation) = (false, 0, None);
            self.possible_continuation = None;
        } else {
            self.cut_response(out);
        }
    }

    fn silent_role(&self, speaker: FlowSpeaker) -> MessageRole {
        if self.has_begun { role_of_speaker(speaker) } else { MessageRole::OneWay }
    }

    fn is_within(&self, speaker: FlowSpeaker) -> bool {
        // A response with a missing end is emitted later.
        speaker == FlowSpeaker::Server && matches!(self.answer, Some((_, Some(_))))
    }

    fn may_be_blank(&self, speaker: FlowSpeaker) -> bool {
        let wanted = self.wanted_continuation.or(self.possible_continuation).is_some();
        speaker == FlowSpeaker::Client && (self.continues || wanted)
    }

    fn finish_messages(&mut self, out: &mut OperationSink<'_>) {
        self.cut_response(out);
    }
}

impl Imap {
    /// Parses an incomplete line: its first two words identify it if they are complete.
    fn begin_partial_line(
        &mut self,
        unparsed: &UnparsedBytes<'_>,
        out: &mut OperationSink<'_>,
    ) -> ParseStep {
        if unparsed.ended && unparsed.bytes.iter().filter(|byte| **byte == b' ').count() >= 2 {
            match unparsed.speaker {
                FlowSpeaker::Client => {
                    _ = self.process_client_line(unparsed.bytes, unparsed.position_at(0), out)
                }
                FlowSpeaker::Server => {
                    _ = self.process_server_line(unparsed.bytes, unparsed.position_at(0), out)
                }
            }
        }
        unparsed.wait_or_give_up()
    }

    /// Emits the continuation of a command as a request of its own, since the server asked for it.
    fn continue_command(&mut self, place: LogPosition, out: &mut OperationSink<'_>) {
        let Some(call) = self.wanted_continuation.take() else { return };
        self.continues = true;
        let verb = self.unanswered.get(&call).copied().unwrap_or_default();
        let name = if verb == "IDLE" { "DONE" } else { verb };
        out.push(
            ProtocolOperation::new(place, MessageRole::Request, NAME)
                .with_call(call)
                .with_name(name),
        );
    }

    /// Parses a line of the client; returns whether it is a command or continues one.
    fn process_client_line(
        &mut self,
        line: &[u8],
        place: LogPosition,
        out: &mut OperationSink<'_>,
    ) -> bool {
        if self.continues {
            return true;
        }
        let Some((tag, verb)) = parse_command(line) else { return false };
        let call = tag_number(tag);
        self.unanswered.insert(call, verb);
        out.push(
            ProtocolOperation::new(place, MessageRole::Request, NAME)
                .with_call(call)
                .with_name(verb),
        );
        true
    }

    /// Parses a line of the server and returns how the flow continues after it; `None` if it is not
    /// recognised.
    fn process_server_line(
        &mut self,
        line: &[u8],
        place: LogPosition,
        out: &mut OperationSink<'_>,
    ) -> Option<FlowContinuation> {
        if !std::mem::replace(&mut self.has_begun, true) && is_greeting(line) {
            self.has_unanswered = false;
            out.push(
                ProtocolOperation::new(place, MessageRole::OneWay, NAME).with_name("greeting"),
            );
            return Some(FlowContinuation::Same);
        }
        let mut words = line.split(|byte| *byte == b' ');
        let (tag, word) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        if tag == b"+" {
            // The latest command is the one that waits for this.
            let call = self.unanswered.latest_key().copied();
            let begun = self.answer.take().map_or(place, |(begun, _)| begun);
            out.push(ProtocolOperation {
                call,
                ..ProtocolOperation::new(begun, MessageRole::Response, NAME)
            });
            self.wanted_continuation = call;
            return Some(FlowContinuation::Same);
        }
        let status = ["OK", "NO", "BAD"].into_iter().find(|of| of.as_bytes() == word);
        let Some(status) = status.filter(|_| is_tag(tag)) else {
            // Untagged data belongs to a response, unless only IDLE is unanswered, which reports
            // news.
            if tag == b"*" && self.expects_news() {
                out.push(
                    ProtocolOperation::new(place, MessageRole::OneWay, NAME).with_name("untagged"),
                );
            } else if tag == b"*" {
                let only = self.unanswered.only_key().copied();
                self.answer.get_or_insert((place, only));
            } else if self.answer.is_none() {
                return None;
            }
            return Some(FlowContinuation::Same);
        };
        (self.wanted_continuation, self.literal, self.has_unanswered) = (None, 0, false);
        let has_unknown_tag = self.unanswered.get(&tag_number(tag)).is_none();
        let call =
            self.assumed_continuation.take().filter(|_| has_unknown_tag).unwrap_or(tag_number(tag));
        let verb = self.unanswered.remove(&call).unwrap_or_default();
        let begun = self.answer.take().map_or(place, |(begun, _)| begun);
        let response = ProtocolOperation::new(begun, MessageRole::Response, NAME).with_call(call);
        out.push(response.with_status(status, status != "OK"));
        let is_silent = status == "OK" && matches!(verb, "STARTTLS" | "COMPRESS");
        Some(if is_silent { FlowContinuation::Silent } else { FlowContinuation::Same })
    }

    /// Whether untagged data of the server answers no command: none is unanswered, or only IDLE.
    fn expects_news(&self) -> bool {
        match self.unanswered.latest_key() {
            Some(call) => {
                self.wanted_continuation == Some(*call)
                    && self.unanswered.get(call) == Some(&"IDLE")
            }
            None => !self.has_unanswered,
        }
    }

    /// Emits a response with a missing end.
    fn cut_response(&mut self, out: &mut OperationSink<'_>) {
        if let Some((place, Some(call))) = self.answer.take()
            && self.unanswered.remove(&call).is_some()
        {
            let response =
                ProtocolOperation::new(place, MessageRole::Response, NAME).with_call(call);
            out.for_speaker(FlowSpeaker::Server).push(response);
        }
    }
}

#[cfg(test)]
mod tests;
