//! Reads the built-in scenes: the language of the files in `scenes/`, described in their README.

use super::{Material, Scene, SceneBuilder};
use crate::color::Rgb;
use crate::error::{Error, Fault};
use crate::geometry::Vector;
use crate::picture::Camera;
use std::collections::HashMap;
use std::str::SplitWhitespace;

/// Reads the text of a scene.
pub(super) fn read(name: &str, text: &str) -> Result<Scene, Error> {
    let mut reader = Reader {
        scene: SceneBuilder::new(name),
        materials: HashMap::new(),
        definitions: HashMap::new(),
        open: None,
        depth: 0,
    };
    for (at, line) in text.lines().enumerate() {
        reader.line(line, at + 1, Frame::IDENTITY)?;
    }
    reader.scene.build()
}

/// The lines of a group, with their numbers.
type Definition = Vec<(usize, String)>;

struct Reader {
    scene: SceneBuilder,
    materials: HashMap<String, usize>,
    definitions: HashMap<String, Definition>,
    /// The definition whose `end` has not been read.
    open: Option<(String, Definition)>,
    /// The number of `place` lines around the current line.
    depth: usize,
}

/// Definitions may be nested this deep. A definition that places itself would never end.
const MAX_DEPTH: usize = 16;

/// A turn around the vertical axis, and a shift.
#[derive(Clone, Copy)]
struct Frame {
    cos: f64,
    sin: f64,
    shift: Vector,
}

impl Frame {
    const IDENTITY: Self = Self { cos: 1.0, sin: 0.0, shift: Vector::ZERO };

    fn new(degrees: f64, shift: Vector) -> Self {
        // Quarter turns are exact, so that faces that should touch do.
        let (sin, cos) = match degrees.rem_euclid(360.0) {
            0.0 => (0.0, 1.0),
            90.0 => (1.0, 0.0),
            180.0 => (0.0, -1.0),
            270.0 => (-1.0, 0.0),
            other => other.to_radians().sin_cos(),
        };
        Self { cos, sin, shift }
    }

    fn turn(&self, v: Vector) -> Vector {
        Vector::new(self.cos * v.x - self.sin * v.y, self.sin * v.x + self.cos * v.y, v.z)
    }

    fn apply(&self, point: Vector) -> Vector {
        self.turn(point) + self.shift
    }

    /// The frame of a group within this frame.
    fn of(&self, inner: Self) -> Self {
        let (cos, sin) = (self.cos * inner.cos - self.sin * inner.sin, self.sin * inner.cos + self.cos * inner.sin);
        Self { cos, sin, shift: self.apply(inner.shift) }
    }
}

/// The words of a line.
struct Words<'a> {
    words: SplitWhitespace<'a>,
    line: usize,
    command: &'a str,
}

impl Reader {
    fn line(&mut self, text: &str, line: usize, frame: Frame) -> Result<(), Error> {
        let text = text.split('#').next().unwrap_or_default();
        let mut words = text.split_whitespace();
        let Some(command) = words.next() else { return Ok(()) };
        if let Some((name, mut lines)) = self.open.take() {
            if command == "end" {
                self.definitions.insert(name, lines);
            } else {
                lines.push((line, text.to_owned()));
                self.open = Some((name, lines));
            }
            return Ok(());
        }
        let mut words = Words { words, line, command };
        match command {
            "material" => self.material(&mut words),
            "camera" => {
                let (eye, target) = (self.point(&mut words)?, self.point(&mut words)?);
                self.scene.camera(Camera { eye, target, degrees: self.number(&mut words)?, ..Camera::default() });
                Ok(())
            }
            "polygon" => self.polygon(&mut words, frame),
            "grid" => self.grid(&mut words, frame),
            "box" => self.cuboid(&mut words, frame),
            "prism" => self.prism(&mut words, frame),
            "define" => {
                self.open = Some((self.word(&mut words)?.to_owned(), Vec::new()));
                Ok(())
            }
            "place" => self.place(&mut words, frame),
            _ => Err(self.syntax(&words, "expected material, camera, polygon, grid, box, prism, define or place")),
        }
    }

    fn material(&mut self, words: &mut Words<'_>) -> Result<(), Error> {
        let name = self.word(words)?.to_owned();
        let reflectance = self.color(words)?;
        let emission = match words.words.next() {
            None => Rgb::BLACK,
            Some("emit") => self.color(words)?,
            Some(_) => return Err(self.syntax(words, "expected `emit` or the end of the line")),
        };
        let index = self.scene.material(Material { name: name.clone(), reflectance, emission }, Some(words.line))?;
        self.materials.insert(name, index);
        Ok(())
    }

    fn polygon(&mut self, words: &mut Words<'_>, frame: Frame) -> Result<(), Error> {
        let material = self.known_material(words)?;
        let mut corners = Vec::new();
        while words.words.clone().next().is_some() {
            corners.push(frame.apply(self.point(words)?));
        }
        self.scene.polygon(&corners, material, Some(words.line))
    }

