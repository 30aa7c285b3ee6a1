//! The external tasks of a scope outlive it.

use millpond::Runtime;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rt = Runtime::new()?;
    let mut kept = None;
    rt.scope(|s| kept = Some(s.external()))?;
    let _pending = kept.unwrap().pending(|| ());
    Ok(())
}
