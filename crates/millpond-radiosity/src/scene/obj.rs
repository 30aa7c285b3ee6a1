//! Reads Wavefront OBJ.
//!
//! `tobj` interprets the files, but names no lines in its errors, and a short colour makes it
//! panic. So a first pass checks each line, stops at too many faces, and hands on only the lines
//! that matter: vertices, faces without texture and normal indices, and materials.

use super::{Material, Scene, SceneBuilder};
use crate::color::Rgb;
use crate::error::{Error, Fault, Place};
use crate::geometry::{MAX_CORNERS, PolygonFault, Vector};
use crate::scene::MAX_PATCHES;
use std::collections::HashSet;
use std::fmt::Write;
use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};

/// The longest line, in bytes. A face of [`MAX_CORNERS`] corners is shorter.
const MAX_LINE: u64 = 1 << 16;

/// The maximum number of vertices, so that a huge file is refused before it fills the memory.
const MAX_VERTICES: usize = 50 * MAX_PATCHES;

/// Lines that only `tobj` and faces need: the checked text, and the line of each face.
struct Checked {
    text: String,
    faces: Vec<usize>,
}

pub(super) fn read(file: &Path) -> Result<Scene, Error> {
    let mut scene = SceneBuilder::new(file.to_string_lossy());
    // As most programs that write OBJ.
    scene.up(Vector::new(0.0, 1.0, 0.0));
    let mut pass = Pass {
        scene: &mut scene,
        file,
        vertices: 0,
        names: HashSet::new(),
        materials: Vec::new(),
        checked: Checked { text: String::new(), faces: Vec::new() },
        has_material: false,
    };
    lines(file, |line, text| pass.line(line, text))?;
    let (checked, materials) = (pass.checked, pass.materials);
    let unexpected = |error: tobj::LoadError| {
        let what = format!("tobj cannot read it: {error}");
        Error::Scene { place: Place { file: file.to_owned(), line: None }, fault: Fault::Syntax { what } }
    };
    // All files of materials are read at the first, in their order.
    let text: String = materials.concat();
    let load = |_: &Path| tobj::load_mtl_buf(&mut text.as_bytes());
    let (models, materials) =
        tobj::load_obj_buf(&mut checked.text.as_bytes(), &tobj::LoadOptions::default(), load).map_err(unexpected)?;
    // Without a file of materials, tobj returns none.
    let materials = materials.unwrap_or_default();
    for material in materials {
        let color = |color: Option<[f64; 3]>, default| color.map_or(default, Rgb);
        let (reflectance, emission) = (color(material.diffuse, GRAY), color(material.emissive, Rgb::BLACK));
        scene.material(Material { name: material.name, reflectance, emission }, None)?;
    }
    faces(&mut scene, &models, &checked.faces)?;
    scene.build()
}

/// The reflectance of a material without `Kd`, and of faces without a material.
const GRAY: Rgb = Rgb::gray(0.5);

/// Adds the faces of the models, which are in the order of the file.
fn faces(scene: &mut SceneBuilder, models: &[tobj::Model], lines: &[usize]) -> Result<(), Error> {
    let mut lines = lines.iter().copied();
    let mut gray = None;
    for mesh in models.iter().map(|model| &model.mesh) {
        let mut material = || match (mesh.material_id, gray) {
            (Some(material), _) | (None, Some(material)) => Ok(material),
            (None, None) => {
                let name = "none".to_owned();
                let added = scene.material(Material { name, reflectance: GRAY, emission: Rgb::BLACK }, None)?;
                gray = Some(added);
                Ok::<_, Error>(added)
            }
        };
        let material = material()?;
        let at = |index: &u32| {
            let first = 3 * *index as usize;
            Vector::new(mesh.positions[first], mesh.positions[first + 1], mesh.positions[first + 2])
        };
        // tobj lists no arities if all faces are triangles.
        let triangles = mesh.indices.len() / 3;
        let arities = |face: usize| mesh.face_arities.get(face).map_or(3, |arity| *arity as usize);
        let count = if mesh.face_arities.is_empty() { triangles } else { mesh.face_arities.len() };
        let mut first = 0;
        for face in 0..count {
            let corners: Vec<Vector> = mesh.indices[first..first + arities(face)].iter().map(at).collect();
            first += arities(face);
            scene.polygon(&corners, material, lines.next())?;
        }
    }
    Ok(())
}

