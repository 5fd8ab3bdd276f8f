//! The body of a reply, piece by piece: with limits of time between the pieces and of size for all of them.

use super::fault::Trouble;
use super::{Progress, Timeouts, Watch};
use crate::http::Incoming;
use bytes::Bytes;
use std::time::{Duration, Instant};
use tokio::time::timeout;

/// The most bytes of a reply.
const MOST: u64 = 64 * 1024 * 1024;

/// Of something that is no reply so many bytes are looked at.
const LOOK: usize = 4096;

/// A body that is being read.
pub(super) struct Body {
    reply: Incoming,
    timeouts: Timeouts,
    /// What was read to learn what it is.
    head: Vec<u8>,
    /// How many bytes have come.
    came: u64,
}

impl Body {
    pub(super) fn new(reply: Incoming, timeouts: Timeouts) -> Self {
        Self {
            reply,
            timeouts,
            head: Vec::new(),
            came: 0,
        }
    }

    /// The first byte that is no whitespace, which tells JSON from a page and from a stream; the type in the
    /// header often does not. `None` where there is none.
    pub(super) async fn begin(&mut self, watch: &mut Watch<'_>) -> Result<Option<u8>, Trouble> {
        while let Some(more) = self.receive(self.timeouts.idle, watch).await? {
            self.head.extend_from_slice(&more);
            let head = self.head.strip_prefix(b"\xef\xbb\xbf");
            let head = head.unwrap_or(&self.head).trim_ascii_start();
            // Half a byte order mark says nothing yet.
            let is_half_mark = self.head.len() < 3 && self.head[0] == 0xef;
            if let (Some(first), false) = (head.first(), is_half_mark) {
                return Ok(Some(*first));
            }
        }
        Ok(None)
    }

    /// The next bytes; `None` at the end.
    pub(super) async fn next(&mut self, watch: &mut Watch<'_>) -> Result<Option<Bytes>, Trouble> {
        self.next_within(self.timeouts.idle, watch).await
    }

    /// The next bytes, if they come before the limit or the idle time is over.
    pub(super) async fn next_within(
        &mut self,
        limit: Duration,
        watch: &mut Watch<'_>,
    ) -> Result<Option<Bytes>, Trouble> {
        if !self.head.is_empty() {
            return Ok(Some(std::mem::take(&mut self.head).into()));
        }
        self.receive(limit.min(self.timeouts.idle), watch).await
    }

    /// The beginning of a body that is no reply.
    pub(super) async fn look(&mut self, watch: &mut Watch<'_>) -> String {
        let mut seen = Vec::new();
        while seen.len() < LOOK
            && let Ok(Some(more)) = self.next(watch).await
        {
            seen.extend_from_slice(&more);
        }
        seen.truncate(LOOK);
        String::from_utf8_lossy(&seen).into_owned()
    }

    async fn receive(
        &mut self,
        limit: Duration,
        watch: &mut Watch<'_>,
    ) -> Result<Option<Bytes>, Trouble> {
        let began = Instant::now();
        loop {
            let left = limit.saturating_sub(began.elapsed());
            if left.is_zero() {
                return Err(Trouble::Silent(limit, self.came));
            }
            let quiet = self.timeouts.quiet.max(Duration::from_millis(1));
            let Ok(came) = timeout(left.min(quiet), self.reply.next()).await else {
                let ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
                (watch.on)(Progress::Silent { ms });
                continue;
            };
            let came = came.map_err(|broken| Trouble::Cut(broken, self.came))?;
            let Some(bytes) = came else { return Ok(None) };
            self.came += bytes.len() as u64;
            if self.came > MOST {
                return Err(Trouble::Large("the reply has more than 64 MiB"));
            }
            if !bytes.is_empty() {
                watch.bytes_came();
                return Ok(Some(bytes));
            }
        }
    }
}
