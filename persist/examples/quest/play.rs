//! The rules. The same seed and number of turns always give the same world.

use std::collections::HashMap;
use std::rc::{Rc, Weak};

use super::world::{
    Coin, Fate, Guild, Hero, Hide, Item, Make, Monster, MonsterKind, Place, Shared, Task, World,
    shared,
};

const NAMES: [&str; 8] = ["Ada", "Bors", "Cuthwin", "Dinadan", "Elaine", "Fearn", "Gwen", "Hild"];
const BEASTS: [&str; 6] = ["Grim", "Howl", "Ember", "Murk", "Snag", "Wyrm"];
const PARTY: usize = 12;
const MAX_MONSTERS: usize = 2000;

impl Fate {
    /// A number below `n`, by SplitMix64 (<https://prng.di.unimi.it/splitmix64.c>).
    pub fn below(&mut self, n: usize) -> usize {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        usize::try_from(z % n as u64).unwrap_or_default()
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())].clone()
    }

    fn number(&mut self, n: u16) -> u16 {
        u16::try_from(self.below(usize::from(n))).unwrap_or_default()
    }

    fn place(&mut self) -> Place {
        Place { x: f32::from(self.number(1000)) / 7.0, y: f32::from(self.number(1000)) / 7.0 }
    }

    fn item(&mut self) -> Shared<Item> {
        let make = match self.below(3) {
            0 => Make::Sword { damage: i32::from(self.number(20)) + 5 },
            1 => Make::Potion(i32::from(self.number(40)) + 1),
            _ => {
                let note = (self.below(2) == 0).then(|| String::from("here be dragons"));
                Make::Map(self.place(), note)
            }
        };
        let word = match make {
            Make::Sword { .. } => "sword",
            Make::Potion(_) => "potion",
            Make::Map(..) => "map",
        };
        let name = format!("{word} of {}", self.pick(&NAMES));
        shared(Item { name, make, worn: 0 })
    }
}

impl World {
    pub fn new(seed: u64) -> Self {
        let mut fate = Fate { state: seed };
        let guild = shared(Guild {
            name: String::from("The Crooked Lantern"),
            members: Vec::new(),
            armoury: (0..PARTY).map(|_| fate.item()).collect(),
            wanted: HashMap::new(),
            last_fallen: None,
        });
        Self { turn: 0, fate, heroes: Vec::new(), monsters: Vec::new(), guild, gold: 0 }
    }

    pub fn play(&mut self, turns: u32) {
        for _ in 0..turns {
            self.turn += 1;
            self.welcome_hero();
            (0..3).for_each(|_| self.spawn_monster());
            for hero in self.heroes.clone() {
                self.act(&hero);
            }
            for monster in self.monsters.clone() {
                self.prowl(&monster);
            }
            self.bury_the_dead();
            self.count_gold();
        }
    }

    /// Keeps the party at its size.
    fn welcome_hero(&mut self) {
        if self.heroes.len() >= PARTY {
            return;
        }
        let name = format!("{} {}", self.fate.pick(&NAMES), self.turn);
        let rival = self.heroes.last().map_or(Weak::new(), Rc::downgrade);
        let hero = shared(Hero {
            name,
            level: 1,
            health: 100,
            place: self.fate.place(),
            task: Task::Rest,
            weapon: None,
            bag: vec![self.fate.item()],
            purse: HashMap::from([(Coin::Copper, 12), (Coin::Silver, 3)]),
            guild: self.guild.clone(),
            rival,
        });
        self.guild.borrow_mut().members.push(hero.clone());
        self.heroes.push(hero);
    }

    fn spawn_monster(&mut self) {
        if self.monsters.len() >= MAX_MONSTERS {
            return;
        }
        let fate = &mut self.fate;
        let kind = match fate.below(3) {
            0 => MonsterKind::Ghost,
            1 => MonsterKind::Wolf { pack: fate.pick(&[1, 2, 3, 5, 8]) },
            _ => {
                let hide = Hide { scales: u32::from(fate.number(9999)), colour: [200, 30, 0] };
                MonsterKind::Dragon(hide, 0.5)
            }
        };
        let monster = shared(Monster {
            name: format!("{} {}", fate.pick(&BEASTS), fate.below(1_000_000)),
            kind,
            health: i32::from(fate.number(90)) + 10,
            place: fate.place(),
            prey: Weak::new(),
            hates: Vec::new(),
            hoard: (0..fate.below(3)).map(|_| fate.item()).collect(),
        });
        if self.fate.below(4) == 0 {
            let price = u32::from(self.fate.number(50)) + 1;
            let name = monster.borrow().name.clone();
            self.guild.borrow_mut().wanted.insert(name, (monster.clone(), price));
        }
        self.monsters.push(monster);
    }

