//! What is known of a conversation from one turn to the next, in a word.

/// What a turn lets expect of the other end's next one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum State {
    /// Nothing in particular.
    #[default]
    Nothing = 0,
    /// A mail.
    WantsMail,
    /// A name or a password.
    WantsLogin,
    /// A letter that says whether TLS follows.
    WantsTls,
}

/// What is known of a conversation. It fits a word, so that it can be kept in an atomic one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Context {
    /// State that each direction has said.
    said: [State; 2],
    /// Whether there was a request of Kafka.
    pub(crate) is_kafka: bool,
}

impl Context {
    /// The context as a number.
    pub fn word(self) -> u8 {
        let [sent, received] = self.said.map(|state| state as u8);
        sent | received << 2 | u8::from(self.is_kafka) << 4
    }

    /// The context of a number.
    pub fn of(word: u8) -> Context {
        let state = |bits: u8| match bits & 3 {
            1 => State::WantsMail,
            2 => State::WantsLogin,
            3 => State::WantsTls,
            _ => State::Nothing,
        };
        Context { said: [state(word), state(word >> 2)], is_kafka: word & 16 != 0 }
    }

    /// Whether no turn lets expect anything of the next one.
    #[inline(always)]
    pub(crate) fn expects_nothing(self) -> bool {
        self.said == [State::Nothing; 2]
    }

    /// Notes what a direction lets expect.
    pub(crate) fn says(&mut self, direction: u8, state: State) {
        if let Some(of) = self.said.get_mut(usize::from(direction & 1)) {
            *of = state;
        }
    }

    /// What the direction that is not `direction` lets expect.
    pub(crate) fn other_said(&self, direction: u8) -> State {
        self.said.get(usize::from(direction & 1 ^ 1)).copied().unwrap_or_default()
    }
}
