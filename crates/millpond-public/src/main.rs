//! Prints the public items of a crate, one per line, from the JSON that rustdoc writes. Used by `.ci/public`.
#![forbid(unsafe_code)]

use std::{env, error::Error};

use public_api::{Builder, PublicItem};

/// Auto traits that depend on private fields and that no user of a task runtime relies on.
const OMITTED: [&str; 4] = ["Freeze", "RefUnwindSafe", "UnsafeUnpin", "UnwindSafe"];

fn main() -> Result<(), Box<dyn Error>> {
    let file = env::args_os().nth(1).ok_or("usage: millpond-public FILE.json")?;
    let api = Builder::from_rustdoc_json(file).omit_blanket_impls(true).build()?;
    let mut items: Vec<&PublicItem> = api.items().filter(|item| !is_omitted(&item.to_string())).collect();
    // Keeps the methods and the impls of a type together; the text breaks ties.
    items.sort_by(|a, b| PublicItem::grouping_cmp(a, b).then_with(|| a.to_string().cmp(&b.to_string())));
    for item in items {
        println!("{item}");
    }
    Ok(())
}

fn is_omitted(item: &str) -> bool {
    item.starts_with("impl") && OMITTED.iter().any(|name| item.contains(&format!("::{name} for ")))
}
