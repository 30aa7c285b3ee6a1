//! Vectors, planes, and polygons split into quadrilaterals and triangles.

mod polygon;
mod shape;
mod vector;

pub use polygon::{MAX_CORNERS, PolygonFault, split};
pub use shape::{Plane, Shape};
pub use vector::Vector;
