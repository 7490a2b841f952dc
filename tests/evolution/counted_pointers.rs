//! Games that went from `Rc` to `Arc` between two versions, or from one cell to another: old saves load, and every object
//! stays one.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};
use std::sync::{Arc, Mutex, RwLock, Weak as SyncWeak};

use persist::save::LoadPolicy;
use persist::{Component, ErrorKind, LoadOptions, Persist, SaveManager, Saves, Unknown, World};

/// The types of one version of the program, in these pointers.
macro_rules! version {
    ($name:ident $shared:ident $weak:ident $cell:ident) => {
        mod $name {
            use super::*;

            #[derive(Persist)]
            pub(super) struct Party {
                pub(super) leader: Shared<Hero>,
                pub(super) heroes: Vec<Shared<Hero>>,
                pub(super) scout: $weak<$cell<Hero>>,
                pub(super) banner: $shared<Banner>,
                pub(super) flags: Vec<$shared<Banner>>,
                pub(super) chest: Shared<Vec<$shared<Banner>>>,
                pub(super) items: Vec<Shared<dyn Item>>,
                pub(super) relic: Option<$shared<dyn Item>>,
                pub(super) slot: Slot<Shared<Hero>>,
            }

            #[derive(Persist)]
            pub(super) struct Hero {
                pub(super) name: String,
                pub(super) friend: Option<Shared<Hero>>,
                pub(super) foe: $weak<$cell<Hero>>,
            }

            #[derive(Persist)]
            pub(super) struct Banner {
                pub(super) colour: u32,
            }

            #[derive(Persist)]
            pub(super) struct Slot<T> {
                pub(super) content: T,
            }

            #[persist::dynamic(unknown = Missing)]
            pub(super) trait Item {
                fn price(&self) -> u32;
            }

            #[derive(Persist)]
            pub(super) struct Sword {
                pub(super) price: u32,
                pub(super) owner: Option<Shared<Hero>>,
            }

            impl Item for Sword {
                fn price(&self) -> u32 {
                    self.price
                }
            }

            /// A class of a mod.
            #[derive(Persist)]
            #[allow(dead_code, reason = "not every version makes one")]
            pub(super) struct Hat {
                pub(super) size: u8,
                pub(super) owner: Option<Shared<Hero>>,
            }

            impl Item for Hat {
                fn price(&self) -> u32 {
                    self.size.into()
                }
            }

            #[derive(Persist)]
            pub(super) struct Missing {
                unknown: Unknown,
            }

            impl Item for Missing {
                fn price(&self) -> u32 {
                    0
                }
            }

            impl From<Unknown> for Missing {
                fn from(unknown: Unknown) -> Self {
                    Self { unknown }
                }
            }

            impl AsRef<Unknown> for Missing {
                fn as_ref(&self) -> &Unknown {
                    &self.unknown
                }
            }

            pub(super) type Shared<T> = $shared<$cell<T>>;

            pub(super) fn saves() -> Saves {
                let saves = Saves::new();
                saves.register_pointer::<Shared<Party>>().expect("types of one version");
                saves.register_as::<Sword, dyn Item>().expect("a class of its own");
                saves
            }

            /// A party of two heroes who are each other's friend, and whose leader stands in four places.
            pub(super) fn party() -> Party {
                let hero = |name: &str| {
                    $shared::new($cell::new(Hero {
                        name: name.into(),
                        friend: None,
                        foe: $weak::new(),
                    }))
                };
                let (ada, bob) = (hero("Ada"), hero("Bob"));
                write(&ada, |it| it.friend = Some(bob.clone()));
                write(&bob, |it| {
                    it.friend = Some(ada.clone());
                    it.foe = $shared::downgrade(&bob);
                });
                let banner = $shared::new(Banner { colour: 7 });
                let sword = $shared::new($cell::new(Sword { price: 5, owner: Some(ada.clone()) }));
                Party {
                    scout: $shared::downgrade(&bob),
                    heroes: vec![ada.clone(), bob],
                    slot: Slot { content: ada.clone() },
                    leader: ada,
                    flags: vec![banner.clone(), banner.clone()],
                    chest: $shared::new($cell::new(vec![banner.clone()])),
                    banner,
                    items: vec![sword.clone(), sword],
                    relic: Some($shared::new(Sword { price: 9, owner: None })),
                }
            }

            /// Checks that it is such a party, object by object.
            pub(super) fn check(party: &Party) {
                let [ada, bob] = &party.heroes[..] else { panic!("two heroes") };
                assert!($shared::ptr_eq(ada, &party.leader));
                assert!($shared::ptr_eq(ada, &party.slot.content));
                assert!($shared::ptr_eq(bob, &party.scout.upgrade().expect("it is alive")));
                let friend =
                    |of: &Shared<Hero>| read(of, |it| it.friend.clone().expect("it is alive"));
                assert!($shared::ptr_eq(&friend(ada), bob) && $shared::ptr_eq(&friend(bob), ada));
                assert!($shared::ptr_eq(
                    &read(bob, |it| it.foe.upgrade().expect("it is alive")),
                    bob
                ));
                assert!(read(ada, |it| it.foe.upgrade().is_none()));
                assert_eq!(read(ada, |it| it.name.clone()), "Ada");
                assert_eq!(party.banner.colour, 7);
                assert!(party.flags.iter().all(|flag| $shared::ptr_eq(flag, &party.banner)));
                let chest = read(&party.chest, |chest| chest[0].clone());
                assert!($shared::ptr_eq(&chest, &party.banner));
                let [first, second] = &party.items[..] else { panic!("two items") };
                assert!($shared::ptr_eq(first, second));
                assert_eq!(party.relic.as_ref().map(|relic| relic.price()), Some(9));
            }

            /// Frees the cycle of friends.
            pub(super) fn part(party: &Party) {
                party.heroes.iter().for_each(|hero| write(hero, |it| it.friend = None));
            }
        }
    };
}

