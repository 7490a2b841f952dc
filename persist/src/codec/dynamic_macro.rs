//! The code beside a trait whose trait objects can be saved.

/// What `#[persist::dynamic]` puts beside a trait, for each of its trait objects.
#[doc(hidden)]
#[macro_export]
macro_rules! __dynamic {
    ($name:expr, ($($bounds:tt)*), $object:ty $(, unknown $stand_in:ty)?) => {
        impl $crate::codec::TraitObject for $object {
            const NAME: &'static str = $name;

            fn portable(&self) -> &dyn $crate::codec::Portable {
                $crate::codec::Dynamic::__portable(self)
            }

            fn portable_mut(&mut self) -> &mut dyn $crate::codec::Portable {
                $crate::codec::Dynamic::__portable_mut(self)
            }
            $(
                fn stand_in() -> $crate::__private::std::option::Option<$crate::codec::StandIn<Self>> {
                    $crate::__private::std::option::Option::Some($crate::codec::StandIn::of::<$stand_in>())
                }
            )?
        }

        impl $crate::codec::Content for $object {
            type As = $crate::codec::AsTrait;
        }

        impl $crate::Pointee for $object {
            type As = $crate::codec::AsTrait;
        }

        impl<__T: $crate::Persist + $($bounds)*> $crate::codec::Implements<__T> for $object {
            fn boxed(value: $crate::__private::std::boxed::Box<__T>) -> $crate::__private::std::boxed::Box<Self> {
                value
            }
            fn rc(value: $crate::__private::std::rc::Rc<__T>) -> $crate::__private::std::rc::Rc<Self> {
                value
            }
            fn arc(value: $crate::__private::std::sync::Arc<__T>) -> $crate::__private::std::sync::Arc<Self> {
                value
            }
            fn weak(value: $crate::__private::std::rc::Weak<__T>) -> $crate::__private::std::rc::Weak<Self> {
                value
            }
            fn sync_weak(value: $crate::__private::std::sync::Weak<__T>) -> $crate::__private::std::sync::Weak<Self> {
                value
            }
            fn rc_ref_cell(value: $crate::__private::std::rc::Rc<$crate::__private::std::cell::RefCell<__T>>) -> $crate::__private::std::rc::Rc<$crate::__private::std::cell::RefCell<Self>> {
                value
            }
            fn arc_ref_cell(value: $crate::__private::std::sync::Arc<$crate::__private::std::cell::RefCell<__T>>) -> $crate::__private::std::sync::Arc<$crate::__private::std::cell::RefCell<Self>> {
                value
            }
            fn weak_ref_cell(value: $crate::__private::std::rc::Weak<$crate::__private::std::cell::RefCell<__T>>) -> $crate::__private::std::rc::Weak<$crate::__private::std::cell::RefCell<Self>> {
                value
            }
            fn sync_weak_ref_cell(value: $crate::__private::std::sync::Weak<$crate::__private::std::cell::RefCell<__T>>) -> $crate::__private::std::sync::Weak<$crate::__private::std::cell::RefCell<Self>> {
                value
            }
            fn rc_mutex(value: $crate::__private::std::rc::Rc<$crate::__private::std::sync::Mutex<__T>>) -> $crate::__private::std::rc::Rc<$crate::__private::std::sync::Mutex<Self>> {
                value
            }
            fn arc_mutex(value: $crate::__private::std::sync::Arc<$crate::__private::std::sync::Mutex<__T>>) -> $crate::__private::std::sync::Arc<$crate::__private::std::sync::Mutex<Self>> {
                value
            }
            fn weak_mutex(value: $crate::__private::std::rc::Weak<$crate::__private::std::sync::Mutex<__T>>) -> $crate::__private::std::rc::Weak<$crate::__private::std::sync::Mutex<Self>> {
                value
            }
            fn sync_weak_mutex(value: $crate::__private::std::sync::Weak<$crate::__private::std::sync::Mutex<__T>>) -> $crate::__private::std::sync::Weak<$crate::__private::std::sync::Mutex<Self>> {
                value
            }
            fn rc_rw_lock(value: $crate::__private::std::rc::Rc<$crate::__private::std::sync::RwLock<__T>>) -> $crate::__private::std::rc::Rc<$crate::__private::std::sync::RwLock<Self>> {
                value
            }
            fn arc_rw_lock(value: $crate::__private::std::sync::Arc<$crate::__private::std::sync::RwLock<__T>>) -> $crate::__private::std::sync::Arc<$crate::__private::std::sync::RwLock<Self>> {
                value
            }
            fn weak_rw_lock(value: $crate::__private::std::rc::Weak<$crate::__private::std::sync::RwLock<__T>>) -> $crate::__private::std::rc::Weak<$crate::__private::std::sync::RwLock<Self>> {
                value
            }
            fn sync_weak_rw_lock(value: $crate::__private::std::sync::Weak<$crate::__private::std::sync::RwLock<__T>>) -> $crate::__private::std::sync::Weak<$crate::__private::std::sync::RwLock<Self>> {
                value
            }
        }
    };
}
