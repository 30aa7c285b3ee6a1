//! The memory managers of the paper's Table 1, one per line. Each is a composition of the parts in
//! [`named`](crate::memory::named).
//!
//! Needs the Cargo feature `catalogue`.

use super::named::parts::{FreeLists, Handling, Links, Parts, Refill, Variant};
use crate::memory::{Chosen, Memory, Named, Slabs};

/// A manager's name, and its parts in the words of the table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    /// The name in the table.
    pub name: &'static str,
    /// The head and the entry of each column.
    pub columns: &'static [(&'static str, &'static str)],
    /// Chooses the manager at run time.
    pub choose: fn() -> Chosen,
}

/// For each line, makes a type, a row of the table, and a case of `with_memory`.
macro_rules! rows {
    ($d:tt $($variant:ident $name:literal $lists:ident $links:ident $refill:ident $handling:ident $central_items:literal;)*) => {
        /// The rows of the table, in the paper's order.
        pub(crate) const ROWS: &[Row] = &[$(Row { name: $name, columns: $variant::COLUMNS, choose: || Chosen::of::<Named<$variant>>(()) }),*];

        $(
            #[doc = concat!("`", $name, "` of [TP](crate#sources) Table 1. `catalogue::MEMORY` lists its parts.")]
            #[derive(Debug)]
            pub enum $variant {}

            impl Variant for $variant {
                const NAME: &'static str = $name;

                const PARTS: Parts = Parts {
                    free_lists: FreeLists::$lists,
                    links: Links::$links,
                    refill: Refill::$refill,
                    handling: Handling::$handling,
                    central_items: $central_items,
                };
            }

            impl $variant {
                const COLUMNS: &[(&'static str, &'static str)] = &<$variant as Variant>::PARTS.columns();
            }
        )*

        /// Calls a function for the type of each row.
        #[cfg(all(test, not(loom)))]
        macro_rules! for_each_variant {
            ($d function:ident) => {{
                $($d function::<$crate::memory::variants::$variant>();)*
            }};
        }
        #[cfg(all(test, not(loom)))]
        pub(crate) use for_each_variant;

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
        #[macro_export]
        macro_rules! with_memory {
            ($d name:expr, $d M:ident => $d body:expr) => {
                match $d name {
                    "default" => {
                        type $d M = $d crate::DefaultMemory;
                        Some($d body)
                    }
                    $($name => {
                        type $d M = $d crate::memory::Named<$d crate::memory::variants::$variant>;
                        Some($d body)
                    })*
                    _ => None,
                }
            };
        }

    };
}

rows! { $
//  type     name       free lists  links  refill   handling        central list of items
    Bs       "bs"       None        Blocks Elements WhenNeeded      false;
    L        "l"        Central     Items  Elements WhenNeeded      true;
    Bk       "bk"       Central     Items  Whole    WhenNeeded      true;
    Dl       "dl"       Distributed Items  Elements WhenNeeded      false;
    Dlf      "dlf"      Distributed Blocks Elements WhenNeeded      false;
    Dbk      "dbk"      Distributed Items  Whole    WhenNeeded      false;
    Dbko     "dbko"     Distributed Items  Whole    AfterAllocation false;
    Dgbk     "dgbk"     Distributed Items  Some     WhenNeeded      false;
    Dgbko    "dgbko"    Distributed Items  Some     AfterAllocation false;
    Dgbkof   "dgbkof"   Distributed Blocks Some     AfterAllocation false;
    Cl       "cl"       Both        Items  Elements WhenNeeded      false;
    Clf      "clf"      Both        Blocks Elements WhenNeeded      false;
    Clb      "clb"      Both        Items  Elements WhenNeeded      true;
    Cgbk     "cgbk"     Both        Items  Some     WhenNeeded      false;
    Cgbkb    "cgbkb"    Both        Items  Some     WhenNeeded      true;
    Cgbko    "cgbko"    Both        Items  Some     AfterAllocation false;
    Cgbkob   "cgbkob"   Both        Items  Some     AfterAllocation true;
    Cgbk1    "cgbk1"    Both        Items  Some     BeforeCentral   false;
    Cgbk1b   "cgbk1b"   Both        Items  Some     BeforeCentral   true;
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
    if name == Slabs::NAME {
        return Some(Chosen::default());
    }
    ROWS.iter().find(|row| row.name == name).map(|row| (row.choose)())
}