/// Reaches what is in a cell.
trait Reach<T: ?Sized> {
    fn reach<R>(&self, run: impl FnOnce(&mut T) -> R) -> R;
}

impl<T: ?Sized> Reach<T> for RefCell<T> {
    fn reach<R>(&self, run: impl FnOnce(&mut T) -> R) -> R {
        run(&mut self.borrow_mut())
    }
}

impl<T: ?Sized> Reach<T> for Mutex<T> {
    fn reach<R>(&self, run: impl FnOnce(&mut T) -> R) -> R {
        run(&mut self.lock().expect("no panic"))
    }
}

impl<T: ?Sized> Reach<T> for RwLock<T> {
    fn reach<R>(&self, run: impl FnOnce(&mut T) -> R) -> R {
        run(&mut self.write().expect("no panic"))
    }
}

fn read<T, C: Reach<T>, R>(
    of: &impl std::ops::Deref<Target = C>,
    run: impl FnOnce(&mut T) -> R,
) -> R {
    of.reach(run)
}

fn write<T, C: Reach<T>>(of: &impl std::ops::Deref<Target = C>, run: impl FnOnce(&mut T)) {
    of.reach(run);
}

version! { one_thread Rc Weak RefCell }
version! { mutexes Arc SyncWeak Mutex }
version! { locks Arc SyncWeak RwLock }

/// Loads what one version saved in another, as a value and as an object, and saves it there again.
macro_rules! moves {
    ($($test:ident: $old:ident to $new:ident, $shared:ident $cell:ident;)*) => {$(
        #[test]
        fn $test() {
            let party = $old::party();
            let save = $old::saves().to_vec(&party).unwrap();
            let strict = LoadOptions::new().policy(LoadPolicy::Strict);
            let saves = $new::saves().load_options(strict);
            let loaded = saves.from_slice::<$new::Party>(&save).unwrap();
            assert_eq!(loaded.report().summary().to_string(), "everything was loaded");
            $new::check(&loaded);
            // What is saved now is as if it had never been otherwise.
            let again = saves.to_vec(&*loaded).unwrap();
            let fresh = $new::party();
            assert_eq!(again, saves.to_vec(&fresh).unwrap());
            $new::part(&fresh);
            $new::part(&loaded);
            $old::part(&party);

            let mut manager = $old::saves().manager();
            manager.add(&$old::Shared::new($old::party().into())).unwrap();
            let save = manager.to_vec().unwrap();
            let loaded = saves.manager().from_slice(&save).unwrap();
            let party = loaded.first_pointer::<$new::Shared<$new::Party>>().unwrap();
            read(&party, |party| {
                $new::check(party);
                $new::part(party);
            });
        }
    )*};
}

moves! {
    an_rc_becomes_an_arc_around_a_mutex: one_thread to mutexes, Arc Mutex;
    an_rc_becomes_an_arc_around_a_lock: one_thread to locks, Arc RwLock;
    an_arc_becomes_an_rc: mutexes to one_thread, Rc RefCell;
    a_mutex_becomes_a_lock: mutexes to locks, Arc RwLock;
}

