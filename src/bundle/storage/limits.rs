//! Timeouts and retries for servers.

use std::time::Duration;

/// The limits of one request to object storage. Each asks again what may be asked again: answers of 5xx, 429 and 408, connections
/// that were refused or broke, bodies that ended early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How often a request is made again.
    pub retries: usize,
    /// After so long it is not made again.
    pub retry_time: Duration,
    /// How long a connection may take to be there.
    pub connect: Duration,
    /// How long a server may send nothing.
    pub silence: Duration,
    /// How long all of it may take, with all retries; what is larger may take longer, see [`Limits::whole`].
    pub whole: Duration,
    /// At this rate in bytes per second more time is given for what is larger.
    pub rate: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            retries: 6,
            retry_time: Duration::from_secs(60),
            connect: Duration::from_secs(10),
            silence: Duration::from_secs(30),
            whole: Duration::from_secs(180),
            rate: 64 << 10,
        }
    }
}

impl Limits {
    /// How long an object of so many bytes may take.
    pub fn patience(&self, bytes: u64) -> Duration {
        self.whole.saturating_add(Duration::from_secs(bytes / self.rate.max(1)))
    }
}
