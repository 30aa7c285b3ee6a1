//! Hierarchical radiosity, as separate steps that tasks can run.
//!
//! The crate computes the diffuse light in a scene of polygons, and draws it. It needs no task
//! runtime: [`solve_serial`] calls the steps in a loop, and a parallel program calls the same steps
//! in tasks. The module [`steps`] lists which step reads and writes what.
//!
//! ```
//! use millpond_radiosity::{Scene, solve_serial};
//!
//! let scene = Scene::built_in("test")?;
//! let solution = solve_serial(&scene, &scene.parameters)?;
//! let counts = solution.counts;
//! assert_eq!(counts.interactions, counts.visible + counts.partial + counts.invisible);
//! # Ok::<(), millpond_radiosity::Error>(())
//! ```
//!
//! # The method
//!
//! Written from P. Hanrahan, D. Salzman, L. Aupperle, *A rapid hierarchical radiosity algorithm*,
//! SIGGRAPH 1991, as the application of TP §7.2: M. Korch, T. Rauber, *A comparison of task pools
//! for dynamic load balancing of irregular algorithms*, 2004. Parentheses name the former's
//! parts if they have other names.
//!
//! 1. **Patches.** Each polygon is split into quadrilaterals and triangles, the patches. Each is
//!    the root of a quadtree of elements ([`mesh`]). A tree of half-spaces over the patches answers
//!    which points see each other ([`bsp`]). One thread builds it.
//! 2. **Refinement** (hierarchical refinement, brightness-weighted error). An interaction connects
//!    two elements. It carries the radiosity of the source, times a form factor, times the area of
//!    the receiver. The error is that power times the relative error of the form factor. If it is
//!    more than a threshold, the larger element is divided, and each part gets an interaction of
//!    its own. So near and bright surfaces interact by small elements, and others by large ones.
//! 3. **Visibility.** Rays through the tree find how much of the source the receiver
//!    sees: all, a part, or nothing. Partially visible interactions are refined further.
//! 4. **Gathering.** Each element sums the light that its interactions bring.
//! 5. **Push and pull** (solution over the hierarchy). Over each quadtree, the sums are pushed down
//!    to the leaves, and the radiosities are pulled up as averages.
//! 6. **Iterations** (multigridding). Brighter sources need finer interactions, so the next
//!    iteration refines again. Iterations end if the total energy changes by less than a tolerance.
//! 7. **Display.** Radiosities are averaged at the vertices of the leaves and interpolated
//!    ([`picture`]).
//!
//! # Errors of the method
//!
//! Form factors are exact from a point, and averaged over points of the smaller element. Visibility
//! is independent of the form factor. In a closed scene, the factors of a leaf and its ancestors
//! should sum to 1. The factor of an ancestor is an average over its leaves. For a near surface, it
//! differs from the leaf's own. So the leaf attributes the difference from 1 to near surfaces.
//! [`steps::balance`] returns the sums and compares the emitted and the absorbed power.

#![forbid(unsafe_code)]

pub mod bsp;
mod color;
mod error;
pub mod form_factor;
pub mod geometry;
pub mod mesh;
mod parameters;
pub mod picture;
pub mod scene;
mod serial;
pub mod steps;

pub use color::Rgb;
pub use error::{Error, Fault, Place, Warning};
pub use geometry::Vector;
pub use mesh::Mesh;
pub use parameters::Parameters;
pub use picture::{Camera, Picture};
pub use scene::Scene;
pub use serial::{Counts, Progress, Solution, solve_serial, solve_serial_with, useless_lights};
