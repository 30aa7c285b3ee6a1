//! What tags and keys are.

use std::fmt::Debug;
use std::hash::Hash;

/// What a tag or the key of an item may be.
pub trait Key: Clone + Eq + Hash + Debug + Send + Sync + 'static {}

impl<T: Clone + Eq + Hash + Debug + Send + Sync + 'static> Key for T {}
