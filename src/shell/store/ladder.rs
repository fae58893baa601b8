//! Opens a store that may be damaged: as it is, then without sled's snapshots, then empty.

use super::dir::StoreDir;
use super::open::{Trouble, open};
use yardmaster_drive::port::StoreError;

/// Opens; when that fails, without sled's snapshots; when that fails too, moves the directory
/// aside and begins an empty one. Each step is noted in `notices`.
pub(super) fn open_or_rebuild(
    store_dir: StoreDir,
    notices: &mut Vec<String>,
) -> Result<(StoreDir, sled::Db), StoreError> {
    let what = match open(store_dir.dir()) {
        Ok(db) => return Ok((store_dir, db)),
        Err(Trouble::Damage(what)) => what,
        Err(world) => return Err(world.stop(store_dir.dir(), "opening")),
    };
    let removed = store_dir.remove_snapshots()?;
    if removed.is_empty() {
        return begin_empty(store_dir, &what, notices);
    }
    notices.push(format!(
        "store: {} does not open ({what}); removed sled's {} and trying again",
        store_dir.dir().display(),
        removed.join(", ")
    ));
    match open(store_dir.dir()) {
        Ok(db) => Ok((store_dir, db)),
        Err(Trouble::Damage(what)) => begin_empty(store_dir, &what, notices),
        Err(world) => Err(world.stop(store_dir.dir(), "opening")),
    }
}

/// Moves a damaged store aside and opens an empty one in its place.
pub(super) fn begin_empty(
    store_dir: StoreDir,
    what: &str,
    notices: &mut Vec<String>,
) -> Result<(StoreDir, sled::Db), StoreError> {
    let dir = store_dir.dir().to_path_buf();
    let (store_dir, aside) = store_dir.move_aside()?;
    notices.push(format!(
        "store: {} is damaged ({what}); moved to {}, rebuilt from the log",
        dir.display(),
        aside.display()
    ));
    let db = open(store_dir.dir()).map_err(|trouble| trouble.stop(&dir, "opening"))?;
    Ok((store_dir, db))
}
