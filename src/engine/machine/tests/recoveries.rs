//! Each way to recover.
