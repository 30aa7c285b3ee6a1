pub use crate::uts::serial;
