//! The bandwidth limit: a bucket of tokens, one per byte, filled at the rate and never with more
//! than the tokens of one second.

use std::time::{Duration, Instant};

/// A bucket of tokens, one per byte.
#[derive(Debug)]
pub(super) struct TokenBucket {
    /// Bytes a second.
    rate: f64,
    tokens: f64,
    /// Time of the last refill.
    filled: Instant,
}

impl TokenBucket {
    /// A bucket for `rate` bytes a second, full at `now`.
    pub(super) fn new(rate: u64, now: Instant) -> TokenBucket {
        TokenBucket { rate: rate as f64, tokens: rate as f64, filled: now }
    }

    /// Takes tokens for `bytes` bytes and returns the time to wait before these may be sent. The
    /// bucket may go below zero; later callers wait for that, too.
    pub(super) fn take_tokens(&mut self, bytes: usize, now: Instant) -> Duration {
        let since = now.saturating_duration_since(self.filled).as_secs_f64();
        self.tokens = (self.tokens + since * self.rate).min(self.rate) - bytes as f64;
        self.filled = now;
        Duration::from_secs_f64((-self.tokens / self.rate).max(0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_of_one_second_then_the_rate() {
        let now = Instant::now();
        let mut bucket = TokenBucket::new(1000, now);
        assert_eq!(bucket.take_tokens(1000, now), Duration::ZERO);
        assert_eq!(bucket.take_tokens(500, now), Duration::from_millis(500));
        assert_eq!(
            bucket.take_tokens(500, now + Duration::from_millis(500)),
            Duration::from_millis(500)
        );
        // Ten idle seconds do not add up.
        assert_eq!(bucket.take_tokens(2000, now + Duration::from_secs(20)), Duration::from_secs(1));
    }

    #[test]
    fn over_time_the_rate_is_kept() {
        let start = Instant::now();
        let mut now = start;
        let mut bucket = TokenBucket::new(10_000, now);
        for _ in 0..100 {
            now += bucket.take_tokens(3_000, now);
        }
        // 300,000 bytes: the first 10,000 immediately.
        assert_eq!((now - start).as_millis(), 29_000);
    }
}
