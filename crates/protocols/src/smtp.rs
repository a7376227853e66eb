//! SMTP (RFC 5321): verbs without their arguments, and reply codes. Mails are not examined.

use registry::{EntryHelp, Spec};

use crate::cursor::{first_line, parse_decimal};
use crate::flow_snippet::{FlowSpeaker, SnippetRule};
use crate::opening::{FlowOpening, yes_if};
use crate::operation::{MessageRole, OperationSink, ProtocolOperation};
use crate::parser::{FlowContinuation, ProtocolParser};
use crate::protocol::{ProtocolEntry, ProtocolSpec};
use crate::silent_turn::role_of_speaker;
use crate::streams::{MessageParser, MessageStreams, ParseStep, UnparsedBytes};
use crate::tuning::OTHER_MESSAGE_BYTES;

/// Registry entry of SMTP.
pub(crate) static SMTP: ProtocolSpec = Spec {
    about: EntryHelp {
        name: "smtp",
        summary: "SMTP and LMTP: verbs without addresses, codes of replies",
        ..EntryHelp::NOTHING
    },
    flags: registry::no_flags,
    entry: ProtocolEntry {
        class: SnippetRule::Other,
        recognised: "A greeting with 220 and a client that sends EHLO, HELO or LHLO, or MAIL FROM:<.",
        recognise: |opening: &FlowOpening| {
            let client = opening.client_bytes();
            let says = |words: &str| {
                let begin = client.get(..words.len());
                begin.is_some_and(|begin| begin.eq_ignore_ascii_case(words.as_bytes()))
            };
            let greeted = opening.server_leads() && opening.server_bytes().starts_with(b"220");
            let hello = says("EHLO ") || says("HELO ") || says("LHLO ");
            yes_if(greeted && hello || says("MAIL FROM:<"))
        },
        open: open_parser,
        #[cfg(test)]
        samples: tests::sample_conversations,
    },
};

fn open_parser() -> Box<dyn ProtocolParser> {
    Box::new(MessageStreams::new(Smtp::default()))
}

const NAME: &str = "smtp";

/// Commands of RFC 5321 and its extensions.
const VERBS: &[&str] = &[
    "EHLO", "HELO", "LHLO", "MAIL", "RCPT", "DATA", "BDAT", "RSET", "NOOP", "QUIT", "VRFY", "EXPN",
    "HELP", "AUTH", "STARTTLS", "ETRN", "XCLIENT", "XFORWARD",
];

/// What the client is expected to send next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ClientExpectation {
    #[default]
    Command,
    /// A mail, until a line that consists of a dot.
    Mail,
    /// The rest of a mail.
    MoreMail,
    /// A reply to a challenge of AUTH.
    Login,
}

#[derive(Debug, Default)]
struct Smtp {
    next: ClientExpectation,
    /// Whether the client has sent anything.
    has_begun: bool,
    /// Whether the client requested TLS.
    asked_for_tls: bool,
    /// Whether the server's latest reply continues with another line.
    in_reply: bool,
}

impl MessageParser for Smtp {
    const NAME: &'static str = NAME;
    const MAX_EXAMINED_BYTES: usize = OTHER_MESSAGE_BYTES;
    const QUIET_TURNS: bool = true;

    fn parse_message(
        &mut self,
        unparsed: &UnparsedBytes<'_>,
        out: &mut OperationSink<'_>,
    ) -> ParseStep {
        match unparsed.speaker {
            FlowSpeaker::Client => self.parse_command(unparsed, out),
            FlowSpeaker::Server => self.parse_reply(unparsed, out),
        }
    }

    fn on_turn(&mut self, speaker: FlowSpeaker, _: &mut OperationSink<'_>) {
        self.has_begun |= speaker == FlowSpeaker::Client;
        // The server's reply after a mail answers it, even if the end of the mail was not seen.
        if speaker == FlowSpeaker::Server && self.next == ClientExpectation::MoreMail {
            self.next = ClientExpectation::Command;
        }
    }

    fn lose_track(&mut self, speaker: FlowSpeaker, out: &mut OperationSink<'_>) {
        self.on_gap(speaker, out);
    }

    fn on_gap(&mut self, speaker: FlowSpeaker, _: &mut OperationSink<'_>) {
        if speaker == FlowSpeaker::Server {
            self.in_reply = false;
        }
    }

    fn silent_role(&self, speaker: FlowSpeaker) -> MessageRole {
        if self.has_begun { role_of_speaker(speaker) } else { MessageRole::OneWay }
    }

    fn is_within(&self, speaker: FlowSpeaker) -> bool {
        match speaker {
            FlowSpeaker::Client => self.next == ClientExpectation::MoreMail,
            FlowSpeaker::Server => self.in_reply,
        }
    }

    fn may_be_blank(&self, speaker: FlowSpeaker) -> bool {
        speaker == FlowSpeaker::Client && self.next != ClientExpectation::Command
    }
}

