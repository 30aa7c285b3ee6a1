//! The types of tags and keys.

use std::fmt::Debug;
use std::hash::Hash;

/// The bounds of a type that is a tag, or the key of an item.
pub trait Key: Clone + Eq + Hash + Debug + Send + Sync + 'static {}

impl<T: Clone + Eq + Hash + Debug + Send + Sync + 'static> Key for T {}
