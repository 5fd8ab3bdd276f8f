//! retake
