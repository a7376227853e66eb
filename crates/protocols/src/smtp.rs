//! SMTP (RFC 5321): verbs without their arguments, reply codes. Mails are not looked at.

use registry::About;

use crate::cursor::{decimal, line};
use crate::opening::{Opening, yes_if};
use crate::operation::{Operation, Out, Role};
use crate::parser::{Next, Parser};
use crate::piece::{Class, Speaker};
use crate::protocol::Protocol;
use crate::streams::{Heard, Messages, Step, Streams};
use crate::tuning::OTHER_MESSAGE_BYTES;
use crate::unread::role;

/// The entry of SMTP.
pub(crate) static SMTP: Protocol = Protocol {
    about: About {
        name: "smtp",
        summary: "SMTP and LMTP: verbs without addresses, codes of replies",
        ..About::NOTHING
    },
    class: Class::Other,
    recognised: "A greeting with 220 and a client that says EHLO, HELO or LHLO, or MAIL FROM:<.",
    recognise: |opening: &Opening| {
        let client = opening.client();
        let says = |words: &str| {
            let begin = client.get(..words.len());
            begin.is_some_and(|begin| begin.eq_ignore_ascii_case(words.as_bytes()))
        };
        let greeted = opening.server_leads() && opening.server().starts_with(b"220");
        let hello = says("EHLO ") || says("HELO ") || says("LHLO ");
        yes_if(greeted && hello || says("MAIL FROM:<"))
    },
    open,
    #[cfg(test)]
    samples: tests::samples,
};

fn open() -> Box<dyn Parser> {
    Box::new(Streams::new(Smtp::default()))
}

const NAME: &str = "smtp";

/// Commands of RFC 5321 and of its extensions.
const VERBS: &[&str] = &[
    "EHLO", "HELO", "LHLO", "MAIL", "RCPT", "DATA", "BDAT", "RSET", "NOOP", "QUIT", "VRFY", "EXPN",
    "HELP", "AUTH", "STARTTLS", "ETRN", "XCLIENT", "XFORWARD",
];

/// What the client says next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Expected {
    #[default]
    Command,
    /// A mail, until a line with a dot only.
    Mail,
    /// More of a mail.
    MoreMail,
    /// An answer to a question of AUTH.
    Login,
}

#[derive(Debug, Default)]
struct Smtp {
    next: Expected,
    /// The client has said something.
    has_begun: bool,
    /// The client asked for TLS.
    asked_for_tls: bool,
    /// A reply goes on.
    in_reply: bool,
}

impl Messages for Smtp {
    const NAME: &'static str = NAME;
    const BOUND: usize = OTHER_MESSAGE_BYTES;
    const QUIET_TURNS: bool = true;

    fn message(&mut self, heard: &Heard<'_>, out: &mut Out<'_>) -> Step {
        match heard.speaker {
            Speaker::Client => self.asks(heard, out),
            Speaker::Server => self.replies(heard, out),
        }
    }

    fn turn(&mut self, speaker: Speaker, _: &mut Out<'_>) {
        self.has_begun |= speaker == Speaker::Client;
        // What the server says behind a mail answers it, even where its end was not seen.
        if speaker == Speaker::Server && self.next == Expected::MoreMail {
            self.next = Expected::Command;
        }
    }

    fn lose(&mut self, speaker: Speaker, out: &mut Out<'_>) {
        self.gap(speaker, out);
    }

    fn gap(&mut self, speaker: Speaker, _: &mut Out<'_>) {
        if speaker == Speaker::Server {
            self.in_reply = false;
        }
    }

    fn role(&self, speaker: Speaker) -> Role {
        if self.has_begun { role(speaker) } else { Role::OneWay }
    }

    fn is_within(&self, speaker: Speaker) -> bool {
        match speaker {
            Speaker::Client => self.next == Expected::MoreMail,
            Speaker::Server => self.in_reply,
        }
    }

    fn may_be_blank(&self, speaker: Speaker) -> bool {
        speaker == Speaker::Client && self.next != Expected::Command
    }
}

