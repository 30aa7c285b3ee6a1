//! Wavefront OBJ: good and bad files.

use millpond_radiosity::{Error, Scene, solve_serial};
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

/// A directory that is removed at the end.
struct Dir(PathBuf);

impl Dir {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::AcqRel);
        let dir = std::env::temp_dir().join(format!("millpond-radiosity-{}-{number}", std::process::id()));
        fs::create_dir_all(&dir).expect("a directory");
        Self(dir)
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const MATERIALS: &str = "newmtl white\nKd 0.7 0.7 0.7\nnewmtl lamp\nKd 0.5 0.5 0.5\nKe 10 10 10\n";
const LAMP: &str = "mtllib scene.mtl\nv 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nusemtl lamp\nf 1 2 3 4\n";

/// Reads a scene. Replaces the directory in messages.
fn read(obj: &str, materials: &str) -> Result<Scene, String> {
    let dir = Dir::new();
    fs::write(dir.0.join("scene.mtl"), materials).expect("a file");
    let file = dir.0.join("scene.obj");
    fs::write(&file, obj).expect("a file");
    let shorten = |text: String| text.replace(&format!("{}/", dir.0.display()), "");
    let mut scene = Scene::open(file.to_str().expect("a name")).map_err(|error| shorten(error.to_string()))?;
    scene.name = shorten(scene.name);
    for warning in &mut scene.warnings {
        warning.place.file = shorten(warning.place.file.display().to_string()).into();
    }
    Ok(scene)
}

/// The message for a file that begins with a lamp.
fn says(rest: &str) -> String {
    read(&format!("{LAMP}{rest}"), MATERIALS).expect_err("a fault")
}

#[test]
fn a_file_with_materials_becomes_a_scene() {
    let obj = format!(
        "# a lamp over a floor\no lamp\n{LAMP}g floor\nv 0 0 -1\nv 0 1 -1\nv 1 1 -1 \nv 1 0 -1\nvt 0 0\nvn 0 0 1\n\
         usemtl white\nf -4/1/1 -1//1 -2/1 -3\ns off\n"
    );
    let scene = read(&obj, MATERIALS).expect("a scene");
    assert_eq!((scene.patches.len(), scene.warnings.len()), (2, 0));
    assert_eq!(scene.materials[scene.patches[0].material].name, "lamp");
    assert_eq!(scene.materials[scene.patches[0].material].emission.0, [10.0; 3]);
    assert_eq!(scene.materials[scene.patches[1].material].reflectance.0, [0.7; 3]);
    assert_eq!(scene.patches.iter().map(|patch| patch.line).collect::<Vec<_>>(), [Some(9), Some(18)]);
    let solution = solve_serial(&scene, &scene.parameters).expect("a solution");
    assert!(solution.counts.energy_error < 0.01);
}

#[test]
fn faults_name_the_file_the_line_and_the_reason() {
    let cases = [
        ("v 1 2 nan", "scene.obj: line 8: the coordinate nan is not finite"),
        ("v 1 inf 2", "scene.obj: line 8: the coordinate inf is not finite"),
        ("v 1 2", "scene.obj: line 8: the vertex has 2 coordinates: expected 3"),
        ("v 1 2 x", "scene.obj: line 8: the coordinate x is not a number"),
        ("v 1 2 3 0", "scene.obj: line 8: the weight of the vertex is 0"),
        ("f 1 2 9", "scene.obj: line 8: vertex 9 is not there: the file has 4 vertices so far"),
        ("f 1 2 0", "scene.obj: line 8: vertex 0 is not there: the file has 4 vertices so far"),
        ("f 1 2 -5", "scene.obj: line 8: vertex -5 is not there: the file has 4 vertices so far"),
        ("\nf 1 2 a", "scene.obj: line 9: a is not a corner: expected VERTEX, VERTEX/TEXTURE or VERTEX/TEXTURE/NORMAL"),
        ("usemtl red", "scene.obj: line 8: no material is called red"),
        ("usemtl", "scene.obj: line 8: no material is called "),
        ("v 3 1 0\nv 3 0 0\nv 0 2 0\nf 1 5 6 7", "scene.obj: line 11: edges of the polygon cross or overlap"),
        (
            "mtllib none.mtl",
            "scene.obj: line 8: cannot read the materials of none.mtl: No such file or directory (os error 2)",
        ),
    ];
    for (rest, expected) in cases {
        assert_eq!(says(rest), expected, "{rest}");
    }
}

#[test]
fn faults_of_materials_name_their_file() {
    let cases = [
        ("newmtl lamp\nKe 1 1", "scene.mtl: line 2: Ke has 2 numbers: expected 3 (red, green, blue)"),
        ("newmtl lamp\nKe 1 1 nan", "scene.mtl: line 2: the emission nan is not finite"),
        ("newmtl lamp\nKe 1 1 -1", "scene.mtl: line 2: the emission -1: expected at least 0"),
        ("newmtl lamp\nKd 1 1 1.5", "scene.mtl: line 2: the reflectance 1.5: expected 0 to 1"),
        ("newmtl", "scene.mtl: line 1: the material has no name"),
        ("Kd 1 1 1", "scene.mtl: line 1: Kd before the first newmtl"),
        ("newmtl white", "scene.obj: line 6: no material is called lamp"),
    ];
    for (materials, expected) in cases {
        assert_eq!(read(LAMP, materials).expect_err("a fault"), expected, "{materials}");
    }
}

