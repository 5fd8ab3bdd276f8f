//! Event conversations.
