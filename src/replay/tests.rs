//! Stories of a request that meets a recording.