/// Calls a function with the number and the text of each line of a file.
fn lines(file: &Path, mut each: impl FnMut(usize, &str) -> Result<(), Error>) -> Result<(), Error> {
    let failed = |why| Error::Read { file: file.to_owned(), why };
    let opened = File::open(file).map_err(failed)?;
    if opened.metadata().map_err(failed)?.is_dir() {
        return Err(failed(ErrorKind::IsADirectory.into()));
    }
    let mut reader = BufReader::new(opened);
    let mut bytes = Vec::new();
    for line in 1.. {
        bytes.clear();
        let fault = |what: String| {
            let place = Place { file: file.to_owned(), line: Some(line) };
            Error::Scene { place, fault: Fault::Syntax { what } }
        };
        if reader.by_ref().take(MAX_LINE).read_until(b'\n', &mut bytes).map_err(failed)? == 0 {
            break;
        }
        if bytes.len() as u64 == MAX_LINE && bytes.last() != Some(&b'\n') {
            return Err(fault(format!("the line is longer than {MAX_LINE} bytes")));
        }
        let text = std::str::from_utf8(&bytes).map_err(|_| fault("the line is not text in UTF-8".to_owned()))?;
        each(line, text)?;
    }
    Ok(())
}

/// The first pass over a file.
struct Pass<'a> {
    scene: &'a mut SceneBuilder,
    file: &'a Path,
    vertices: usize,
    /// The names of the materials.
    names: HashSet<String>,
    /// The checked text of each file of materials.
    materials: Vec<String>,
    checked: Checked,
    /// Whether a `usemtl` was read, or a warning was given.
    has_material: bool,
}

