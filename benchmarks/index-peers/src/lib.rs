//! What the programs here share.

pub mod timings;
pub mod world;