#[test]
fn what_a_mod_left_comes_back_in_the_new_pointer() {
    let hat = |owner| Rc::new(RefCell::new(one_thread::Hat { size: 3, owner }));
    let party = one_thread::party();
    let items = vec![hat(Some(party.leader.clone())) as one_thread::Shared<dyn one_thread::Item>];
    let party = one_thread::Party { items, ..party };
    let saves = one_thread::saves();
    saves.register_as::<one_thread::Hat, dyn one_thread::Item>().unwrap();
    let save = saves.to_vec(&party).unwrap();
    one_thread::part(&party);

    // The mod is not there in the first program that has an `Arc`.
    let saves = mutexes::saves();
    let loaded = saves.from_slice::<mutexes::Party>(&save).unwrap();
    assert_eq!(loaded.items[0].lock().unwrap().price(), 0);
    let save = saves.to_vec(&*loaded).unwrap();
    mutexes::part(&loaded);

    let saves = mutexes::saves();
    saves.register_as::<mutexes::Hat, dyn mutexes::Item>().unwrap();
    let loaded = saves.from_slice::<mutexes::Party>(&save).unwrap();
    assert_eq!(loaded.items[0].lock().unwrap().price(), 3);
    mutexes::part(&loaded);
}

mod kept {
    use super::*;

    #[derive(Persist)]
    #[persist(class = "Team")]
    pub(super) struct WithRival {
        pub(super) captain: Rc<RefCell<Gem>>,
        pub(super) rival: Rc<RefCell<Gem>>,
    }

    #[derive(Persist)]
    #[persist(class = "Team")]
    pub(super) struct WithoutRival {
        pub(super) captain: Arc<Mutex<Gem>>,
    }

    #[derive(Persist)]
    #[persist(class = "Team")]
    pub(super) struct WithRivalAgain {
        pub(super) captain: Arc<Mutex<Gem>>,
        pub(super) rival: Arc<Mutex<Gem>>,
    }
}

#[derive(Persist, Default, Debug, PartialEq)]
struct Gem {
    carat: u8,
}

#[test]
fn a_field_that_is_not_known_follows_its_object_into_the_new_pointer() {
    let gem = Rc::new(RefCell::new(Gem { carat: 3 }));
    let save = persist::to_vec(&kept::WithRival { captain: gem.clone(), rival: gem }).unwrap();
    let saves = Saves::new();
    let team = saves.from_slice::<kept::WithoutRival>(&save).unwrap();
    team.captain.lock().unwrap().carat = 4;
    let save = saves.to_vec(&team).unwrap();
    let team = Saves::new().from_slice::<kept::WithRivalAgain>(&save).unwrap();
    assert!(Arc::ptr_eq(&team.captain, &team.rival));
    assert_eq!(team.rival.lock().unwrap().carat, 4);
}

#[derive(Persist)]
struct Field<P> {
    gem: P,
    other: P,
}

/// Loads two pointers to one object as another type of pointer, and says what became of them.
fn moved<Old, New>(old: Old, prepare: impl Fn(&Saves)) -> persist::Result<Field<New>>
where
    Old: Persist + Clone,
    New: Persist,
{
    let save = persist::to_vec(&Field { gem: old.clone(), other: old })?;
    let saves = Saves::new();
    prepare(&saves);
    Ok(saves.from_slice::<Field<New>>(&save)?.into_inner())
}

#[test]
fn a_value_gets_a_cell_or_loses_it() {
    let gem = || Gem { carat: 5 };
    let found = moved::<_, Arc<Gem>>(Rc::new(gem()), |_| ()).unwrap();
    assert!(Arc::ptr_eq(&found.gem, &found.other));
    let found = moved::<_, Arc<Mutex<Gem>>>(Rc::new(gem()), |_| ()).unwrap();
    assert!(Arc::ptr_eq(&found.gem, &found.other));
    let found = moved::<_, Arc<Gem>>(Rc::new(RefCell::new(gem())), |_| ()).unwrap();
    assert!(Arc::ptr_eq(&found.gem, &found.other) && *found.gem == gem());
    let found = moved::<_, Arc<Mutex<u8>>>(Rc::new(Cell::new(7_u8)), |_| ()).unwrap();
    assert_eq!(*found.other.lock().unwrap(), 7);
    // The value inside may change, too.
    let found = moved::<_, Arc<RwLock<Vec<u64>>>>(Rc::new(RefCell::new(vec![7_u8])), |_| ());
    assert_eq!(*found.unwrap().gem.read().unwrap(), [7]);
}

