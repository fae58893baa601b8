//! Opens a store that may be damaged: as it is, then without sled's snapshots, then empty.

use super::open::{Trouble, open};
use super::place::Place;
use crate::drive::port::StoreError;

/// Opens; when that fails, without sled's snapshots; when that fails too, moves the directory
/// aside and begins an empty one. Each step is noted in `notices`.
pub(super) fn open_or_rebuild(
    place: Place,
    notices: &mut Vec<String>,
) -> Result<(Place, sled::Db), StoreError> {
    let what = match open(place.dir()) {
        Ok(db) => return Ok((place, db)),
        Err(Trouble::Damage(what)) => what,
        Err(world) => return Err(world.stop(place.dir(), "opening")),
    };
    let removed = place.remove_snapshots()?;
    if removed.is_empty() {
        return begin_empty(place, &what, notices);
    }
    notices.push(format!(
        "store: {} does not open ({what}); removed sled's {} and trying again",
        place.dir().display(),
        removed.join(", ")
    ));
    match open(place.dir()) {
        Ok(db) => Ok((place, db)),
        Err(Trouble::Damage(what)) => begin_empty(place, &what, notices),
        Err(world) => Err(world.stop(place.dir(), "opening")),
    }
}

/// Moves a damaged store aside and opens an empty one in its place.
pub(super) fn begin_empty(
    place: Place,
    what: &str,
    notices: &mut Vec<String>,
) -> Result<(Place, sled::Db), StoreError> {
    let dir = place.dir().to_path_buf();
    let (place, aside) = place.move_aside()?;
    notices.push(format!(
        "store: {} is damaged ({what}); moved to {}, rebuilt from the log",
        dir.display(),
        aside.display()
    ));
    let db = open(place.dir()).map_err(|trouble| trouble.stop(&dir, "opening"))?;
    Ok((place, db))
}
