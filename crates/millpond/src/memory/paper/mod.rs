//! The memory managers of [TP](crate#sources), Table 1.

pub mod named;
pub mod params;
pub mod variants;
