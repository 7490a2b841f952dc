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
            impl _persist::TraitObject for $object {
                const NAME: &'static _persist::str = $name;

                fn portable(&self) -> &dyn _persist::Portable {
                    _persist::Dynamic::__portable(self)
                }

                fn portable_mut(&mut self) -> &mut dyn _persist::Portable {
                    _persist::Dynamic::__portable_mut(self)
                }
                $(
                    fn stand_in() -> _persist::Option<_persist::StandIn<Self>> {
                        _persist::Option::Some(
                            _persist::StandIn::of::<$stand_in>(),
                        )
                    }
                )?
            }

            impl _persist::Content for $object {
                type As = _persist::AsTrait;
            }

            impl _persist::Pointee for $object {
                type As = _persist::AsTrait;
            }

            impl<__T: _persist::Persist + $($bounds)*> _persist::Implements<__T> for $object {
                fn boxed(value: _persist::std::boxed::Box<__T>) -> _persist::std::boxed::Box<Self> {
                    value
                }
                fn rc(pointer: _persist::RcTo<__T>) -> _persist::RcTo<Self> {
                    match pointer {
                        _persist::RcTo::Bare(__pointer) => _persist::RcTo::Bare(__pointer),
                        _persist::RcTo::RefCell(__pointer) => _persist::RcTo::RefCell(__pointer),
                        _persist::RcTo::Mutex(__pointer) => _persist::RcTo::Mutex(__pointer),
                        _persist::RcTo::RwLock(__pointer) => _persist::RcTo::RwLock(__pointer),
                        _persist::RcTo::WeakBare(__pointer) => _persist::RcTo::WeakBare(__pointer),
                        _persist::RcTo::WeakRefCell(__pointer) => _persist::RcTo::WeakRefCell(__pointer),
                        _persist::RcTo::WeakMutex(__pointer) => _persist::RcTo::WeakMutex(__pointer),
                        _persist::RcTo::WeakRwLock(__pointer) => _persist::RcTo::WeakRwLock(__pointer),
                    }
                }
                fn arc(pointer: _persist::ArcTo<__T>) -> _persist::ArcTo<Self> {
                    match pointer {
                        _persist::ArcTo::Bare(__pointer) => _persist::ArcTo::Bare(__pointer),
                        _persist::ArcTo::RefCell(__pointer) => _persist::ArcTo::RefCell(__pointer),
                        _persist::ArcTo::Mutex(__pointer) => _persist::ArcTo::Mutex(__pointer),
                        _persist::ArcTo::RwLock(__pointer) => _persist::ArcTo::RwLock(__pointer),
                        _persist::ArcTo::WeakBare(__pointer) => _persist::ArcTo::WeakBare(__pointer),
                        _persist::ArcTo::WeakRefCell(__pointer) => _persist::ArcTo::WeakRefCell(__pointer),
                        _persist::ArcTo::WeakMutex(__pointer) => _persist::ArcTo::WeakMutex(__pointer),
                        _persist::ArcTo::WeakRwLock(__pointer) => _persist::ArcTo::WeakRwLock(__pointer),
                    }
                }
            }
        }
    };
}
