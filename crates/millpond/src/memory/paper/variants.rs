//! The memory managers of the paper's Table 1, one per line. Each is a composition of the parts in
//! [`named`](crate::memory::named).
//!
//! Needs the Cargo feature `catalogue`.

use super::named::parts::{FreeLists, Handling, Links, Parts, Refill, Variant};
use super::params::Params;
use crate::memory::{Chosen, Memory, Named, Slabs};
use crate::rows::rows;

/// A manager's name, and its parts in the words of the table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    /// The name in the table.
    pub name: &'static str,
    /// The head and the entry of each column.
    pub columns: &'static [(&'static str, &'static str)],
    /// The names of the [`Params`] that affect it.
    pub params: &'static [&'static str],
    /// Chooses the manager at run time.
    pub choose: fn(Params) -> Chosen,
}

/// The parts of a line.
macro_rules! parts {
    ([$lists:ident $links:ident $refill:ident $handling:ident $central_items:literal]) => {
        const PARTS: Parts = Parts {
            free_lists: FreeLists::$lists,
            links: Links::$links,
            refill: Refill::$refill,
            handling: Handling::$handling,
            central_items: $central_items,
        };
    };
}

/// The row of a line.
macro_rules! row {
    ($variant:ident $name:literal $entries:tt) => {
        Row {
            name: $name,
            columns: const { &<$variant as Variant>::PARTS.columns() },
            params: match <$variant as Variant>::PARTS.refill {
                Refill::Whole => &["at_start"],
                Refill::Elements | Refill::Some => &[],
            },
            choose: Chosen::of::<Named<$variant>>,
        }
    };
}

rows! { $ memory, DefaultMemory, for_each_variant,
    /// Evaluates an expression with a type alias for the memory manager of a name.
    /// `with_memory!(name, M => …)` returns `Some` of the value, or `None` if there is no such
    /// manager. The expression is compiled once per manager.
    ///
    /// ```
    /// use millpond::memory::Memory;
    ///
    /// assert_eq!(millpond::with_memory!("dgbkof", M => M::NAME), Some("dgbkof"));
    /// assert_eq!(millpond::with_memory!("malloc", M => M::NAME), None);
    /// ```
    with_memory;
//  type     name        free lists  links  refill   handling        central list of items
    Bs       "bs"       [None        Blocks Elements WhenNeeded      false]
    L        "l"        [Central     Items  Elements WhenNeeded      true]
    Bk       "bk"       [Central     Items  Whole    WhenNeeded      true]
    Dl       "dl"       [Distributed Items  Elements WhenNeeded      false]
    Dlf      "dlf"      [Distributed Blocks Elements WhenNeeded      false]
    Dbk      "dbk"      [Distributed Items  Whole    WhenNeeded      false]
    Dbko     "dbko"     [Distributed Items  Whole    AfterAllocation false]
    Dgbk     "dgbk"     [Distributed Items  Some     WhenNeeded      false]
    Dgbko    "dgbko"    [Distributed Items  Some     AfterAllocation false]
    Dgbkof   "dgbkof"   [Distributed Blocks Some     AfterAllocation false]
    Cl       "cl"       [Both        Items  Elements WhenNeeded      false]
    Clf      "clf"      [Both        Blocks Elements WhenNeeded      false]
    Clb      "clb"      [Both        Items  Elements WhenNeeded      true]
    Cgbk     "cgbk"     [Both        Items  Some     WhenNeeded      false]
    Cgbkb    "cgbkb"    [Both        Items  Some     WhenNeeded      true]
    Cgbko    "cgbko"    [Both        Items  Some     AfterAllocation false]
    Cgbkob   "cgbkob"   [Both        Items  Some     AfterAllocation true]
    Cgbk1    "cgbk1"    [Both        Items  Some     BeforeCentral   false]
    Cgbk1b   "cgbk1b"   [Both        Items  Some     BeforeCentral   true]
}

/// Returns the memory manager of that name: a row of the table, or the default manager.
///
/// ```
/// use millpond::memory::variants::by_name;
///
/// assert_eq!(by_name("cgbkob").unwrap().name(), "cgbkob");
/// assert!(by_name("malloc").is_none());
/// ```
pub fn by_name(name: &str) -> Option<Chosen> {
    by_name_with(name, Params::default())
}

/// Like [`by_name`], with parameters for the manager. They affect `bk`, `dbk` and `dbko`.
pub fn by_name_with(name: &str, params: Params) -> Option<Chosen> {
    if name == Slabs::NAME {
        return Some(Chosen::default());
    }
    ROWS.iter().find(|row| row.name == name).map(|row| (row.choose)(params))
}
