//! A state as a real roguelike keeps it, whose types use a dozen other crates: saved, loaded, and continued.
//!
//! ```text
//! cargo run --release -p persist-foreign-tests --example roguelike
//! ```

#![expect(clippy::print_stdout, reason = "it is a program to look at")]
#![expect(unreachable_pub, reason = "a program has no outside")]
#![allow(
    missing_docs,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "it is made-up data"
)]

mod make;
mod state;

use std::time::Instant;

use make::Size;
use persist::Saves;
use rand_pcg::rand_core::RngCore;
use state::Game;

fn main() -> persist::Result<()> {
    let size = Size { maps: 298, items: 32_790, characters: 400 };
    let mut game = make::game(2026, size);
    game.dice.world.next_u64(); // somewhere in its sequence
    println!(
        "{} maps, {} items, {} characters",
        game.maps.len(),
        game.items.len(),
        game.characters.len()
    );

    let path = std::env::temp_dir().join("persist-roguelike.sav");
    let saves = Saves::new();
    let start = Instant::now();
    saves.file(&path).save(&game)?;
    let saved = start.elapsed();
    let bytes = saves.to_vec(&game)?.len();
    let start = Instant::now();
    let mut loaded = saves.file(&path).load::<Game>()?.into_inner();
    println!("{bytes} bytes; saved in {saved:.1?}, loaded in {:.1?}", start.elapsed());

    assert!(saves.to_vec(&loaded)? == saves.to_vec(&game)?, "the same state");
    let rolls = |game: &mut Game| [game.dice.world.next_u64(), game.dice.loot.next_u64()];
    assert_eq!(
        rolls(&mut loaded),
        rolls(&mut game),
        "the dice fall as if the game had never ended"
    );
    let player = loaded.player.and_then(|key| loaded.characters.get(&key));
    let weapon = player.and_then(|player| player.equipment.worn[state::Slot::Weapon]);
    println!(
        "the player holds: {:?}",
        weapon.and_then(|key| loaded.items.get(&key)).map(|item| &item.kind.0)
    );
    Ok(())
}