    fn act(&mut self, hero: &Shared<Hero>) {
        let task = std::mem::replace(&mut hero.borrow_mut().task, Task::Rest);
        let next = match task {
            Task::Rest => self.rest(&mut hero.borrow_mut()),
            Task::Travel { to, days: 0 } => {
                hero.borrow_mut().place = to;
                Task::Rest
            }
            Task::Travel { to, days } => Task::Travel { to, days: days - 1 },
            Task::Hunt(monster) => self.strike(hero, monster),
        };
        hero.borrow_mut().task = next;
    }

    /// Rests, drinks, looks into the armoury and thinks of something to do.
    fn rest(&mut self, hero: &mut Hero) -> Task {
        hero.health = (hero.health + 15).min(100);
        if let Some(item) = hero.bag.pop_if(|item| matches!(item.borrow().make, Make::Potion(_))) {
            item.borrow_mut().worn += 1;
            if let Make::Potion(strength) = item.borrow().make {
                hero.health += strength;
            }
        }
        let fate = &mut self.fate;
        match fate.below(4) {
            0 => Task::Travel { to: fate.place(), days: u32::from(fate.number(5)) },
            1 => {
                hero.weapon = Some(fate.pick(&self.guild.borrow().armoury));
                Task::Rest
            }
            _ if self.monsters.is_empty() => Task::Rest,
            _ => Task::Hunt(fate.pick(&self.monsters)),
        }
    }

    fn strike(&mut self, hero: &Shared<Hero>, monster: Shared<Monster>) -> Task {
        let mut foe = monster.borrow_mut();
        if foe.health <= 0 {
            return Task::Rest;
        }
        let mut hero_now = hero.borrow_mut();
        let mut damage = 5 + i32::from(self.fate.number(10));
        if let Some(weapon) = &hero_now.weapon {
            let mut weapon = weapon.borrow_mut();
            weapon.worn += 1;
            if let Make::Sword { damage: more } = weapon.make {
                damage += more;
            }
        }
        foe.health -= damage;
        if !foe.hates.iter().any(|hated| Rc::ptr_eq(hated, hero)) {
            foe.hates.push(hero.clone());
        }
        if foe.health > 0 {
            drop(foe);
            return Task::Hunt(monster);
        }
        hero_now.level += 1;
        hero_now.bag.append(&mut foe.hoard);
        if let Some((_, price)) = self.guild.borrow_mut().wanted.remove(&foe.name) {
            *hero_now.purse.entry(Coin::Gold).or_default() += price;
        }
        Task::Rest
    }

    fn prowl(&mut self, monster: &Shared<Monster>) {
        let mut monster = monster.borrow_mut();
        if monster.health <= 0 {
            return;
        }
        match monster.prey.upgrade() {
            None => monster.prey = Rc::downgrade(&self.fate.pick(&self.heroes)),
            Some(prey) if prey.borrow().health <= 0 => monster.prey = Weak::new(),
            Some(prey) => {
                let bite = match &monster.kind {
                    MonsterKind::Ghost => 1,
                    MonsterKind::Wolf { pack } => i32::from(*pack),
                    MonsterKind::Dragon(hide, _) if hide.scales > 5000 => 20,
                    MonsterKind::Dragon(..) => 10,
                };
                // Where there are many, most of them wait.
                if self.fate.below(self.monsters.len()) < PARTY {
                    prey.borrow_mut().health -= bite;
                }
            }
        }
    }

    fn bury_the_dead(&mut self) {
        let mut guild = self.guild.borrow_mut();
        for hero in self.heroes.extract_if(.., |hero| hero.borrow().health <= 0) {
            guild.members.retain(|member| !Rc::ptr_eq(member, &hero));
            let mut hero = hero.borrow_mut();
            hero.task = Task::Rest;
            guild.last_fallen = Some((hero.name.clone(), self.turn));
        }
        for monster in self.monsters.extract_if(.., |monster| monster.borrow().health <= 0) {
            monster.borrow_mut().hates.clear();
            guild.wanted.remove(&monster.borrow().name);
        }
    }
}
