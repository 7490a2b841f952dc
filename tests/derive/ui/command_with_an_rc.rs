use std::cell::RefCell;
use std::rc::Rc;

use persist::history::CommandEdit;
use persist::{Command, History, Result, World};

struct Log(Rc<RefCell<Vec<String>>>);

impl Command for Log {
    fn apply(&mut self, _: &mut CommandEdit<'_>) -> Result<()> {
        self.0.borrow_mut().push("applied".into());
        Ok(())
    }

    fn undo(&mut self, _: &mut World) -> Result<()> {
        Ok(())
    }
}

fn main() {
    let log = Rc::new(RefCell::new(Vec::new()));
    let mut history = History::<World>::new(10);
    let events = Rc::clone(&log);
    history.subscribe(move |event, _| events.borrow_mut().push(format!("{event:?}")));
}
