//! The state of the game with the mod, what it looks like, and what the player does in it.

use std::collections::HashMap;
use std::rc::{Rc, Weak};
use std::sync::{Arc, Mutex};

use persist::SaveManager;

use super::types::common::{Alive, Item, Sword, Token};
use super::types::modded::{Charm, Chest, Gem, Hero, Lock, Slot, Tray, charm, hero, wand};
use super::types::{AnyItem, Shared, shared};

/// What the program holds of a world: the heroes, and the charms that it added.
pub(crate) struct World {
    pub(crate) heroes: Vec<Shared<Hero>>,
    pub(crate) charms: Vec<Shared<Charm>>,
}

fn chest(name: &str, lock: Lock) -> Shared<Chest> {
    let slots = vec![Slot { glow: 0, number: 1 }, Slot { glow: 0, number: 2 }];
    shared(Chest {
        name: name.into(),
        things: Vec::new(),
        charms: Vec::new(),
        shelf: Vec::new(),
        slots,
        trays: Vec::new(),
        lock,
        alarm: None,
        by_rune: [].into(),
        aura: 1 << 40,
        _alive: Alive::default(),
    })
}

/// Two heroes and two chests, with what the mod adds in every place.
pub(crate) fn world() -> World {
    let (ada, bob) = (hero("Ada"), hero("Bob"));
    // One charm that the program added, a pair that leads in a circle, one that only the lock knows.
    let [added, left, right, curse] = [1, 2, 3, 4].map(charm);
    let small =
        Rc::new(Gem { carat: 1, next: None, set_in: Weak::new().into(), _alive: Alive::default() });
    let big = Rc::new(Gem {
        carat: 500,
        next: Some(small.clone()),
        set_in: Rc::downgrade(&left).into(),
        _alive: Alive::default(),
    });
    left.borrow_mut().twin = Some(right.clone());
    right.borrow_mut().twin = Some(left.clone());
    left.borrow_mut().gem = Some(big.clone());
    right.borrow_mut().token =
        Some(shared(Token { name: "coin".into(), _alive: Alive::default() }));
    right.borrow_mut().owner = Some(bob.clone());
    curse.borrow_mut().twin = Some(curse.clone());
    curse.borrow_mut().bound = Some(shared(Sword::new(13)));
    added.borrow_mut().owner = Some(ada.clone());
    added.borrow_mut().gem = Some(small);

    let cursed = Lock::Cursed { by: curse, turns: 3, on: vec![Slot { glow: 99, number: 9 }] };
    let (oak, tin) = (chest("oak", cursed), chest("tin", Lock::Key("brass".into())));
    added.borrow_mut().home = Rc::downgrade(&oak);
    let relic: AnyItem = shared(wand(77));
    left.borrow_mut().bound = Some(relic.clone());
    {
        let mut oak = oak.borrow_mut();
        let mut staff = wand(400);
        staff.charm = Some(left.clone());
        staff.gem = Some(big);
        staff.spare = vec![Box::new(Sword::new(2)), Box::new(wand(1))];
        staff.maker = Rc::downgrade(&bob);
        oak.things = vec![Box::new(Sword::new(1)), Box::new(staff), Box::new(wand(3))];
        oak.charms = vec![added.clone(), left.clone(), added.clone()];
        oak.by_rune = [("x".into(), Rc::downgrade(&right)), ("y".into(), Weak::new())].into();
        oak.shelf = vec![relic.clone(), shared(Sword::new(5)), relic.clone()];
        oak.alarm = Some(Arc::new(Mutex::new(Sword::new(6))));
        let tray = |label: &str, runes: &[&str], charm| {
            let runes = runes.iter().map(|rune| (*rune).into()).collect();
            Tray { runes, label: label.into(), charm }
        };
        oak.trays = vec![tray("top", &["a", "b"], Some(right)), tray("low", &[], None)];
    }
    {
        let mut ada = ada.borrow_mut();
        ada.mana = 7;
        ada.familiar = Some(left);
        ada.hand = Some(relic);
        ada.chests = vec![oak, tin.clone()];
        ada.friend = Rc::downgrade(&bob);
    }
    bob.borrow_mut().chests = vec![tin];
    bob.borrow_mut().friend = Rc::downgrade(&ada);
    World { heroes: vec![ada, bob], charms: vec![added] }
}

