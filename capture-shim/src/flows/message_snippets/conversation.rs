//! Conversation on one flow: what one direction has to know about the other. A turn is what one
//! side sends until the other side sends.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, AtomicUsize};

use snippets::TurnContext;

/// Facts of a flow that both directions write and read. All fields may be zeros.
#[repr(C)]
pub(super) struct FlowConversation {
    /// Number of HTTP/1 requests that have passed.
    requests: AtomicU32,
    /// Number of final HTTP/1 responses that have passed.
    responses: AtomicU32,
    /// Whether the response to a request has no body, by the request's number in the lowest bits.
    bodiless: AtomicU64,
    /// Direction of the latest bytes: its number (0 received, 1 sent) plus one; 0 for none.
    latest: AtomicU8,
    /// Whether requests or responses may have passed uncounted.
    is_unpaired: AtomicBool,
    /// Whether a client of HTTP/2 has begun.
    is_http2: AtomicBool,
    /// Whether a client of Redis has sent a command.
    is_redis: AtomicBool,
    /// Direction of the client of Redis: its number plus one; 0 if unknown.
    redis_client: AtomicU8,
    /// State for blanking turns, in the form of [`TurnContext::to_word`].
    context: AtomicU8,
    /// Whether a direction had TLS records.
    is_encrypted: AtomicBool,
    /// Address of the TLS library's session that encrypts its plain text for the flow; 0 for none.
    session: AtomicUsize,
}

impl FlowConversation {
    /// Resets the state, for another flow.
    pub(super) fn clear(&self) {
        self.requests.store(0, Relaxed);
        self.responses.store(0, Relaxed);
        self.latest.store(0, Relaxed);
        self.is_unpaired.store(false, Relaxed);
        self.is_http2.store(false, Relaxed);
        self.is_redis.store(false, Relaxed);
        self.redis_client.store(0, Relaxed);
        self.context.store(0, Relaxed);
        self.is_encrypted.store(false, Relaxed);
        self.session.store(0, Relaxed);
    }

    /// Notes bytes of a direction, by its number. Returns whether they begin a turn: the previous
    /// bytes were of the other direction, or there were none.
    pub(super) fn begins_turn(&self, direction: u8) -> bool {
        let begins = self.latest.load(Relaxed) != direction + 1;
        if begins {
            self.latest.store(direction + 1, Relaxed);
        }
        begins
    }

    /// Counts a request. `is_bodiless` is whether its response has no body.
    pub(super) fn count_request(&self, is_bodiless: bool) {
        let number = self.requests.load(Relaxed);
        let bit = 1 << (number % 64);
        let bits = self.bodiless.load(Relaxed);
        self.bodiless.store(if is_bodiless { bits | bit } else { bits & !bit }, Relaxed);
        self.requests.store(number.wrapping_add(1), Release);
    }

    /// Counts a response. Returns whether the response has no body because of its request; `None`
    /// if the request is not known.
    pub(super) fn count_response(&self) -> Option<bool> {
        let number = self.responses.load(Relaxed);
        let lag = self.requests.load(Acquire).wrapping_sub(number);
        self.responses.store(number.wrapping_add(1), Relaxed);
        let is_known = (1..=64).contains(&lag) && !self.is_unpaired.load(Relaxed);
        is_known.then(|| self.bodiless.load(Relaxed) >> (number % 64) & 1 != 0)
    }

    /// Notes that requests or responses may have passed uncounted.
    pub(super) fn mark_unpaired(&self) {
        self.is_unpaired.store(true, Relaxed);
    }

    /// Notes that a client of HTTP/2 has begun.
    pub(super) fn note_http2(&self) {
        self.is_http2.store(true, Relaxed);
    }

    /// Whether a client of HTTP/2 has begun.
    pub(super) fn is_http2(&self) -> bool {
        self.is_http2.load(Relaxed)
    }

    /// Notes that a client of Redis has sent a command.
    pub(super) fn note_redis(&self) {
        self.is_redis.store(true, Relaxed);
    }

    /// Whether a client of Redis has sent a command.
    pub(super) fn is_redis(&self) -> bool {
        self.is_redis.load(Relaxed)
    }

    /// Whether a direction, by its number, belongs to the client of Redis. The first direction for
    /// which this is called becomes the client's.
    pub(super) fn is_redis_client(&self, direction: u8) -> bool {
        match self.redis_client.load(Relaxed) {
            0 => {
                self.redis_client.store(direction + 1, Relaxed);
                true
            }
            client => client == direction + 1,
        }
    }

    /// State for blanking turns.
    pub(super) fn context(&self) -> TurnContext {
        TurnContext::from_word(self.context.load(Relaxed))
    }

    /// Sets the state for blanking turns.
    pub(super) fn set_context(&self, context: TurnContext) {
        self.context.store(context.to_word(), Relaxed);
    }

    /// Notes that a direction had TLS records.
    pub(super) fn note_encryption(&self) {
        self.is_encrypted.store(true, Relaxed);
    }

    /// Whether a direction had TLS records.
    pub(super) fn is_encrypted(&self) -> bool {
        self.is_encrypted.load(Relaxed)
    }

    /// Whether plain text of the flow was seen. From then on only the plain text is inspected.
    pub(super) fn has_plain_text(&self) -> bool {
        self.session.load(Relaxed) != 0
    }

    /// Whether the flow is encrypted and its plain text may belong to `session`: the flow has this
    /// session, or none so far.
    pub(super) fn accepts_session(&self, session: usize) -> bool {
        let known = self.session.load(Relaxed);
        self.is_encrypted() && (known == 0 || known == session)
    }

    /// Assigns `session` to an encrypted flow that has no session, and forgets the facts of its
    /// encrypted bytes. Returns whether the flow's plain text belongs to `session` then.
    pub(super) fn assign_session(&self, session: usize) -> bool {
        if !self.accepts_session(session) {
            return false;
        }
        match self.session.compare_exchange(0, session, Relaxed, Relaxed) {
            Ok(_) => {
                self.requests.store(0, Relaxed);
                self.responses.store(0, Relaxed);
                self.latest.store(0, Relaxed);
                self.is_unpaired.store(false, Relaxed);
                self.is_http2.store(false, Relaxed);
                self.is_redis.store(false, Relaxed);
                self.redis_client.store(0, Relaxed);
                self.context.store(0, Relaxed);
                true
            }
            Err(known) => known == session,
        }
    }
}
