//! What belongs to one domain alone, a folder each, and in it the rooms of the core again: the part
//! of `judge` that is CMS's lies in `cms/judge`, and stands as high as `judge`.
//!
//! No domain names another. What is general names a domain only where the two are joined: the files
//! of the list `JOINS` in `tests/it/tidy/domains.rs`.

pub mod atlas;
pub mod cms;
pub mod nordugrid;
pub mod own;
