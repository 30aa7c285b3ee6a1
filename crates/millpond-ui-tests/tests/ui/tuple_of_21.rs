//! A tuple of more than 20 accesses: use a `Vec`, an array or a nested tuple.

use millpond::{Handle, Runtime, Spawn};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rt = Runtime::new()?;
    let h: [Handle<u32>; 21] = std::array::from_fn(|_| Handle::new(0));
    rt.scope(|s| {
        s.spawn(
            (
                h[0].inout(),
                h[1].inout(),
                h[2].inout(),
                h[3].inout(),
                h[4].inout(),
                h[5].inout(),
                h[6].inout(),
                h[7].inout(),
                h[8].inout(),
                h[9].inout(),
                h[10].inout(),
                h[11].inout(),
                h[12].inout(),
                h[13].inout(),
                h[14].inout(),
                h[15].inout(),
                h[16].inout(),
                h[17].inout(),
                h[18].inout(),
                h[19].inout(),
                h[20].inout(),
            ),
            |_| (),
        );
    })?;
    Ok(())
}
