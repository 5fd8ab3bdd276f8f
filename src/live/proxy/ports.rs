//! The ports of a proxy: one for each upstream.

use super::options::Ports;
use std::net::SocketAddr;

/// How many ports are passed by at most where any will do.
const PASSED_BY: u16 = 100;

impl Ports {
    /// Opens a listener for each of so many upstreams, in their order. `is_in_use` says of a failure that
    /// somebody else has this port.
    pub fn open<T, E>(
        self,
        count: usize,
        mut listen: impl FnMut(SocketAddr) -> Result<T, E>,
        is_in_use: impl Fn(&E) -> bool,
    ) -> Result<Vec<T>, E> {
        let mut opened = Vec::with_capacity(count);
        let mut address = self.first;
        let mut left = if self.are_fixed { 0 } else { PASSED_BY };
        while opened.len() < count {
            match listen(address) {
                Ok(listener) => opened.push(listener),
                Err(failure) if left > 0 && is_in_use(&failure) => left -= 1,
                Err(failure) => return Err(failure),
            }
            if address.port() != 0 {
                // Behind the last port there is none; the last one is in use then, and says so.
                address.set_port(address.port().saturating_add(1));
            }
        }
        Ok(opened)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::io;
    use std::net::TcpListener;

    fn taken(port: u16, are_fixed: bool, count: usize) -> io::Result<Vec<TcpListener>> {
        let first = SocketAddr::from(([127, 0, 0, 1], port));
        let in_use = |error: &io::Error| error.kind() == io::ErrorKind::AddrInUse;
        Ports { first, are_fixed }.open(count, TcpListener::bind, in_use)
    }

    fn ports(listeners: &[TcpListener]) -> Vec<u16> {
        let ports = listeners.iter();
        ports.map(|one| one.local_addr().unwrap().port()).collect()
    }

    #[test]
    fn a_port_in_use_is_passed_by_unless_it_was_asked_for() {
        let other = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = other.local_addr().unwrap().port();
        let found = ports(&taken(port, false, 1).unwrap());
        assert!(found[0] > port, "{found:?}");
        let refused = taken(port, true, 1).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::AddrInUse);
    }

    #[test]
    fn each_upstream_has_a_port_of_its_own() {
        let any = ports(&taken(0, true, 3).unwrap());
        assert!(any[0] != any[1] && any[1] != any[2] && any[0] != any[2]);
        let begun = ports(&taken(any[0], false, 3).unwrap());
        assert!(begun[0] < begun[1] && begun[1] < begun[2], "{begun:?}");
    }

    #[test]
    fn behind_the_last_port_is_none() {
        // The last one may be in use by somebody else; then there is none either.
        assert!(taken(u16::MAX, true, 2).is_err());
    }
}
