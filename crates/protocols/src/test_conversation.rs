//! Handwritten conversations for tests: what is sent, and the snippets that the library keeps of
//! it.

use crate::conversation::Conversation;
use crate::flow_snippet::{FlowSnippet, FlowSpeaker, LogPosition, SnippetRule};
use crate::operation::{ProtocolOperation, SpokenOperation};
use crate::tuning::KEPT_TURN_BYTES;

/// A conversation. Consecutive bytes of one side are one transfer each.
#[derive(Clone, Debug)]
pub(crate) struct TestConversation {
    class: SnippetRule,
    datagrams: bool,
    transfers: Vec<(SnippetRule, FlowSpeaker, Vec<u8>)>,
}

/// A snippet that owns its bytes.
#[derive(Clone, Debug)]
pub(crate) struct OwnedSnippet {
    pub(crate) bytes: Vec<u8>,
    pub(crate) of: FlowSnippet<'static>,
}

impl OwnedSnippet {
    pub(crate) fn as_snippet(&self) -> FlowSnippet<'_> {
        FlowSnippet { bytes: &self.bytes, ..self.of }
    }
}

impl TestConversation {
    pub(crate) fn new(class: SnippetRule) -> TestConversation {
        TestConversation { class, datagrams: false, transfers: Vec::new() }
    }

    pub(crate) fn other_protocol() -> TestConversation {
        TestConversation::new(SnippetRule::Other)
    }

    pub(crate) fn of_datagrams() -> TestConversation {
        TestConversation { datagrams: true, ..TestConversation::other_protocol() }
    }

    pub(crate) fn client_says(mut self, bytes: impl AsRef<[u8]>) -> TestConversation {
        self.transfers.push((self.class, FlowSpeaker::Client, bytes.as_ref().to_vec()));
        self
    }

    pub(crate) fn server_says(mut self, bytes: impl AsRef<[u8]>) -> TestConversation {
        self.transfers.push((self.class, FlowSpeaker::Server, bytes.as_ref().to_vec()));
        self
    }

    /// Changes the snippet rule for the following transfers.
    pub(crate) fn then_rule(mut self, class: SnippetRule) -> TestConversation {
        self.class = class;
        self
    }

    /// The conversation with its transfers in two parts, the first of `at` bytes. Datagrams, HTTP/1
    /// heads and HTTP/2 frames remain whole.
    pub(crate) fn in_fragments(&self, at: usize) -> TestConversation {
        let parts = self.transfers.iter().flat_map(|(class, speaker, bytes)| {
            let (first, rest) = bytes.split_at(at.min(bytes.len()));
            let is_apart = *class == SnippetRule::Other && !self.datagrams && !rest.is_empty();
            let parts = if is_apart { vec![first, rest] } else { vec![&bytes[..]] };
            parts.into_iter().map(|part| (*class, *speaker, part.to_vec())).collect::<Vec<_>>()
        });
        TestConversation {
            class: self.class,
            transfers: parts.collect(),
            datagrams: self.datagrams,
        }
    }

    /// Snippets that the library keeps; in protocols other than HTTP, the first bytes of each turn.
    pub(crate) fn snippets(&self) -> Vec<OwnedSnippet> {
        let mut pieces: Vec<OwnedSnippet> = Vec::new();
        let (mut last, mut kept) = (None, 0);
        for (ticks, (class, speaker, bytes)) in self.transfers.iter().enumerate() {
            let begins_turn = last.replace(*speaker) != Some(*speaker) || self.datagrams;
            if begins_turn {
                kept = 0;
            }
            let room =
                if *class == SnippetRule::Other { KEPT_TURN_BYTES - kept } else { bytes.len() };
            let there = room.min(bytes.len());
            kept += there;
            let cut = 0 < there && there < bytes.len();
            let of = FlowSnippet {
                speaker: *speaker,
                class: *class,
                bytes: &[],
                continues: !begins_turn && *class == SnippetRule::Other,
                begins_turn,
                cut,
                datagram: self.datagrams,
                place: LogPosition { ticks: ticks as u64, at: 0 },
            };
            if there > 0 {
                pieces.push(OwnedSnippet { bytes: bytes[..there].to_vec(), of });
            }
        }
        pieces
    }

    /// Operations of a conversation.
    pub(crate) fn parse_operations(&self) -> Vec<ProtocolOperation> {
        operations_of_snippets(&self.snippets())
    }

    /// Operations, each as a line: `> GET /cart/{} #1`, `< 200`, `> =` for one-way messages, `!`
    /// after a status that is an error.
    pub(crate) fn operation_lines(&self) -> Vec<String> {
        lines_of_snippets(&self.snippets())
    }
}

/// Operations of snippets, each as a line in the form of [`TestConversation::operation_lines`].
pub(crate) fn lines_of_snippets(pieces: &[OwnedSnippet]) -> Vec<String> {
    let mut all = spoken_operations(pieces);
    all.sort_by_key(|said| said.operation.place);
    let line = |SpokenOperation { speaker, operation }: &SpokenOperation| {
        let side = if *speaker == FlowSpeaker::Client { ">" } else { "<" };
        let role = match (operation.role, side) {
            (crate::MessageRole::OneWay, _) => " =",
            (crate::MessageRole::Request, "<") => " ask",
            (crate::MessageRole::Response, ">") => " answer",
            _ => "",
        };
        let word = |text: &str| match text {
            "" => String::new(),
            text => format!(" {text}"),
        };
        let (name, status) = (word(&operation.name), word(&operation.status));
        let error = if operation.is_error { "!" } else { "" };
        let call = operation.call.map_or(String::new(), |call| format!(" #{call}"));
        format!("{side}{role}{name}{status}{error}{call}")
    };
    all.iter().map(line).collect()
}

/// Operations of snippets, including unfinished ones.
pub(crate) fn operations_of_snippets(pieces: &[OwnedSnippet]) -> Vec<ProtocolOperation> {
    spoken_operations(pieces).into_iter().map(|said| said.operation).collect()
}

/// Operations of snippets with their senders.
pub(crate) fn spoken_operations(pieces: &[OwnedSnippet]) -> Vec<SpokenOperation> {
    let (mut out, mut conversation) = run_conversation(pieces);
    conversation.finish_conversation(&mut out);
    out
}

/// Operations that are certain after the snippets, and the conversation.
pub(crate) fn run_conversation(pieces: &[OwnedSnippet]) -> (Vec<SpokenOperation>, Conversation) {
    let (mut out, mut conversation) = (Vec::new(), Conversation::new());
    pieces.iter().for_each(|piece| conversation.add_snippet(&piece.as_snippet(), &mut out));
    (out, conversation)
}
