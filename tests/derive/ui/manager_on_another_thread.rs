use persist::SaveManager;

fn on_another_thread(work: impl FnOnce() + Send + 'static) {
    std::thread::spawn(work);
}

fn main() {
    let manager = SaveManager::new();
    on_another_thread(move || drop(manager.save("slot1.sav")));
}