impl Smtp {
    fn asks(&mut self, heard: &Heard<'_>, out: &mut Out<'_>) -> Step {
        let ask = |name: &str| Operation::new(heard.place(0), Role::Request, NAME).named(name);
        if matches!(self.next, Expected::Mail | Expected::MoreMail) {
            if std::mem::replace(&mut self.next, Expected::MoreMail) == Expected::Mail {
                out.push(ask("message"));
            }
            return self.mail(heard);
        }
        let Some((line, length)) = line(heard.bytes) else { return heard.more() };
        if self.next == Expected::Login {
            self.next = Expected::Command;
            out.push(ask("AUTH"));
            return Step::Skip(length as u64);
        }
        let mut words = line.split(|byte| *byte == b' ').filter(|word| !word.is_empty());
        let word = words.next().unwrap_or_default();
        let known = VERBS.iter().find(|verb| verb.as_bytes().eq_ignore_ascii_case(word));
        let Some(verb) = known else { return Step::Lost };
        out.push(ask(verb));
        self.asked_for_tls = *verb == "STARTTLS";
        let chunk = if *verb == "BDAT" { words.next().and_then(decimal) } else { None };
        Step::Skip((length as u64).saturating_add(chunk.unwrap_or(0)))
    }

    /// Skips a mail until its end.
    fn mail(&mut self, heard: &Heard<'_>) -> Step {
        const END: &[u8] = b"\r\n.\r\n";
        let bytes = heard.bytes;
        if let Some(at) = bytes.windows(END.len()).position(|window| window == END) {
            self.next = Expected::Command;
            return Step::Skip((at + END.len()) as u64);
        }
        // The end may have begun.
        match bytes.len().saturating_sub(END.len() - 1) {
            0 => heard.more(),
            count => Step::Skip(count as u64),
        }
    }

    fn replies(&mut self, heard: &Heard<'_>, out: &mut Out<'_>) -> Step {
        let Some((line, length)) = line(heard.bytes) else { return heard.more() };
        let code = line.get(..3).and_then(decimal).filter(|code| (200..600).contains(code));
        let Some(code) = code else { return Step::Lost };
        let goes_on = line.get(3) == Some(&b'-');
        let is_first = !std::mem::replace(&mut self.in_reply, goes_on);
        if is_first {
            let role = if self.has_begun { Role::Response } else { Role::OneWay };
            let name = if self.has_begun { "" } else { "greeting" };
            let reply = Operation::new(heard.place(0), role, NAME).named(name);
            out.push(reply.ended(code.to_string(), code >= 400));
        }
        match code {
            220 if self.asked_for_tls => return Step::Leave(Next::Silent),
            354 => self.next = Expected::Mail,
            334 => self.next = Expected::Login,
            _ => {}
        }
        Step::Skip(length as u64)
    }
}

#[cfg(test)]
mod tests {
    use crate::talk::Talk;

    fn greeted() -> Talk {
        Talk::other().server("220 mail.example ESMTP\r\n").client("EHLO alice.example\r\n")
    }

    pub(crate) fn samples() -> Vec<Talk> {
        let mail = format!("Subject: alice\r\n\r\nRSET\r\n{}\r\n.\r\n", "secret ".repeat(60));
        vec![
            greeted()
                .server("250-mail.example\r\n250-PIPELINING\r\n250 SIZE\r\n")
                .client("AUTH LOGIN\r\n")
                .server("334 VXNlcm5hbWU6\r\n")
                .client("YWxpY2U=\r\n")
                .server("235 ok\r\n")
                .client("mail from:<alice@example>\r\nRCPT TO:<bob@example>\r\nDATA\r\n")
                .server("250 ok\r\n550 no bob here\r\n354 go on\r\n")
                .client(mail)
                .server("250 queued as A1B2\r\n")
                .client("QUIT\r\n")
                .server("221 bye\r\n"),
            greeted()
                .server("250 STARTTLS\r\n")
                .client("STARTTLS\r\n")
                .server("220 go\r\n")
                .client("QUIT\r\n"),
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
        assert_eq!(samples()[0].told(), expected);
    }

    #[test]
    fn encrypted_connections_say_nothing_more() {
        let expected = ["< = greeting 220", "> EHLO", "< 250", "> STARTTLS", "< 220"];
        assert_eq!(samples()[1].told(), expected);
    }

    #[test]
    fn a_short_mail_ends_where_its_dot_is() {
        let talk = greeted()
            .server("250 ok\r\n")
            .client("DATA\r\n")
            .server("354 go on\r\n")
            .client("Subject: a\r\n\r\nQUIT\r\n.\r\nNOOP\r\n");
        assert_eq!(talk.told()[4..], ["< 354", "> message", "> NOOP"]);
    }

    #[test]
    fn ftp_is_another() {
        let talk = Talk::other().server("220 ftp.example\r\n").client("USER alice\r\n");
        assert_eq!(talk.told(), [""; 0]);
    }
}
