//! Prints the public items of a crate, one per line, from rustdoc's JSON. `.ci/public` uses it. It
//! fails if an item's documentation cites a paper by its key without a link to the list of keys.
#![forbid(unsafe_code)]

use std::{env, error::Error, fs};

use public_api::{Builder, PublicItem};

/// Auto traits that depend on private fields, and are useless to users of a task runtime.
const OMITTED: [&str; 4] = ["Freeze", "RefUnwindSafe", "UnsafeUnpin", "UnwindSafe"];

fn main() -> Result<(), Box<dyn Error>> {
    let file = env::args_os().nth(1).ok_or("usage: millpond-public FILE.json")?;
    if let Some(docs) = unlinked(&fs::read_to_string(&file)?) {
        return Err(format!(
            "a paper is cited without a link, [KEY](crate#sources), in: {}",
            docs.chars().take(200).collect::<String>()
        )
        .into());
    }
    let api = Builder::from_rustdoc_json(file).omit_blanket_impls(true).build()?;
    let mut items: Vec<&PublicItem> = api.items().filter(|item| !is_omitted(&item.to_string())).collect();
    // Keeps a type's methods and impls together. The text decides between equal items.
    items.sort_by(|a, b| PublicItem::grouping_cmp(a, b).then_with(|| a.to_string().cmp(&b.to_string())));
    for item in items {
        println!("{item}");
    }
    Ok(())
}

fn is_omitted(item: &str) -> bool {
    item.starts_with("impl") && OMITTED.iter().any(|name| item.contains(&format!("::{name} for ")))
}

/// Documentation citing a paper by its key, without a link for the key.
fn unlinked(json: &str) -> Option<&str> {
    // Quotes within a text are escaped.
    let docs = json.split("\"docs\":\"").skip(1).filter_map(|rest| {
        let ends = rest.match_indices('"').find(|&(at, _)| !rest[..at].ends_with('\\'));
        ends.map(|(at, _)| &rest[..at])
    });
    let cites = |docs: &str, key: &str| {
        let mut words = docs.split(|letter: char| !letter.is_alphanumeric());
        words.any(|word| word == key)
            && !docs.contains(&format!("[{key}](crate#sources)"))
            // The list itself, or a page naming the paper.
            && !docs.contains("# Sources")
            && !docs.contains(&format!("; {key})"))
    };
    docs.into_iter().find(|docs| ["TG", "TP", "FP", "DDS"].iter().any(|key| cites(docs, key)))
}

#[cfg(test)]
mod tests {
    use super::unlinked;

    #[test]
    fn keys_need_a_link() {
        let json = |docs| format!(r#"{{"docs":"{docs}","links":{{}}}}"#);
        assert_eq!(unlinked(&json("As \\\"here\\\" (TG §4.1).")), Some("As \\\"here\\\" (TG §4.1)."));
        assert_eq!(unlinked(&json("As here ([TG](crate#sources) §4.1).")), None);
        assert_eq!(unlinked(&json("HTTP, TPX: none.")), None);
    }
}
