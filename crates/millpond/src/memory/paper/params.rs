//! The parameters of the paper's memory managers ([TP](crate#sources) §6.2).
//!
//! Needs the Cargo feature `catalogue`.

/// The parameters of the paper's memory managers.
///
/// ```
/// use millpond::memory::params::Params;
/// use millpond::memory::variants::by_name_with;
///
/// // The arrays of `dbk` for blocks of up to 96 bytes exist before the first task.
/// let dbk = by_name_with("dbk", Params { at_start: 96 }).unwrap();
/// assert_eq!(dbk.name(), "dbk");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Params {
    /// For `bk`, `dbk` and `dbko`: the largest size in bytes whose arrays are allocated when the
    /// manager is made, as in the paper. The arrays of larger sizes come with their first block. 0,
    /// the default, allocates none at the start.
    ///
    /// There is an array of 1 MiB for each size class, and with distributed lists for each seat of
    /// a runtime, including those of callers and spare threads. The system provides a page when it
    /// is first written. `dbko` writes all of them at once.
    pub at_start: usize,
}
