//! Every relative link of the Markdown pages leads to a file that is there, and to a heading in it.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

use crate::repository::{pages, prose, root};

/// The targets of the links and pictures in a line.
fn targets(line: &str) -> impl Iterator<Item = &str> {
    let inline =
        line.split("](").skip(1).filter_map(|rest| rest.split_once(')').map(|(target, _)| target));
    let listed =
        line.strip_prefix('[').and_then(|rest| rest.split_once("]: ")).map(|(_, target)| target);
    inline.chain(listed)
}

/// The anchors of a page, as GitHub and mdBook make them of its headings.
fn anchors(page: &str) -> BTreeSet<String> {
    let mut given: HashMap<String, usize> = HashMap::new();
    let mut anchors = BTreeSet::new();
    for line in prose(page).lines().filter(|line| line.starts_with('#')) {
        let heading = line.trim_start_matches('#').trim().to_lowercase();
        let kept =
            heading.chars().filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter));
        let anchor = kept.collect::<String>().replace(' ', "-");
        let before = given.entry(anchor.clone()).or_default();
        anchors.insert(if *before == 0 { anchor } else { format!("{anchor}-{before}") });
        *before += 1;
    }
    anchors
}

/// What is wrong with a link of a page, if something is.
fn fault(page: &Path, target: &str) -> Option<String> {
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    let file = match path {
        "" => page.to_owned(),
        _ => page.parent()?.join(path),
    };
    let Ok(file) = file.canonicalize() else {
        return Some("there is no such file".to_owned());
    };
    if anchor.is_empty() {
        return None;
    }
    if file.extension().is_none_or(|extension| extension != "md") {
        return Some("only a Markdown page has headings".to_owned());
    }
    let anchors = anchors(&fs::read_to_string(file).ok()?);
    (!anchors.contains(anchor)).then(|| format!("no heading is #{anchor}; there are {anchors:?}"))
}

#[test]
fn every_link_leads_somewhere() {
    let (mut count, mut faults) = (0, Vec::new());
    for page in pages() {
        let text = fs::read_to_string(&page).expect("a page that can be read");
        for (number, line) in prose(&text).lines().enumerate() {
            for target in targets(line).filter(|target| !target.starts_with("http")) {
                count += 1;
                if let Some(fault) = fault(&page, target) {
                    faults.push(format!("{}:{}: {target}: {fault}", page.display(), number + 1));
                }
            }
        }
    }
    assert!(count > 50, "{count} links");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn headings_get_the_anchors_that_sites_give_them() {
    let page =
        "# `default`\n## A: b, c & d\n```text\n# no heading\n```\n### `default`\n### rename_all\n";
    let anchors: Vec<_> = anchors(page).into_iter().collect();
    assert_eq!(anchors, ["a-b-c--d", "default", "default-1", "rename_all"]);
}

#[test]
fn links_to_files_and_headings_that_are_not_there_are_found() {
    let page = root().join("docs/reference/format.md");
    assert_eq!(fault(&page, "reader.py"), None);
    assert_eq!(fault(&page, "#limits"), None);
    assert_eq!(fault(&page, "../internals/style.md#prose"), None);
    assert!(fault(&page, "gone.md").is_some());
    assert!(fault(&page, "#gone").is_some());
    assert!(fault(&page, "reader.py#limits").is_some());
    let line = "[a](b.md), ![c](d.svg) and [`e`](f.md#g)";
    assert_eq!(targets(line).collect::<Vec<_>>(), ["b.md", "d.svg", "f.md#g"]);
}

/// The pages of a table of contents, by their paths in `docs`.
fn contents(summary: &str) -> Vec<PathBuf> {
    let docs = root().join("docs").canonicalize().expect("the folder of the pages");
    let summary = root().join(summary);
    let folder = summary.parent().expect("a folder");
    let text = fs::read_to_string(&summary).expect("a table of contents");
    let mut found = Vec::new();
    for target in text.lines().flat_map(targets) {
        let page = folder.join(target).canonicalize().expect("a page that is there");
        found.push(page.strip_prefix(&docs).expect("a page in docs").to_owned());
    }
    found
}

#[test]
fn the_table_of_contents_has_every_page_once() {
    let listed = contents("docs/guide/SUMMARY.md");
    // mdBook wants its own beside the folders, with other paths.
    assert_eq!(contents("docs/SUMMARY.md"), listed);
    let docs = root().join("docs");
    let pages =
        pages().into_iter().filter_map(|page| page.strip_prefix(&docs).ok().map(Path::to_owned));
    let pages: Vec<_> = pages.filter(|page| !page.ends_with("SUMMARY.md")).collect();
    let mut sorted = listed.clone();
    sorted.sort();
    assert_eq!(sorted, pages, "docs/guide/SUMMARY.md and docs/SUMMARY.md list every page of docs");
}
