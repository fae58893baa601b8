//! Errors and warnings of `submit`, as a user calls it.

use super::door::{decisions, grid, run_until, submit};
use crate::verbs::{printed, yardmaster};
use std::fs;
use std::path::Path;
use tempfile::TempDir;

const ID: [&str; 2] = ["--job-id", "mine"];
const AT_A: [&str; 2] = ["-c", "ce-a"];

/// A submission that must be refused as wrong use, with some words.
fn refused(dir: &Path, file: &Path, more: &[&str], says: &[&str]) {
    let (code, shown, errors) = submit(dir, file, more);
    assert_eq!((code, shown.as_str()), (Some(2), ""), "{errors}");
    says.iter().for_each(|part| assert!(errors.contains(part), "{part} is not in {errors}"));
}

/// One job is published and answered; then everything that is wrong about another.
#[test]
fn an_id_that_was_used_and_a_description_that_is_too_long_are_refused_dry_or_not() {
    let scratch = TempDir::new().unwrap();
    let (dir, file) = (scratch.path().join("yard"), scratch.path().join("job.xrsl"));
    grid(&dir);
    fs::write(&file, "&(executable=a)(foo=bar)(Count_t=4)").unwrap();
    let (code, shown, errors) = submit(&dir, &file, &[&AT_A[..], &ID].concat());
    assert_eq!((code, shown.as_str()), (Some(0), "mine\n"), "{errors}");
    let warning = "job.xrsl: unknown attributes are ignored: foo, countt";
    assert!(errors.contains(warning), "{errors}");

    // Known from the topic task alone, then from its answer as well.
    let used = ["--job-id mine", "--again mine", "another id"];
    refused(&dir, &file, &[&AT_A[..], &ID].concat(), &used);
    run_until(&dir, 1);
    refused(&dir, &file, &[&AT_A[..], &ID].concat(), &used);
    refused(&dir, &file, &[&AT_A[..], &ID, &["--dry-run"]].concat(), &used);
    assert_eq!(decisions(&dir).len(), 1);

    let (code, shown, errors) = submit(&dir, &file, &["-c", "CE-A", "--dry-run"]);
    assert!(code == Some(0) && errors.contains(warning), "{errors}");
    assert!(
        shown.contains("note: attributes that nothing reads: foo, countt (unknown_attribute)"),
        "{shown}"
    );
    assert!(shown.contains("chosen by only_candidate: "), "{shown}");

    // With all that goes round it, the record is longer than what is read.
    let comment = format!("&(executable=a)(* {} *)", "x".repeat((1 << 20) - 100));
    fs::write(&file, comment).unwrap();
    for more in [&AT_A[..], &["-c", "ce-a", "--dry-run"]] {
        refused(&dir, &file, more, &["max_record_bytes", "shorten the description"]);
    }
}

#[test]
fn a_file_that_is_no_description_is_refused_with_the_place() {
    let scratch = TempDir::new().unwrap();
    let (dir, file) = (scratch.path().join("yard"), scratch.path().join("job.xrsl"));
    grid(&dir);
    let bytes = |bytes: &[u8]| fs::write(&file, bytes).unwrap();
    bytes(b"&(executable=a)\n(jobname=\"na\xefve\")");
    refused(&dir, &file, &AT_A, &["job.xrsl:2:13:", "0xef", "UTF-8"]);
    bytes("&(executable=ä)\n(jobname=\"ä".as_bytes());
    fs::write(&file, [fs::read(&file).unwrap(), vec![0xff]].concat()).unwrap();
    refused(&dir, &file, &AT_A, &["job.xrsl:2:12:", "0xff"]);
    bytes(&[b' '; (1 << 20) + 1]);
    refused(&dir, &file, &AT_A, &["1,048,576 bytes", "too_long"]);
    refused(&dir, Path::new("/dev/zero"), &AT_A, &["/dev/zero", "1,048,576 bytes"]);
    refused(&dir, scratch.path(), &AT_A, &["--xrsl", "name a readable file"]);

    // A mark of the byte order is no part of the text.
    bytes("\u{feff}&(executable=a)(count=x)".as_bytes());
    refused(&dir, &file, &AT_A, &["job.xrsl:1:17:", "not_integer"]);
    bytes("\u{feff}&(executable=a)".as_bytes());
    let (code, _, errors) = submit(&dir, &file, &AT_A);
    assert_eq!(code, Some(0), "{errors}");
    let at = ["--topology", "nordugrid", "--dir", dir.to_str().unwrap()];
    let args = ["submit", "--again", "none", "-k", "ce-a"];
    let (code, _, errors) = printed(&yardmaster(&[&args[..], &at].concat()));
    assert!(code == Some(1) && errors.contains("no record of such a job"), "{errors}");
}

#[test]
fn a_list_without_a_name_is_refused() {
    let scratch = TempDir::new().unwrap();
    let (dir, file) = (scratch.path().join("yard"), scratch.path().join("job.xrsl"));
    let list = scratch.path().join("list");
    grid(&dir);
    fs::write(&file, "&(executable=a)").unwrap();
    fs::write(&list, "# nothing\n\n").unwrap();
    let list = list.to_str().unwrap();
    refused(&dir, &file, &["-G", list], &["-G", list, "no name"]);
    refused(&dir, &file, &["-g", "index", "-G", list], &["-G", list, "no name"]);
    refused(&dir, &file, &["-C", list, "-g", "index"], &["-C", list, "no name"]);
    refused(&dir, &file, &["-C", "/dev/zero"], &["-C /dev/zero", "1,048,576 bytes"]);
    let at = ["--topology", "nordugrid", "--dir", dir.to_str().unwrap()];
    let args = ["submit", "--again", "none", "-g", "index", "-K", list];
    let (code, _, errors) = printed(&yardmaster(&[&args[..], &at].concat()));
    assert!(code == Some(2) && errors.contains("no name"), "{errors}");
}
