//! The macro behind the tables of the paper's pools and memory managers.

/// For each line of a table, makes a type, a row in `ROWS`, and a case of two macros. A line has
/// the name of the type, the name of the variant, and its entries in brackets.
///
/// The file of a table defines two macros for the entries: `parts!` makes the items of the type's
/// `Variant`, and `row!` the `Row`. `$d` is a dollar sign, for the macros made here.
macro_rules! rows {
    (
        $d:tt $family:ident, $default:ident, $each:ident, $(#[$doc:meta])* $with:ident;
        $($variant:ident $name:literal $entries:tt)*
    ) => {
        /// The rows of the paper's tables, in its order.
        pub(crate) const ROWS: &[Row] = &[$(row!($variant $name $entries)),*];

        $(
            #[doc = concat!("`", $name, "` of the paper's tables ([TP](crate#sources)). `catalogue` lists its parts.")]
            #[derive(Debug)]
            pub enum $variant {}

            impl Variant for $variant {
                const NAME: &'static str = $name;
                parts! { $entries }
            }
        )*

        /// Calls a function for the type of each row.
        #[cfg(all(test, not(loom)))]
        macro_rules! $each {
            ($d function:ident) => {{
                $($d function::<$crate::$family::variants::$variant>();)*
            }};
        }
        #[cfg(all(test, not(loom)))]
        pub(crate) use $each;

        $(#[$doc])*
        #[macro_export]
        macro_rules! $with {
            ($d name:expr, $d T:ident => $d body:expr) => {
                match $d name {
                    "default" => {
                        type $d T = $d crate::$default;
                        Some($d body)
                    }
                    $($name => {
                        type $d T = $d crate::$family::Named<$d crate::$family::variants::$variant>;
                        Some($d body)
                    })*
                    _ => None,
                }
            };
        }
    };
}

pub(crate) use rows;