impl World {
    /// Adds all to a manager.
    pub(crate) fn add_to(&self, manager: &mut SaveManager) {
        for hero in &self.heroes {
            manager.add(hero).unwrap();
        }
        for charm in &self.charms {
            manager.add(charm).unwrap();
        }
    }

    /// Cuts every circle.
    pub(crate) fn end(self) {
        let mut show = Show::default();
        show.world(&self.heroes, &self.charms);
        for charm in show.charms {
            let mut charm = charm.borrow_mut();
            charm.twin = None;
            charm.owner = None;
            charm.bound = None;
        }
    }
}

/// Tells a world, each object once, by the order in which they are met.
#[derive(Default)]
pub(crate) struct Show {
    numbers: HashMap<*const (), usize>,
    lines: Vec<String>,
    charms: Vec<Shared<Charm>>,
}

impl Show {
    /// The number of an object, and whether it is new.
    fn number(&mut self, address: *const ()) -> (usize, bool) {
        let next = self.numbers.len();
        let number = *self.numbers.entry(address).or_insert(next);
        (number, number == next)
    }

    fn weak<T>(&mut self, weak: &Weak<std::cell::RefCell<T>>) -> String {
        match weak.upgrade() {
            Some(shared) => format!("#{}", self.number(Rc::as_ptr(&shared).cast()).0),
            None => String::from("nobody"),
        }
    }

    fn item(&mut self, item: &dyn Item) -> String {
        let mut text = String::new();
        let what = item.show(&mut |name, address| match address {
            Some(address) => text += &format!(" {name} #{}", self.number(address).0),
            None => text += &format!(" no {name}"),
        });
        format!("{what}{text}")
    }

    fn any(&mut self, item: &AnyItem) -> String {
        let (number, is_new) = self.number(Rc::as_ptr(item).cast());
        if is_new {
            let what = self.item(&*item.borrow());
            self.lines.push(format!("#{number} is {what}"));
        }
        format!("#{number}")
    }

    fn gem(&mut self, gem: &Rc<Gem>) -> String {
        let (number, is_new) = self.number(Rc::as_ptr(gem).cast());
        if is_new {
            let next = gem.next.as_ref().map(|next| self.gem(next));
            let set_in = self.weak(&gem.set_in.borrow());
            self.lines.push(format!("#{number} is gem {} {next:?} in {set_in}", gem.carat));
        }
        format!("#{number}")
    }

    fn charm(&mut self, charm: &Shared<Charm>) -> String {
        let (number, is_new) = self.number(Rc::as_ptr(charm).cast());
        if is_new || !self.charms.iter().any(|known| Rc::ptr_eq(known, charm)) {
            self.charms.push(charm.clone());
            let it = charm.borrow();
            let owner = it.owner.as_ref().map(|owner| self.hero(owner));
            let home = self.weak(&it.home);
            let twin = it.twin.as_ref().map(|twin| self.charm(twin));
            let gem = it.gem.as_ref().map(|gem| self.gem(gem));
            let bound = it.bound.as_ref().map(|bound| self.any(bound));
            let token = it.token.as_ref().map(|token| token.borrow().name.clone());
            let power = it.power;
            self.lines.push(format!(
                "#{number} is charm {power} of {owner:?} in {home} twin {twin:?} gem {gem:?} bound {bound:?} token {token:?}"
            ));
        }
        format!("#{number}")
    }