#[test]
fn scenes_without_faces_or_light_are_refused() {
    assert_eq!(read("", MATERIALS).expect_err("a fault"), "scene.obj: the scene has no faces");
    assert_eq!(read("v 0 0 0\n", MATERIALS).expect_err("a fault"), "scene.obj: the scene has no faces");
    let dark = LAMP.replace("usemtl lamp", "usemtl white");
    let says = read(&dark, MATERIALS).expect_err("a fault");
    assert_eq!(says, "scene.obj: the scene has no light: no face has a material that emits (`Ke` above 0)");
}

#[test]
fn faults_with_a_sensible_picture_are_warnings() {
    let warnings = |rest: &str| {
        let scene = read(&format!("{LAMP}{rest}"), MATERIALS).expect("a scene");
        (scene.patches.len(), scene.warnings.iter().map(ToString::to_string).collect::<Vec<_>>())
    };
    let (patches, says) = warnings("f 1 2\nf 1 2 2\nf 1 1 1 1");
    assert_eq!(patches, 1);
    let expected = [8, 9, 10].map(|line| format!("scene.obj: line {line}: the polygon has no area; it is left out"));
    assert_eq!(says, expected);
    let (patches, says) = warnings("v 0 0 0.5\nf 1 2 3 5");
    assert_eq!((patches, says.len()), (3, 1));
    assert!(says[0].starts_with("scene.obj: line 9: the polygon is not planar: corner "), "{says:?}");
    assert!(says[0].ends_with("; it is split into triangles"), "{says:?}");
    // Faces before the first material.
    let scene =
        read(&format!("v 0 0 1\nv 1 0 1\nv 0 1 1\nf 1 2 3\n{}", LAMP.replace("f 1 2 3 4", "f -1 -2 -3")), MATERIALS);
    let scene = scene.expect("a scene");
    assert_eq!(scene.warnings[0].to_string(), "scene.obj: line 4: faces without a material are grey");
    assert_eq!(scene.materials[scene.patches[0].material].reflectance.0, [0.5; 3]);
}

#[test]
fn a_huge_file_is_refused_early() {
    let faces = "f 1 2 3 4\n".repeat(30_000);
    let says = says(&faces);
    assert!(says.starts_with("scene.obj: line 20007: the scene has more than 20000 faces"), "{says}");
    let long = format!("# {}", "x".repeat(100_000));
    assert_eq!(self::says(&long), "scene.obj: line 8: the line is longer than 65536 bytes");
}

#[test]
fn files_that_cannot_be_read_are_named() {
    let error = Scene::open("/nonexistent/scene.obj").expect_err("a fault");
    assert!(matches!(error, Error::Read { .. }));
    assert_eq!(error.to_string(), "/nonexistent/scene.obj: cannot read: No such file or directory (os error 2)");
    let dir = Dir::new();
    fs::create_dir(dir.0.join("folder.obj")).expect("a directory");
    let error = Scene::open(dir.0.join("folder.obj").to_str().expect("a name")).expect_err("a fault");
    assert!(error.to_string().ends_with("folder.obj: cannot read: is a directory"), "{error}");
    fs::write(dir.0.join("binary.obj"), b"v 1 2 3\n\xff\xfe\n").expect("a file");
    let error = Scene::open(dir.0.join("binary.obj").to_str().expect("a name")).expect_err("a fault");
    assert!(error.to_string().ends_with("binary.obj: line 2: the line is not text in UTF-8"), "{error}");
}

#[test]
fn changed_bytes_never_panic() {
    let floor = "v 0 0 -1\nv 0 1 -1\nv 1 1 -1\nv 1 0 -1\nusemtl white\nf 5 6 7 8\n";
    let obj = format!("{LAMP}{floor}");
    let mut state = 1_u64;
    let mut next = |below: usize| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize % below
    };
    let letters = b"0123456789.-+e /\nvfnKdusemtl#\\\tx";
    let mut read_files = 0;
    for round in 0..400 {
        let mut change = |text: &str| {
            let mut bytes = text.as_bytes().to_vec();
            for _ in 0..1 + next(2) {
                let at = next(bytes.len());
                match next(3) {
                    0 => bytes[at] = letters[next(letters.len())],
                    1 => bytes.insert(at, letters[next(letters.len())]),
                    _ => drop(bytes.remove(at)),
                }
            }
            String::from_utf8(bytes).expect("text")
        };
        // One of the files.
        let changed =
            if round % 2 == 0 { (change(&obj), MATERIALS.to_owned()) } else { (obj.clone(), change(MATERIALS)) };
        let (obj, materials) = changed;
        if let Ok(scene) = read(&obj, &materials) {
            read_files += 1;
            // Any scene that is read can be solved.
            let parameters = millpond_radiosity::Parameters { bf_error: 0.05, ..scene.parameters };
            let solution = solve_serial(&scene, &parameters).expect("a solution");
            assert!(solution.counts.energy_error.is_finite(), "{obj}");
        }
    }
    assert!((20..390).contains(&read_files), "{read_files} files were read");
}