impl Smtp {
    fn parse_command(
        &mut self,
        unparsed: &UnparsedBytes<'_>,
        out: &mut OperationSink<'_>,
    ) -> ParseStep {
        let ask = |name: &str| {
            ProtocolOperation::new(unparsed.position_at(0), MessageRole::Request, NAME)
                .with_name(name)
        };
        if matches!(self.next, ClientExpectation::Mail | ClientExpectation::MoreMail) {
            if std::mem::replace(&mut self.next, ClientExpectation::MoreMail)
                == ClientExpectation::Mail
            {
                out.push(ask("message"));
            }
            return self.skip_mail(unparsed);
        }
        let Some((line, length)) = first_line(unparsed.bytes) else {
            return unparsed.wait_or_give_up();
        };
        if self.next == ClientExpectation::Login {
            self.next = ClientExpectation::Command;
            out.push(ask("AUTH"));
            return ParseStep::Skip(length as u64);
        }
        let mut words = line.split(|byte| *byte == b' ').filter(|word| !word.is_empty());
        let word = words.next().unwrap_or_default();
        let known = VERBS.iter().find(|verb| verb.as_bytes().eq_ignore_ascii_case(word));
        let Some(verb) = known else { return ParseStep::Lost };
        out.push(ask(verb));
        self.asked_for_tls = *verb == "STARTTLS";
        let chunk = if *verb == "BDAT" { words.next().and_then(parse_decimal) } else { None };
        ParseStep::Skip((length as u64).saturating_add(chunk.unwrap_or(0)))
    }

    /// Skips a mail until its end.
    fn skip_mail(&mut self, unparsed: &UnparsedBytes<'_>) -> ParseStep {
        const END: &[u8] = b"\r\n.\r\n";
        let bytes = unparsed.bytes;
        if let Some(at) = bytes.windows(END.len()).position(|window| window == END) {
            self.next = ClientExpectation::Command;
            return ParseStep::Skip((at + END.len()) as u64);
        }
        // The end may have begun.
        match bytes.len().saturating_sub(END.len() - 1) {
            0 => unparsed.wait_or_give_up(),
            count => ParseStep::Skip(count as u64),
        }
    }

    fn parse_reply(
        &mut self,
        unparsed: &UnparsedBytes<'_>,
        out: &mut OperationSink<'_>,
    ) -> ParseStep {
        let Some((line, length)) = first_line(unparsed.bytes) else {
            return unparsed.wait_or_give_up();
        };
        let code = line.get(..3).and_then(parse_decimal).filter(|code| (200..600).contains(code));
        let Some(code) = code else { return ParseStep::Lost };
        let goes_on = line.get(3) == Some(&b'-');
        let is_first = !std::mem::replace(&mut self.in_reply, goes_on);
        if is_first {
            let role = if self.has_begun { MessageRole::Response } else { MessageRole::OneWay };
            let name = if self.has_begun { "" } else { "greeting" };
            let reply = ProtocolOperation::new(unparsed.position_at(0), role, NAME).with_name(name);
            out.push(reply.with_status(code.to_string(), code >= 400));
        }
        match code {
            220 if self.asked_for_tls => return ParseStep::Leave(FlowContinuation::Silent),
            354 => self.next = ClientExpectation::Mail,
            334 => self.next = ClientExpectation::Login,
            _ => {}
        }
        ParseStep::Skip(length as u64)
    }
}

#[cfg(test)]
mod tests {
    use crate::test_conversation::TestConversation;

    fn greeted_conversation() -> TestConversation {
        TestConversation::other_protocol()
            .server_says("220 mail.example ESMTP\r\n")
            .client_says("EHLO alice.example\r\n")
    }

    pub(crate) fn sample_conversations() -> Vec<TestConversation> {
        let mail = format!("Subject: alice\r\n\r\nRSET\r\n{}\r\n.\r\n", "secret ".repeat(60));
        vec![
            greeted_conversation()
                .server_says("250-mail.example\r\n250-PIPELINING\r\n250 SIZE\r\n")
                .client_says("AUTH LOGIN\r\n")
                .server_says("334 VXNlcm5hbWU6\r\n")
                .client_says("YWxpY2U=\r\n")
                .server_says("235 ok\r\n")
                .client_says("mail from:<alice@example>\r\nRCPT TO:<bob@example>\r\nDATA\r\n")
                .server_says("250 ok\r\n550 no bob here\r\n354 go on\r\n")
                .client_says(mail)
                .server_says("250 queued as A1B2\r\n")
                .client_says("QUIT\r\n")
                .server_says("221 bye\r\n"),
            greeted_conversation()
                .server_says("250 STARTTLS\r\n")
                .client_says("STARTTLS\r\n")
                .server_says("220 go\r\n")
                .client_says("QUIT\r\n"),
        ]
    }

    #[test]
    fn verbs_and_codes() {
        let expected = [
            "< = greeting 220",
            "> EHLO",
            "< 250",
            "> AUTH",
            "< 334",
            "> AUTH",
            "< 235",
            "> MAIL",
            "> RCPT",
            "> DATA",
            "< 250",
            "< 550!",
            "< 354",
            "> message",
            "< 250",
            "> QUIT",
            "< 221",
        ];
        assert_eq!(sample_conversations()[0].operation_lines(), expected);
    }

    #[test]
    fn encrypted_connections_yield_nothing_more() {
        let expected = ["< = greeting 220", "> EHLO", "< 250", "> STARTTLS", "< 220"];
        assert_eq!(sample_conversations()[1].operation_lines(), expected);
    }

    #[test]
    fn a_short_mail_ends_where_its_dot_is() {
        let talk = greeted_conversation()
            .server_says("250 ok\r\n")
            .client_says("DATA\r\n")
            .server_says("354 go on\r\n")
            .client_says("Subject: a\r\n\r\nQUIT\r\n.\r\nNOOP\r\n");
        assert_eq!(talk.operation_lines()[4..], ["< 354", "> message", "> NOOP"]);
    }

    #[test]
    fn ftp_is_not_recognised() {
        let talk = TestConversation::other_protocol()
            .server_says("220 ftp.example\r\n")
            .client_says("USER alice\r\n");
        assert_eq!(talk.operation_lines(), [""; 0]);
    }
}