#[test]
fn a_class_that_is_registered_in_the_old_pointer_moves_where_the_fields_say_so() {
    let old = || Rc::new(RefCell::new(Gem { carat: 5 }));
    let found = moved::<_, Arc<Mutex<Gem>>>(old(), |saves| {
        saves.register::<Gem>().unwrap();
        saves.register_pointer::<Arc<RwLock<Gem>>>().unwrap();
        saves.register_pointer::<Arc<Gem>>().unwrap();
    })
    .unwrap();
    assert!(Arc::ptr_eq(&found.gem, &found.other));
}

#[derive(Persist)]
#[persist(class = "Both")]
struct BothThen {
    gem: Rc<RefCell<Gem>>,
    other: Rc<RefCell<Gem>>,
}

#[derive(Persist)]
#[persist(class = "Both")]
struct BothNow {
    gem: Rc<RefCell<Gem>>,
    other: Arc<Mutex<Gem>>,
}

#[test]
fn one_object_does_not_become_two() {
    let gem = Rc::new(RefCell::new(Gem { carat: 5 }));
    let save = persist::to_vec(&BothThen { gem: gem.clone(), other: gem }).unwrap();
    let error = persist::from_slice::<BothNow>(&save).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::KindMismatch);
    assert!(error.to_string().contains("all fields"), "{error}");
}

#[derive(Persist)]
#[persist(class = "Link")]
struct OpenLink {
    next: Option<Rc<RefCell<OpenLink>>>,
}

#[derive(Persist)]
#[persist(class = "Link")]
struct BareLink {
    next: Option<Arc<BareLink>>,
}

#[test]
fn a_cycle_keeps_its_cells_and_a_chain_needs_none() {
    let last = Rc::new(RefCell::new(OpenLink { next: None }));
    let first = OpenLink { next: Some(last.clone()) };
    let save = persist::to_vec(&first).unwrap();
    let loaded = persist::from_slice::<BareLink>(&save).unwrap();
    assert!(loaded.next.unwrap().next.is_none());

    last.borrow_mut().next = Some(last.clone());
    let save = persist::to_vec(&first).unwrap();
    last.borrow_mut().next = None;
    let error = persist::from_slice::<BareLink>(&save).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
}

mod parts {
    use super::*;

    #[derive(Persist)]
    #[persist(class = "Sheath")]
    pub(super) struct Then {
        pub(super) gem: Arc<Mutex<Gem>>,
    }

    #[derive(Persist)]
    #[persist(class = "Sheath")]
    pub(super) struct Now {
        pub(super) gem: Arc<RwLock<Gem>>,
    }

    impl Component for Then {}
    impl Component for Now {}
}

#[test]
fn objects_that_components_share_move_too() {
    let mut world = World::new();
    let gem = Arc::new(Mutex::new(Gem { carat: 8 }));
    let objects =
        [(); 2].map(|()| world.spawn_with("Ada", (parts::Then { gem: gem.clone() },)).unwrap());
    let save = persist::to_vec(&world).unwrap();
    let saves = Saves::new();
    saves.register_component::<parts::Now>().unwrap();
    let world = saves.from_slice::<World>(&save).unwrap();
    let [first, second] = objects.map(|object| world.get::<parts::Now>(object).unwrap());
    assert!(Arc::ptr_eq(&first.gem, &second.gem));
    assert_eq!(first.gem.read().unwrap().carat, 8);
}

#[test]
fn objects_of_a_manager_move_without_a_field_that_says_so() {
    let mut manager = SaveManager::new();
    let gems = [1, 2].map(|carat| Rc::new(RefCell::new(Gem { carat })));
    let ids = gems.each_ref().map(|gem| manager.add(gem).unwrap());
    let save = manager.to_vec().unwrap();
    let manager = SaveManager::new();
    manager.saves().register_pointer::<Arc<Mutex<Gem>>>().unwrap();
    let loaded = manager.from_slice(&save).unwrap();
    assert_eq!(loaded.pointer::<Arc<Mutex<Gem>>>(ids[1]).unwrap().lock().unwrap().carat, 2);
    assert_eq!(loaded.pointers::<Arc<Mutex<Gem>>>().count(), 2);
}
