//! Why a scene, a parameter or a picture was refused. Each message is one line.

use crate::geometry::PolygonFault;
use std::fmt;
use std::path::PathBuf;

/// Why something was refused or failed. Every message is one line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A scene cannot be used.
    #[error("{place}: {fault}")]
    Scene {
        /// Where the fault is.
        place: Place,
        /// What is wrong.
        fault: Fault,
    },
    /// A file cannot be read.
    #[error("{}: cannot read: {why}", file.display())]
    Read {
        /// The file.
        file: PathBuf,
        /// The system's reason.
        why: std::io::Error,
    },
    /// A picture cannot be written.
    #[error("cannot write the picture: {why}")]
    Write {
        /// The encoder's or the system's reason.
        why: std::io::Error,
    },
    /// No scene has this name.
    #[error("no scene is called {name}: expected {}, or a file that ends in .obj", crate::scene::names().join(", "))]
    UnknownScene {
        /// The given name.
        name: String,
    },
    /// A parameter is outside its range.
    #[error("{parameter} {value}: expected {expected}")]
    Parameter {
        /// The parameter.
        parameter: &'static str,
        /// The given value.
        value: String,
        /// The valid values.
        expected: &'static str,
    },
}

/// A place in a scene.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file, or the name of a built-in scene.
    pub file: PathBuf,
    /// The line, from 1, if the fault is in one line.
    pub line: Option<usize>,
}

impl fmt::Display for Place {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self.file.display())?;
        self.line.map_or(Ok(()), |line| write!(out, ": line {line}"))
    }
}

/// What is wrong in a scene.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// There is no face with an area.
    #[error("the scene has no faces")]
    NoFaces,
    /// No face emits light, so the picture would be black.
    #[error("the scene has no light: no face has a material that emits (`Ke` above 0)")]
    NoLight,
    /// There are more faces or patches than [`MAX_PATCHES`](crate::scene::MAX_PATCHES), or more
    /// vertices than 50 times as many.
    #[error("the scene has more than {most} {what}: the time grows with the square of the number of patches")]
    TooLarge {
        /// What is counted.
        what: &'static str,
        /// The maximum.
        most: usize,
    },
    /// A polygon cannot be split into patches.
    #[error("{0}")]
    Polygon(PolygonFault),
    /// A number is infinite or not a number.
    #[error("{what} {value} is not finite")]
    NotFinite {
        /// What the number is for.
        what: &'static str,
        /// The number as it is written.
        value: String,
    },
    /// A number is outside its range.
    #[error("{what} {value}: expected {expected}")]
    OutOfRange {
        /// What the number is for.
        what: &'static str,
        /// The number as it is written.
        value: String,
        /// The valid values.
        expected: &'static str,
    },
    /// A material is used, but no file defines it.
    #[error("no material is called {name}")]
    MissingMaterial {
        /// The name.
        name: String,
    },
    /// Faces have no material. They are grey.
    #[error("faces without a material are grey")]
    NoMaterial,
    /// A face names a vertex that is not there.
    #[error("vertex {index} is not there: the file has {vertices} vertices so far")]
    MissingVertex {
        /// The index as it is written.
        index: String,
        /// The number of vertices before this line.
        vertices: usize,
    },
    /// A file of materials cannot be read.
    #[error("cannot read the materials of {}: {why}", file.display())]
    MissingFile {
        /// The file of materials.
        file: PathBuf,
        /// The system's reason.
        why: String,
    },
    /// A line cannot be understood.
    #[error("{what}")]
    Syntax {
        /// What is wrong, and what is expected.
        what: String,
    },
    /// A light reaches no other face.
    #[error("the light of this face reaches no other face")]
    UselessLight,
}

/// A fault that leaves a sensible picture.
#[derive(Debug, Clone, PartialEq)]
pub struct Warning {
    /// Where the fault is.
    pub place: Place,
    /// What is wrong.
    pub fault: Fault,
}

impl fmt::Display for Warning {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { place, fault } = self;
        write!(out, "{place}: {fault}")?;
        match fault {
            Fault::Polygon(PolygonFault::NotPlanar { .. }) => write!(out, "; it is split into triangles"),
            Fault::Polygon(_) => write!(out, "; it is left out"),
            _ => Ok(()),
        }
    }
}
