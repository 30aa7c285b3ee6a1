//! The energy of a solution.

use super::gather::{self, HIDDEN};
use super::initial::exposed;
use crate::bsp::Scratch;
use crate::color::Rgb;
use crate::mesh::Mesh;

/// The power that leaves all surfaces, summed over the channels. Valid after
/// [`push_pull`](super::push_pull) of all patches.
pub fn total_energy(mesh: &Mesh) -> f64 {
    let patch = |patch| {
        let root = mesh.element(mesh.root(patch));
        root.radiosity().sum() * root.area()
    };
    (0..mesh.patches().len()).map(patch).sum()
}

/// Whether the energy has changed by less than the tolerance since the last iteration.
///
/// ```
/// use millpond_radiosity::steps::has_converged;
///
/// assert!(has_converged(100.0, 100.4, 0.005));
/// assert!(!has_converged(100.0, 101.0, 0.005));
/// ```
pub fn has_converged(before: f64, now: f64, tolerance: f64) -> bool {
    (now - before).abs() <= tolerance * now.abs()
}

/// Where the power goes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Balance {
    /// What the lights emit.
    pub emitted: Rgb,
    /// What the surfaces absorb.
    pub absorbed: Rgb,
    /// What leaves an open scene. Zero in a closed one.
    pub escaped: Rgb,
    /// The smallest sum of form factors times visibilities of a leaf that is not hidden.
    pub least_row: f64,
    /// The largest sum of a leaf.
    pub largest_row: f64,
    /// The average sum of the leaves that are not hidden, by area.
    pub mean_row: f64,
}

impl Balance {
    /// The difference of the emitted power and the rest, relative to the emitted power.
    pub fn error(&self) -> f64 {
        (self.emitted - self.absorbed - self.escaped).sum().abs() / self.emitted.sum()
    }
}

/// Below this row, a leaf of a closed scene may be partly covered: a part touches another body.
const COVERED: f64 = 0.97;

/// The balance after [`push_pull`](super::push_pull) of all patches.
pub fn balance(mesh: &Mesh) -> Balance {
    let (emitted, absorbed, escaped) = (Rgb::BLACK, Rgb::BLACK, Rgb::BLACK);
    let mut sum = Balance { emitted, absorbed, escaped, least_row: f64::MAX, largest_row: 0.0, mean_row: 0.0 };
    let mut seen = 0.0;
    let mut scratch = Scratch::default();
    for (at, patch) in mesh.patches().iter().enumerate() {
        gather::for_each_leaf(mesh, at, &mut |leaf, gathered| {
            let (row, area) = (gathered.row, leaf.area());
            // A covered part takes no part.
            let may_be_covered = mesh.is_closed() && row < COVERED;
            let exposed = if may_be_covered { area * exposed(mesh, leaf, &mut scratch) } else { area };
            let lost = Rgb::gray(1.0) - patch.reflectance;
            sum.emitted += patch.emission * exposed;
            sum.absorbed += lost * gather::irradiance(mesh, gathered) * exposed;
            if !mesh.is_closed() {
                sum.escaped += leaf.radiosity() * (area * (1.0 - row).max(0.0));
            }
            if row > HIDDEN {
                sum.least_row = sum.least_row.min(row);
                sum.largest_row = sum.largest_row.max(row);
                sum.mean_row += row * area;
                seen += area;
            }
        });
    }
    sum.mean_row /= seen;
    sum
}