    /// A parallelogram of `columns` times `rows` patches: the first corner and its two neighbours.
    fn grid(&mut self, words: &mut Words<'_>, frame: Frame) -> Result<(), Error> {
        let material = self.known_material(words)?;
        let counts = [self.count(words)?, self.count(words)?];
        let [origin, along, across] = [self.point(words)?, self.point(words)?, self.point(words)?];
        let corners = [origin, along, along + across - origin, across];
        self.cells(corners.map(|corner| frame.apply(corner)), counts, material, words.line)
    }

    /// Splits a quadrilateral into columns and rows.
    fn cells(&mut self, corners: [Vector; 4], counts: [usize; 2], material: usize, line: usize) -> Result<(), Error> {
        let [a, b, c, d] = corners;
        let point = |column: usize, row: usize| {
            let (u, v) = (column as f64 / counts[0] as f64, row as f64 / counts[1] as f64);
            a.lerp(b, u).lerp(d.lerp(c, u), v)
        };
        for row in 0..counts[1] {
            for column in 0..counts[0] {
                let (right, above) = (column + 1, row + 1);
                let cell = [point(column, row), point(right, row), point(right, above), point(column, above)];
                self.scene.polygon(&cell, material, Some(line))?;
            }
        }
        Ok(())
    }

    /// A box seen from outside, or with `inside` a room. `without` leaves faces out, and `split`
    /// divides the faces along each axis.
    fn cuboid(&mut self, words: &mut Words<'_>, frame: Frame) -> Result<(), Error> {
        let material = self.known_material(words)?;
        let (low, high) = (self.point(words)?, self.point(words)?);
        let (mut without, mut split, mut inside) = (String::new(), [1; 3], false);
        while let Some(option) = words.words.next() {
            match option {
                "inside" => inside = true,
                "without" => without = self.word(words)?.to_owned(),
                "split" => split = [self.count(words)?, self.count(words)?, self.count(words)?],
                _ => return Err(self.syntax(words, "expected `inside`, `without FACES` or `split X Y Z`")),
            }
        }
        for (face, name) in "xXyYzZ".chars().enumerate() {
            if without.contains(name) {
                continue;
            }
            let (axis, is_high) = (face / 2, face % 2 == 1);
            let (u, v) = ((axis + 1) % 3, (axis + 2) % 3);
            let corner = |at_u: bool, at_v: bool| {
                let mut corner = [0.0; 3];
                corner[axis] = if is_high { high[axis] } else { low[axis] };
                corner[u] = if at_u { high[u] } else { low[u] };
                corner[v] = if at_v { high[v] } else { low[v] };
                frame.apply(Vector::new(corner[0], corner[1], corner[2]))
            };
            let (first, last) = (corner(true, false), corner(false, true));
            let [origin, opposite] = [corner(false, false), corner(true, true)];
            if is_high == inside {
                self.cells([origin, last, opposite, first], [split[v], split[u]], material, words.line)?;
            } else {
                self.cells([origin, first, opposite, last], [split[u], split[v]], material, words.line)?;
            }
        }
        Ok(())
    }

    /// A regular prism around a vertical axis: corners, centre, lower and upper height and radius.
    /// `open` leaves out the lids.
    fn prism(&mut self, words: &mut Words<'_>, frame: Frame) -> Result<(), Error> {
        let material = self.known_material(words)?;
        let corners = self.count(words)?;
        let [x, y] = [self.number(words)?, self.number(words)?];
        let ends = [[self.number(words)?, self.number(words)?], [self.number(words)?, self.number(words)?]];
        let is_open = match words.words.next() {
            None => false,
            Some("open") => true,
            Some(_) => return Err(self.syntax(words, "expected `open` or the end of the line")),
        };
        let ring = |[z, radius]: [f64; 2]| -> Vec<Vector> {
            let corner = |at: usize| {
                let (sin, cos) = ((at as f64 + 0.5) / corners as f64 * std::f64::consts::TAU).sin_cos();
                frame.apply(Vector::new(x + radius * cos, y + radius * sin, z))
            };
            (0..corners).map(corner).collect()
        };
        let [low, high] = ends.map(ring);
        for at in 0..corners {
            let next = (at + 1) % corners;
            self.scene.polygon(&[low[at], low[next], high[next], high[at]], material, Some(words.line))?;
        }
        if !is_open {
            self.scene.polygon(&high, material, Some(words.line))?;
            let turned: Vec<Vector> = low.into_iter().rev().collect();
            self.scene.polygon(&turned, material, Some(words.line))?;
        }
        Ok(())
    }

