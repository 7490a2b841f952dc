//! The code beside a trait whose trait objects can be saved.

/// What `#[persist::dynamic]` puts beside a trait, for each of its trait objects.
///
/// It stands where the library is known as `_persist`; tokens that have been moved
/// have no `$crate`.
#[doc(hidden)]
#[macro_export]
macro_rules! __dynamic {
    ($name:expr, ($($bounds:tt)*), $object:ty $(, unknown $stand_in:ty)?) => {
        $crate::__private::at_one_place! { ($object)
            impl _persist::codec::TraitObject for $object {
                const NAME: &'static _persist::__private::std::primitive::str = $name;

                fn portable(&self) -> &dyn _persist::codec::Portable {
                    _persist::codec::Dynamic::__portable(self)
                }

                fn portable_mut(&mut self) -> &mut dyn _persist::codec::Portable {
                    _persist::codec::Dynamic::__portable_mut(self)
                }
                $(
                    fn stand_in() -> _persist::__private::std::option::Option<_persist::codec::StandIn<Self>> {
                        _persist::__private::std::option::Option::Some(
                            _persist::codec::StandIn::of::<$stand_in>(),
                        )
                    }
                )?
            }

            impl _persist::codec::Content for $object {
                type As = _persist::codec::AsTrait;
            }

            impl _persist::Pointee for $object {
                type As = _persist::codec::AsTrait;
            }

            impl<__T: _persist::Persist + $($bounds)*> _persist::codec::Implements<__T> for $object {
                fn boxed(value: _persist::__private::std::boxed::Box<__T>) -> _persist::__private::std::boxed::Box<Self> {
                    value
                }
                fn rc(value: _persist::__private::std::rc::Rc<__T>) -> _persist::__private::std::rc::Rc<Self> {
                    value
                }
                fn arc(value: _persist::__private::std::sync::Arc<__T>) -> _persist::__private::std::sync::Arc<Self> {
                    value
                }
                fn weak(value: _persist::__private::std::rc::Weak<__T>) -> _persist::__private::std::rc::Weak<Self> {
                    value
                }
                fn sync_weak(value: _persist::__private::std::sync::Weak<__T>) -> _persist::__private::std::sync::Weak<Self> {
                    value
                }
                fn rc_ref_cell(value: _persist::__private::std::rc::Rc<_persist::__private::std::cell::RefCell<__T>>) -> _persist::__private::std::rc::Rc<_persist::__private::std::cell::RefCell<Self>> {
                    value
                }
                fn arc_ref_cell(value: _persist::__private::std::sync::Arc<_persist::__private::std::cell::RefCell<__T>>) -> _persist::__private::std::sync::Arc<_persist::__private::std::cell::RefCell<Self>> {
                    value
                }
                fn weak_ref_cell(value: _persist::__private::std::rc::Weak<_persist::__private::std::cell::RefCell<__T>>) -> _persist::__private::std::rc::Weak<_persist::__private::std::cell::RefCell<Self>> {
                    value
                }
                fn sync_weak_ref_cell(value: _persist::__private::std::sync::Weak<_persist::__private::std::cell::RefCell<__T>>) -> _persist::__private::std::sync::Weak<_persist::__private::std::cell::RefCell<Self>> {
                    value
                }
                fn rc_mutex(value: _persist::__private::std::rc::Rc<_persist::__private::std::sync::Mutex<__T>>) -> _persist::__private::std::rc::Rc<_persist::__private::std::sync::Mutex<Self>> {
                    value
                }
                fn arc_mutex(value: _persist::__private::std::sync::Arc<_persist::__private::std::sync::Mutex<__T>>) -> _persist::__private::std::sync::Arc<_persist::__private::std::sync::Mutex<Self>> {
                    value
                }
                fn weak_mutex(value: _persist::__private::std::rc::Weak<_persist::__private::std::sync::Mutex<__T>>) -> _persist::__private::std::rc::Weak<_persist::__private::std::sync::Mutex<Self>> {
                    value
                }
                fn sync_weak_mutex(value: _persist::__private::std::sync::Weak<_persist::__private::std::sync::Mutex<__T>>) -> _persist::__private::std::sync::Weak<_persist::__private::std::sync::Mutex<Self>> {
                    value
                }
                fn rc_rw_lock(value: _persist::__private::std::rc::Rc<_persist::__private::std::sync::RwLock<__T>>) -> _persist::__private::std::rc::Rc<_persist::__private::std::sync::RwLock<Self>> {
                    value
                }
                fn arc_rw_lock(value: _persist::__private::std::sync::Arc<_persist::__private::std::sync::RwLock<__T>>) -> _persist::__private::std::sync::Arc<_persist::__private::std::sync::RwLock<Self>> {
                    value
                }
                fn weak_rw_lock(value: _persist::__private::std::rc::Weak<_persist::__private::std::sync::RwLock<__T>>) -> _persist::__private::std::rc::Weak<_persist::__private::std::sync::RwLock<Self>> {
                    value
                }
                fn sync_weak_rw_lock(value: _persist::__private::std::sync::Weak<_persist::__private::std::sync::RwLock<__T>>) -> _persist::__private::std::sync::Weak<_persist::__private::std::sync::RwLock<Self>> {
                    value
                }
            }
        }
    };
}
