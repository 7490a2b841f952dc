//! Bugs that were fixed, a file each.

mod bad_fields_are_named;
mod buffered_writer;
mod default_with_a_pointer;
mod factory_of_a_value;
mod first_save_by_another_path;
mod forgotten_registration;
mod freed_once;
mod generation_after_a_panic;
mod header_of_no_save;
mod kept_and_converted;
mod kept_objects_and_circles;
mod kept_of_a_value;
mod kept_parts_of_a_moved_value;
mod kept_variant_of_an_older_version;
mod kept_variant_under_an_alias;
mod keys_that_stand_twice;
mod local_types_of_one_name;
mod lock_matches_as_a_load;
mod lock_texts_to_variants;
mod lock_untested_changes;
mod markers_in_generics;
mod memory_in_boxes;
mod memory_out_of_proportion;
mod newer_version_of_the_same_fields;
mod newtypes_of_other_units;
mod none_for_what_is_inside;
mod panics_of_a_storage;
mod pointers_of_a_map;
mod salvage_before_backups;
mod salvage_of_saves_in_a_save;
#[cfg(unix)]
mod save_onto_a_pipe;
mod saves_that_did_not_load;
mod unreached_objects;
mod weak_pointer_to_a_value;
mod with_module_of_its_own_type;
