//! Solves a scene, prints its figures, and writes its picture:
//! `cargo run --release -p millpond-radiosity --example solve -- SCENE [PICTURE [CAMERA]]`.

use millpond_radiosity::picture::{Options, Picture};
use millpond_radiosity::{Camera, Error, Scene, solve_serial, steps};
use std::time::Instant;

fn main() -> Result<(), Error> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let name = arguments.first().map_or("room", String::as_str);
    let scene = Scene::open(name)?;
    scene.warnings.iter().for_each(|warning| eprintln!("warning: {warning}"));
    let mut parameters = scene.parameters;
    for setting in arguments.iter().filter_map(|argument| argument.split_once('=')) {
        let number: f64 = setting.1.parse().expect("a number");
        match setting.0 {
            "bf" => parameters.bf_error = number,
            "partial" => parameters.partial_factor = number,
            "min" => parameters.min_side = number,
            "rays" => parameters.rays = number as u32,
            "sweeps" => parameters.sweeps = number as u32,
            "tolerance" => parameters.tolerance = number,
            other => panic!("{other} is no parameter"),
        }
    }
    let start = Instant::now();
    let solution = solve_serial(&scene, &parameters)?;
    let seconds = start.elapsed().as_secs_f64();
    solution.warnings(&scene).iter().for_each(|warning| eprintln!("warning: {warning}"));
    println!("{:#?}", solution.counts);
    println!("closed: {}, {:#?}", solution.mesh.is_closed(), steps::balance(&solution.mesh));
    println!("sees: {}", solution.counts.visible + solution.counts.partial);
    println!("{seconds:.3} seconds");
    if let Some(file) = arguments.get(1).filter(|argument| !argument.contains('=')) {
        let start = Instant::now();
        let camera = arguments.get(2).filter(|argument| !argument.contains('='));
        let camera = camera.map_or(Ok(scene.camera), |text| Camera::parse(text, &scene.camera))?;
        let wireframe = arguments.iter().any(|argument| argument == "wireframe");
        let picture = Picture::draw(&solution.mesh, &camera, &Options { wireframe, ..Options::default() })?;
        let failed = |why| Error::Write { why };
        picture.write_png(&mut std::fs::File::create(file).map_err(failed)?)?;
        println!("picture: {:.3} seconds", start.elapsed().as_secs_f64());
    }
    Ok(())
}
