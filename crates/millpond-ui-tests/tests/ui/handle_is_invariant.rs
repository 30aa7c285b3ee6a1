//! A handle is invariant. Otherwise a task could store a short-lived reference through a handle of
//! long-lived ones.
use millpond::{Handle, Runtime, Spawn};

fn main() {
    let name: Handle<&'static str> = Handle::new("long-lived");
    {
        let local = String::from("short-lived");
        let shorter: &Handle<&str> = &name;
        let rt = Runtime::new().unwrap();
        rt.scope(|s| _ = s.spawn(shorter.inout(), |name| *name = &local)).unwrap();
    }
    println!("{}", name.into_inner().unwrap());
}
