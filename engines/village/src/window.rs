//! Shows the village in a window: its houses and villagers.

use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use minifb::{Key, Scale, Window, WindowOptions};

use crate::{Calendar, House, Picture, Villager};

const WIDTH: usize = 160;
const HEIGHT: usize = 100;

/// The place where a villager is drawn. It is not saved: loaded villagers get a new one, like newborn ones.
#[derive(Component)]
struct Step(usize);

/// Adds a window to the app, if there is a display.
pub(crate) fn open(app: &mut App) {
    let options = WindowOptions { scale: Scale::X4, ..WindowOptions::default() };
    match Window::new("Village", WIDTH, HEIGHT, options) {
        Ok(window) => {
            app.insert_non_send(window).add_systems(PostUpdate, (place, draw).chain());
        }
        Err(error) => println!("There is no window: {error}"),
    }
}

/// Inserts a [`Step`] into new villagers, whether they were spawned or loaded.
fn place(mut commands: Commands, new: Query<Entity, Added<Villager>>) {
    for villager in &new {
        commands.entity(villager).insert(Step(villager.index_u32() as usize * 7));
    }
}

fn draw(
    mut window: NonSendMut<Window>,
    calendar: Res<Calendar>,
    houses: Query<(&House, &Children)>,
    mut villagers: Query<(&Villager, &mut Step)>,
    mut picture: ResMut<Picture>,
    mut exit: MessageWriter<AppExit>,
) {
    let mut pixels = vec![0x0035_6b3a; WIDTH * HEIGHT];
    let mut fill = |left: usize, top: usize, (width, height): (usize, usize), colour: u32| {
        for row in (top..top + height).take_while(|row| *row < HEIGHT) {
            let end = WIDTH.min(left + width);
            pixels[row * WIDTH + left.min(end)..row * WIDTH + end].fill(colour);
        }
    };
    for (index, (house, inhabitants)) in houses.iter().enumerate() {
        let left = 10 + index * 60;
        fill(left, 20, (40, 30), 0x00a0_522d);
        fill(left, 14, (house.grain.min(40) as usize, 4), 0x00e8_c547);
        for inhabitant in inhabitants {
            let Ok((villager, mut step)) = villagers.get_mut(*inhabitant) else { continue };
            step.0 += 1;
            let size = if villager.age < 18 { (2, 3) } else { (3, 5) };
            let colour = if villager.hunger > 0 { 0x00d0_3030 } else { 0x00f0_e0d0 };
            fill(left + step.0 / 4 % 50, 55 + step.0 * 5 % 31, size, colour);
        }
    }
    window.set_title(&format!("Village, day {}", calendar.day));
    let is_drawn = window.update_with_buffer(&pixels, WIDTH, HEIGHT).is_ok();
    if !is_drawn || !window.is_open() || window.is_key_down(Key::Escape) {
        exit.write(AppExit::Success);
    }
    let rgb = |pixel: &u32| pixel.to_be_bytes().into_iter().skip(1);
    picture.0 = pixels.iter().flat_map(rgb).collect();
}
