//! The connections of a listener: as many as there is room for, and when there is none left, the one that is
//! idle for longest is closed.

use super::contact::Contact;
use crate::lock::lock;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// How long until another connection is told to close, if none has closed by then.
const AGAIN: Duration = Duration::from_millis(20);

/// The connections of a listener.
#[derive(Debug)]
pub(super) struct Connections {
    permits: Arc<Semaphore>,
    open: Mutex<Vec<Arc<Contact>>>,
}

/// The place of one connection; free again when this is dropped.
#[derive(Debug)]
pub(super) struct ConnectionSlot {
    room: Arc<Connections>,
    contact: Option<Arc<Contact>>,
    _permit: OwnedSemaphorePermit,
}

impl Connections {
    /// Room for so many connections.
    pub(super) fn new(connections: usize) -> Arc<Self> {
        Arc::new(Self {
            permits: Arc::new(Semaphore::new(connections)),
            open: Mutex::default(),
        })
    }

    /// A place for a connection that was accepted, as soon as there is one. Clients that keep connections for
    /// later give way to those who have something to ask.
    pub(super) async fn admit(self: &Arc<Self>) -> Option<ConnectionSlot> {
        let permit = loop {
            if let Ok(permit) = self.permits.clone().try_acquire_owned() {
                break permit;
            }
            self.close_one();
            if let Ok(permit) = timeout(AGAIN, self.permits.clone().acquire_owned()).await {
                break permit.ok()?;
            }
        };
        Some(ConnectionSlot {
            room: self.clone(),
            contact: None,
            _permit: permit,
        })
    }

    /// Asks the connection to close that has been of no use for longest.
    fn close_one(&self) {
        let open = lock(&self.open);
        let longest = open
            .iter()
            .filter_map(|contact| Some((contact.useless_for()?, contact)));
        if let Some((_, contact)) = longest.max_by_key(|(time, _)| *time) {
            contact.ask_to_leave();
        }
    }
}

impl ConnectionSlot {
    /// The connection that has this place.
    pub(super) fn take(&mut self, contact: Arc<Contact>) {
        lock(&self.room.open).push(contact.clone());
        self.contact = Some(contact);
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        if let Some(contact) = &self.contact {
            let mut open = lock(&self.room.open);
            open.retain(|other| !Arc::ptr_eq(other, contact));
        }
    }
}
