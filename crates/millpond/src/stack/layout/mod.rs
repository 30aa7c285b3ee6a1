//! The memory of a stack, and the records in it: frames, closures, links between chunks, data of
//! bodies.

pub(super) mod chunk;
pub(super) mod frames;
pub(super) mod link;
pub(super) mod local;
pub(super) mod out_of_line;
pub(super) mod push;
pub(super) mod versions;