impl Pass<'_> {
    fn line(&mut self, line: usize, text: &str) -> Result<(), Error> {
        let text = text.trim();
        let (command, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        match command {
            "v" => self.vertex(line, rest),
            "f" => self.face(line, rest),
            "mtllib" => self.library(line, rest.trim()),
            "usemtl" => {
                let name = rest.trim();
                if !self.names.contains(name) {
                    return Err(self.scene.fault(Some(line), Fault::MissingMaterial { name: name.to_owned() }));
                }
                self.has_material = true;
                self.keep(&format!("usemtl {name}"));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn keep(&mut self, text: &str) {
        self.checked.text.push_str(text);
        self.checked.text.push('\n');
    }

    fn vertex(&mut self, line: usize, rest: &str) -> Result<(), Error> {
        let words: Vec<&str> = rest.split_whitespace().collect();
        if words.len() < 3 {
            let what = format!("the vertex has {} coordinates: expected 3", words.len());
            return Err(self.scene.fault(Some(line), Fault::Syntax { what }));
        }
        // A fourth number is a weight; more are colours, which are not used.
        let used = if words.len() == 4 { 4 } else { 3 };
        for word in &words[..used] {
            number(word, "the coordinate").map_err(|fault| self.scene.fault(Some(line), fault))?;
        }
        if used == 4 && words[3].parse() == Ok(0.0) {
            let what = "the weight of the vertex is 0".to_owned();
            return Err(self.scene.fault(Some(line), Fault::Syntax { what }));
        }
        if self.vertices == MAX_VERTICES {
            return Err(self.scene.fault(Some(line), Fault::TooLarge { what: "vertices", most: MAX_VERTICES }));
        }
        self.vertices += 1;
        self.keep(&format!("v {}", words[..used].join(" ")));
        Ok(())
    }

    fn face(&mut self, line: usize, rest: &str) -> Result<(), Error> {
        let words: Vec<&str> = rest.split_whitespace().collect();
        if words.len() > MAX_CORNERS {
            let fault = Fault::Polygon(PolygonFault::TooManyCorners { corners: words.len() });
            return Err(self.scene.fault(Some(line), fault));
        }
        let mut kept = String::from("f");
        for word in &words {
            let index = self.corner(word).map_err(|fault| self.scene.fault(Some(line), fault))?;
            // Writing to a string cannot fail.
            let _ = write!(kept, " {index}");
        }
        if words.len() < 3 {
            self.scene.warn(Some(line), Fault::Polygon(PolygonFault::Degenerate));
            return Ok(());
        }
        if self.checked.faces.len() == MAX_PATCHES {
            return Err(self.scene.fault(Some(line), Fault::TooLarge { what: "faces", most: MAX_PATCHES }));
        }
        if !self.has_material {
            self.has_material = true;
            self.scene.warn(Some(line), Fault::NoMaterial);
        }
        self.checked.faces.push(line);
        self.keep(&kept);
        Ok(())
    }

    /// The index of a corner's vertex, from 1.
    fn corner(&self, word: &str) -> Result<usize, Fault> {
        let vertex = word.split('/').next().unwrap_or_default();
        let number: i64 = vertex.parse().map_err(|_| {
            let what = format!("{word} is not a corner: expected VERTEX, VERTEX/TEXTURE or VERTEX/TEXTURE/NORMAL");
            Fault::Syntax { what }
        })?;
        let vertices = self.vertices as i64;
        let index = if number < 0 { vertices.saturating_add(number + 1) } else { number };
        if (1..=vertices).contains(&index) {
            Ok(index as usize)
        } else {
            Err(Fault::MissingVertex { index: vertex.to_owned(), vertices: self.vertices })
        }
    }

    fn library(&mut self, line: usize, name: &str) -> Result<(), Error> {
        let path = self.file.parent().unwrap_or(Path::new("")).join(name);
        let mut text = String::new();
        let mut names = HashSet::new();
        lines(&path, |line, words| {
            let fault = |fault| Error::Scene { place: Place { file: path.clone(), line: Some(line) }, fault };
            material_line(words, &mut text, &mut names).map_err(fault)
        })
        .map_err(|error| self.unreadable(line, path.clone(), error))?;
        if self.materials.is_empty() {
            self.keep("mtllib materials");
        }
        self.names.extend(names);
        self.materials.push(text);
        Ok(())
    }

    /// Names the line of the `mtllib`, if its file cannot be read.
    fn unreadable(&self, line: usize, file: PathBuf, error: Error) -> Error {
        match error {
            Error::Read { why, .. } => self.scene.fault(Some(line), Fault::MissingFile { file, why: why.to_string() }),
            other => other,
        }
    }
}

/// Checks a line of a file of materials, and keeps it if it matters.
fn material_line(line: &str, text: &mut String, names: &mut HashSet<String>) -> Result<(), Fault> {
    let line = line.trim();
    let (command, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let rest = rest.trim();
    match command {
        "newmtl" if rest.is_empty() => return Err(Fault::Syntax { what: "the material has no name".to_owned() }),
        "newmtl" => {
            names.insert(rest.to_owned());
        }
        "Kd" | "Ke" if names.is_empty() => {
            return Err(Fault::Syntax { what: format!("{command} before the first newmtl") });
        }
        "Kd" | "Ke" => color(command, rest)?,
        _ => return Ok(()),
    }
    text.push_str(line);
    text.push('\n');
    Ok(())
}

/// Checks a reflectance (`Kd`) or an emission (`Ke`).
fn color(command: &str, rest: &str) -> Result<(), Fault> {
    let words: Vec<&str> = rest.split_whitespace().collect();
    if words.len() != 3 {
        let what = format!("{command} has {} numbers: expected 3 (red, green, blue)", words.len());
        return Err(Fault::Syntax { what });
    }
    let (what, most, expected) = match command {
        "Kd" => ("the reflectance", 1.0, "0 to 1"),
        _ => ("the emission", f64::MAX, "at least 0"),
    };
    for word in words {
        let value = number(word, what)?;
        if !(0.0..=most).contains(&value) {
            return Err(Fault::OutOfRange { what, value: word.to_owned(), expected });
        }
    }
    Ok(())
}

/// A finite number.
fn number(word: &str, what: &'static str) -> Result<f64, Fault> {
    let value: f64 = word.parse().map_err(|_| Fault::Syntax { what: format!("{what} {word} is not a number") })?;
    if value.is_finite() { Ok(value) } else { Err(Fault::NotFinite { what, value: word.to_owned() }) }
}