    /// Draws a definition, turned and shifted. Each `repeat N X Y Z` multiplies it.
    fn place(&mut self, words: &mut Words<'_>, frame: Frame) -> Result<(), Error> {
        let name = self.word(words)?;
        let lines = self.definitions.get(name).cloned();
        let lines = lines.ok_or_else(|| self.syntax(words, &format!("no definition is called {name}")))?;
        if self.depth == MAX_DEPTH {
            return Err(self.syntax(words, "definitions are nested too deep"));
        }
        let mut shifts = vec![self.point(words)?];
        let mut degrees = 0.0;
        while let Some(option) = words.words.next() {
            match option {
                "turn" => degrees = self.number(words)?,
                "repeat" => {
                    let (count, step) = (self.count(words)?, self.point(words)?);
                    let copies = |shift: &Vector| {
                        let shift = *shift;
                        (0..count).map(move |copy| shift + step * copy as f64)
                    };
                    shifts = shifts.iter().flat_map(copies).collect();
                }
                _ => return Err(self.syntax(words, "expected `turn DEGREES` or `repeat COUNT X Y Z`")),
            }
        }
        self.depth += 1;
        for shift in shifts {
            let inner = frame.of(Frame::new(degrees, shift));
            for (line, text) in &lines {
                self.line(text, *line, inner)?;
            }
        }
        self.depth -= 1;
        Ok(())
    }

    fn known_material(&self, words: &mut Words<'_>) -> Result<usize, Error> {
        let name = self.word(words)?;
        let found = self.materials.get(name).copied();
        found.ok_or_else(|| self.scene.fault(Some(words.line), Fault::MissingMaterial { name: name.to_owned() }))
    }

    fn color(&self, words: &mut Words<'_>) -> Result<Rgb, Error> {
        Ok(Rgb([self.number(words)?, self.number(words)?, self.number(words)?]))
    }

    fn point(&self, words: &mut Words<'_>) -> Result<Vector, Error> {
        Ok(Vector::new(self.number(words)?, self.number(words)?, self.number(words)?))
    }

    fn number(&self, words: &mut Words<'_>) -> Result<f64, Error> {
        let word = self.word(words)?;
        let number = word.parse().ok().filter(|number: &f64| number.is_finite());
        number.ok_or_else(|| self.syntax(words, &format!("{word} is not a finite number")))
    }

    fn count(&self, words: &mut Words<'_>) -> Result<usize, Error> {
        let word = self.word(words)?;
        let count = word.parse().ok().filter(|count| (1..=1000).contains(count));
        count.ok_or_else(|| self.syntax(words, &format!("{word} is not a number from 1 to 1000")))
    }

    fn word<'a>(&self, words: &mut Words<'a>) -> Result<&'a str, Error> {
        words.words.next().ok_or_else(|| self.syntax(words, "the line is too short"))
    }

    fn syntax(&self, words: &Words<'_>, what: &str) -> Error {
        let what = format!("{}: {what}", words.command);
        self.scene.fault(Some(words.line), Fault::Syntax { what })
    }
}

#[cfg(test)]
mod tests {
    use super::read;
    use crate::geometry::Vector;

    const HEAD: &str = "material white 0.5 0.5 0.5 emit 1 1 1\n";

    fn says(text: &str) -> String {
        read("scene", &format!("{HEAD}{text}")).expect_err("a fault").to_string()
    }

    #[test]
    fn a_box_is_closed_and_looks_outside() {
        for (options, sign) in [("", 1.0), ("inside", -1.0), ("split 2 3 1", 1.0)] {
            let scene = read("box", &format!("{HEAD}box white 0 0 0 1 2 3 {options}")).expect("a scene");
            let doubled = scene.patches.iter().fold(Vector::ZERO, |sum, patch| sum + patch.shape.doubled_area());
            assert!(doubled.length() < 1e-12);
            // The volume, by the divergence theorem.
            let flux = |patch: &crate::scene::ScenePatch| patch.shape.doubled_area().dot(patch.shape.center()) / 6.0;
            let volume: f64 = scene.patches.iter().map(flux).sum();
            assert!((volume - sign * 6.0).abs() < 1e-12, "{volume}");
        }
    }

    #[test]
    fn places_are_nested_and_repeated() {
        let text = "define leg\nprism white 6 0 0 0 0.1 1 0.1\nend\ndefine table\nplace leg 1 0 0 repeat 2 0 1 0\nend\n\
                    place table 5 0 0 turn 90 repeat 3 0 0 2";
        let scene = read("scene", &format!("{HEAD}{text}")).expect("a scene");
        // A prism has six sides, and two lids of two quadrilaterals.
        assert_eq!(scene.patches.len(), 3 * 2 * 10);
        let (least, most) = scene.bounds();
        assert!((most.z - 5.0).abs() < 1e-12 && least.x > 3.5 && most.x < 5.5, "{least:?} {most:?}");
    }

    #[test]
    fn faults_name_the_line() {
        assert_eq!(says("polygon red 0 0 0"), "scene: line 2: no material is called red");
        assert_eq!(says("\nbox white 0 0 0 1 1"), "scene: line 3: box: the line is too short");
        assert_eq!(says("prism white 0 0"), "scene: line 2: prism: 0 is not a number from 1 to 1000");
        assert_eq!(says("place chair 0 0 0"), "scene: line 2: place: no definition is called chair");
        assert!(says("define a\nplace a 0 0 0\nend\nplace a 0 0 0").ends_with("nested too deep"));
        assert!(says("sphere").starts_with("scene: line 2: sphere: expected material, camera"));
        assert_eq!(says(""), "scene: the scene has no faces");
    }
}