    fn chest(&mut self, chest: &Shared<Chest>) -> String {
        let (number, is_new) = self.number(Rc::as_ptr(chest).cast());
        if is_new {
            let it = chest.borrow();
            let things: Vec<_> = it.things.iter().map(|thing| self.item(&**thing)).collect();
            let charms: Vec<_> = it.charms.iter().map(|charm| self.charm(charm)).collect();
            let shelf: Vec<_> = it.shelf.iter().map(|item| self.any(item)).collect();
            let slots: Vec<_> = it.slots.iter().map(|slot| (slot.number, slot.glow)).collect();
            let runes: Vec<_> =
                it.by_rune.iter().map(|(rune, charm)| (rune, self.weak(charm))).collect();
            let trays: Vec<_> = it.trays.iter().map(|tray| self.tray(tray)).collect();
            let lock = match &it.lock {
                Lock::Open => String::from("open"),
                Lock::Key(key) => format!("key {key}"),
                Lock::Cursed { by, turns, on } => {
                    let on: Vec<_> = on.iter().map(|slot| (slot.number, slot.glow)).collect();
                    format!("cursed by {} for {turns} on {on:?}", self.charm(by))
                }
            };
            let alarm = it.alarm.as_ref().map(|alarm| self.item(&*alarm.lock().unwrap()));
            self.lines.push(format!(
                "#{number} is chest {} {things:?} {charms:?} {shelf:?} {slots:?} {runes:?} {trays:?} {lock} {alarm:?} {}",
                it.name, it.aura
            ));
        }
        format!("#{number}")
    }

    fn tray(&mut self, tray: &Tray) -> String {
        let charm = tray.charm.as_ref().map(|charm| self.charm(charm));
        format!("{} {:?} {charm:?}", tray.label, tray.runes)
    }

    fn hero(&mut self, hero: &Shared<Hero>) -> String {
        let (number, is_new) = self.number(Rc::as_ptr(hero).cast());
        if is_new {
            let it = hero.borrow();
            let familiar = it.familiar.as_ref().map(|charm| self.charm(charm));
            let hand = it.hand.as_ref().map(|hand| self.any(hand));
            let chests: Vec<_> = it.chests.iter().map(|chest| self.chest(chest)).collect();
            let friend = self.weak(&it.friend);
            self.lines.push(format!(
                "#{number} is hero {} {} {familiar:?} {hand:?} {chests:?} friend {friend}",
                it.name, it.mana
            ));
        }
        format!("#{number}")
    }

    fn world(&mut self, heroes: &[Shared<Hero>], charms: &[Shared<Charm>]) {
        for hero in heroes {
            let hero = self.hero(hero);
            self.lines.push(format!("the player has {hero}"));
        }
        for charm in charms {
            let charm = self.charm(charm);
            self.lines.push(format!("the mod has {charm}"));
        }
    }
}

/// The whole of a world, line by line.
pub(crate) fn show(heroes: &[Shared<Hero>], charms: &[Shared<Charm>]) -> Vec<String> {
    let mut show = Show::default();
    show.world(heroes, charms);
    show.lines
}

/// What the player does in a day; the same code for the game with the mod and without.
macro_rules! play {
    ($heroes:expr, $types:ident, $manager:expr) => {{
        let heroes = $heroes;
        let (ada, bob) = (&heroes[0], &heroes[1]);
        ada.borrow_mut().name = "Ada the Great".into();
        let chests = ada.borrow().chests.clone();
        let (mut oak, mut tin) = (chests[0].borrow_mut(), chests[1].borrow_mut());
        // A staff of the mod goes into the other chest, and a wand is thrown away.
        let staff = oak.things.remove(1);
        tin.things.push(staff);
        oak.things.pop();
        oak.things[0] = Box::new(Sword::new(99));
        // What lay on the shelf is in the hand of another, what was in the hand stays on the shelf.
        let relic = oak.shelf.remove(0);
        bob.borrow_mut().hand = Some(relic);
        ada.borrow_mut().hand = Some(shared(Sword::new(50)));
        // Trays and locks change places.
        let tray = oak.trays.remove(0);
        tin.trays.push(tray);
        std::mem::swap(&mut oak.lock, &mut tin.lock);
        oak.name = "old oak".into();
        oak.slots.remove(0);
        drop((oak, tin));
        bob.borrow_mut().chests.push(chests[0].clone());
        ada.borrow_mut().chests.reverse();
        let carl = $types::hero("Carl");
        carl.borrow_mut().friend = Rc::downgrade(ada);
        $manager.add(&carl).unwrap();
        carl
    }};
}
pub(crate) use play;
