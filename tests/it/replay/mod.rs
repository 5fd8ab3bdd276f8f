//! Recordings that are served again: matched with requests, and over sockets.

mod itself;
