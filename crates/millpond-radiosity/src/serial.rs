//! The serial program.

use crate::bsp::Scratch;
use crate::error::{Error, Fault, Warning};
use crate::mesh::{ElementId, Mesh};
use crate::parameters::Parameters;
use crate::scene::Scene;
use crate::steps::{
    Interaction, Link, Refined, balance, gather, has_converged, initial, push_pull, refine, refine_again, total_energy,
    visibility,
};

/// A solved scene.
#[derive(Debug)]
pub struct Solution {
    /// The elements with their radiosities.
    pub mesh: Mesh,
    /// The figures.
    pub counts: Counts,
}

/// The figures of a solution.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Counts {
    /// Patches.
    pub patches: usize,
    /// Elements: all nodes of all quadtrees.
    pub elements: usize,
    /// Interactions in the lists of all elements.
    pub interactions: usize,
    /// Interactions that are completely visible.
    pub visible: usize,
    /// Interactions that are partially visible.
    pub partial: usize,
    /// Interactions that are not visible.
    pub invisible: usize,
    /// Iterations.
    pub iterations: u32,
    /// The difference of emitted and absorbed power, relative to the emitted power. In an open
    /// scene, power that leaves counts as absorbed.
    pub energy_error: f64,
}

impl Counts {
    /// Counts the elements and interactions of a mesh.
    pub fn of(mesh: &Mesh, iterations: u32) -> Self {
        let (mut visible, mut partial, mut invisible) = (0, 0, 0);
        for id in mesh.ids() {
            for interaction in mesh.element(id).interactions().iter() {
                let visibility = interaction.visibility;
                visible += usize::from(visibility.is_complete());
                invisible += usize::from(visibility.is_none());
                partial += usize::from(!visibility.is_complete() && !visibility.is_none());
            }
        }
        Self {
            patches: mesh.patches().len(),
            elements: mesh.elements(),
            interactions: visible + partial + invisible,
            visible,
            partial,
            invisible,
            iterations,
            energy_error: balance(mesh).error(),
        }
    }
}

/// How far a solution is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// The iteration, from 1.
    pub iteration: u32,
    /// The share of its elements whose interactions are refined, from 0 to 1.
    pub refined: f64,
}

/// Solves a scene on this thread. The result is the same in every run.
///
/// # Errors
///
/// If a parameter is outside its range.
///
/// ```
/// use millpond_radiosity::{Scene, solve_serial};
///
/// let scene = Scene::built_in("furnace")?;
/// let solution = solve_serial(&scene, &scene.parameters)?;
/// assert!(solution.counts.energy_error < 0.01);
/// # Ok::<(), millpond_radiosity::Error>(())
/// ```
pub fn solve_serial(scene: &Scene, parameters: &Parameters) -> Result<Solution, Error> {
    solve_serial_with(scene, parameters, &mut |_| {})
}

/// Like [`solve_serial`], and reports its progress a few hundred times per iteration.
///
/// # Errors
///
/// If a parameter is outside its range.
pub fn solve_serial_with(
    scene: &Scene,
    parameters: &Parameters,
    report: &mut dyn FnMut(Progress),
) -> Result<Solution, Error> {
    let mesh = Mesh::new(scene, parameters)?;
    let mut refiner = Refiner { mesh: &mesh, links: Vec::new(), scratch: Scratch::default() };
    // The radiosities start as the emissions.
    let mut energy = total_energy(&mesh);
    let mut iterations = 0;
    let mut is_done = false;
    while !is_done && iterations < parameters.max_iterations {
        iterations += 1;
        refiner.iteration(iterations, report);
        for _ in 0..parameters.sweeps {
            sweep(&mesh);
        }
        let now = total_energy(&mesh);
        is_done = has_converged(energy, now, parameters.tolerance);
        energy = now;
    }
    let counts = Counts::of(&mesh, iterations);
    Ok(Solution { mesh, counts })
}

/// Gathers for each element, and then pushes and pulls over each patch.
fn sweep(mesh: &Mesh) {
    for id in mesh.ids() {
        let element = mesh.element(id);
        let gathered = gather(mesh, id, &element.interactions());
        element.set_gathered(gathered);
    }
    (0..mesh.patches().len()).for_each(|patch| push_pull(mesh, patch));
}

/// Refines links until none is left.
struct Refiner<'a> {
    mesh: &'a Mesh,
    /// Links that wait.
    links: Vec<Link>,
    scratch: Scratch,
}

impl Refiner<'_> {
    /// Builds the interactions of all patches in the first iteration, and refines those of all
    /// elements later.
    fn iteration(&mut self, iteration: u32, report: &mut dyn FnMut(Progress)) {
        let mesh = self.mesh;
        let count = if iteration == 1 { mesh.patches().len() } else { mesh.elements() };
        let elements: Vec<ElementId> = mesh.ids().take(count).collect();
        for (at, id) in elements.into_iter().enumerate() {
            if at % (count / 256).max(1) == 0 {
                report(Progress { iteration, refined: at as f64 / count as f64 });
            }
            if iteration == 1 {
                self.links.extend(initial(mesh, at));
            } else {
                self.again(id);
            }
            self.drain();
        }
    }

    /// Takes the interactions that need refinement from an element.
    fn again(&mut self, id: ElementId) {
        let links = &mut self.links;
        self.mesh.element(id).interactions().retain(|interaction| {
            let parts = refine_again(self.mesh, id, interaction);
            links.extend(parts.into_iter().flatten());
            parts.is_none()
        });
    }

    fn drain(&mut self) {
        while let Some(link) = self.links.pop() {
            match refine(self.mesh, link) {
                Refined::Apart => {}
                Refined::Divided(parts) => self.links.extend(parts),
                Refined::Accepted { form_factor } => self.accept(link, form_factor),
            }
        }
    }

    /// Adds an interaction to its receiver, unless its visibility asks for more refinement.
    fn accept(&mut self, link: Link, form_factor: f64) {
        let Link { receiver, source } = link;
        let visibility = visibility(self.mesh, link, &mut self.scratch);
        let interaction = Interaction { source, form_factor, visibility };
        match refine_again(self.mesh, receiver, &interaction) {
            Some(parts) => self.links.extend(parts),
            None => self.mesh.element(receiver).interactions().push(interaction),
        }
    }
}

impl Solution {
    /// Warnings about patches: lights that reach no other patch.
    pub fn warnings(&self, scene: &Scene) -> Vec<Warning> {
        useless_lights(&self.mesh, scene)
    }
}

/// Lights that no element gathers from.
pub fn useless_lights(mesh: &Mesh, scene: &Scene) -> Vec<Warning> {
    let mut reaches = vec![false; mesh.patches().len()];
    for id in mesh.ids() {
        for interaction in mesh.element(id).interactions().iter().filter(|it| !it.visibility.is_none()) {
            reaches[mesh.element(interaction.source).patch()] = true;
        }
    }
    let is_useless = |at: &usize| mesh.patches()[*at].emission.max_channel() > 0.0 && !reaches[*at];
    let warning = |at: usize| Warning { place: scene.place(mesh.patches()[at].index), fault: Fault::UselessLight };
    (0..reaches.len()).filter(is_useless).map(warning).collect()
}
