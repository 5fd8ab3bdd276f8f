//! Files that import each other in a circle, re-exports counted: `use super::X` of a name that the parent only passes on is an import of
//! the parent. A circle can only be read as a whole, so that none may grow.

use super::source::{Source, sources};
use regex::Regex;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

/// Files of the largest circle.
const LARGEST: usize = 5;
/// How many circles there are.
const COUNT: usize = 2;

type Module = Vec<String>;
type Graph = BTreeMap<Module, BTreeSet<Module>>;

/// The module of a file: its crate, then its path.
fn module(path: &str) -> Module {
    let path = path.trim_end_matches(".rs").trim_end_matches("/mod");
    path.split('/').map(str::to_owned).collect()
}

/// The paths of an import, groups taken apart.
fn paths(tree: &str, before: &[String], out: &mut Vec<Module>) {
    let (head, group) = match tree.split_once('{') {
        Some((head, group)) => (head, Some(group.trim_end().trim_end_matches('}'))),
        None => (tree, None),
    };
    let words = head
        .split("::")
        .map(str::trim)
        .filter(|word| !word.is_empty());
    let words = words.map(|word| {
        word.split_whitespace()
            .next()
            .unwrap_or_default()
            .to_owned()
    });
    let path: Module = before.iter().cloned().chain(words).collect();
    let Some(group) = group else {
        return out.push(path);
    };
    let (mut depth, mut start) = (0, 0);
    for (at, c) in group.char_indices().chain([(group.len(), ',')]) {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                if !group[start..at].trim().is_empty() {
                    paths(group[start..at].trim(), &path, out);
                }
                start = at + 1;
            }
            _ => {}
        }
    }
}

/// Where a path leads from a module: the module that it names, or the one that holds what it names.
fn target(from: &Module, path: &[String], graph: &Graph) -> Option<Module> {
    let own_crate = &from[..1];
    let mut whole = match path.first()?.as_str() {
        "crate" => [own_crate, &path[1..]].concat(),
        "self" => [from, &path[1..]].concat(),
        "super" => {
            let ups = path.iter().take_while(|word| *word == "super").count();
            [&from[..from.len().checked_sub(ups)?], &path[ups..]].concat()
        }
        child => {
            let inner = [from.as_slice(), &[child.to_owned()]].concat();
            graph.contains_key(&inner).then(|| [from, path].concat())?
        }
    };
    while whole.len() > 1 && !graph.contains_key(&whole) {
        whole.pop();
    }
    (whole.len() > 1 && whole != *from).then_some(whole)
}

fn graph(sources: &[Source]) -> Graph {
    static USE: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"(?m)^\s*(?:pub(?:\([^)]*\))? )?use ([^;]+);").unwrap());
    let is_module = |source: &&Source| {
        !source.code.is_empty() && !source.path.ends_with("/lib.rs") && source.path != "main.rs"
    };
    let mut graph: Graph = sources
        .iter()
        .filter(is_module)
        .map(|source| (module(&source.path), BTreeSet::new()))
        .collect();
    for source in sources.iter().filter(is_module) {
        let from = module(&source.path);
        let mut found = Vec::new();
        for import in USE.captures_iter(&source.code) {
            paths(&import[1], &[], &mut found);
        }
        let targets: BTreeSet<Module> = found
            .iter()
            .filter_map(|path| target(&from, path, &graph))
            .collect();
        graph.insert(from, targets);
    }
    graph
}

fn reached<'g>(graph: &'g Graph, from: &'g Module) -> BTreeSet<&'g Module> {
    let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(module) = open.pop() {
        for next in graph.get(module).into_iter().flatten() {
            if seen.insert(next) {
                open.push(next);
            }
        }
    }
    seen
}

/// The circles, the largest first.
fn circles(graph: &Graph) -> Vec<BTreeSet<&Module>> {
    let all: BTreeMap<&Module, BTreeSet<&Module>> = graph
        .keys()
        .map(|module| (module, reached(graph, module)))
        .collect();
    let mut circles = BTreeSet::new();
    for (module, reaches) in &all {
        let circle: BTreeSet<&Module> = reaches
            .iter()
            .copied()
            .filter(|other| all.get(other).is_some_and(|back| back.contains(module)))
            .collect();
        if circle.len() > 1 {
            circles.insert(circle);
        }
    }
    let mut circles: Vec<_> = circles.into_iter().collect();
    circles.sort_by_key(|circle| std::cmp::Reverse(circle.len()));
    circles
}

#[test]
fn circles_of_imports_do_not_grow() {
    let graph = graph(sources());
    let circles = circles(&graph);
    let sizes = (circles.first().map_or(0, BTreeSet::len), circles.len());
    let named = circles.iter().map(|circle| {
        let files = circle.iter().map(|module| module.join("/"));
        format!("{}: {}", circle.len(), files.collect::<Vec<_>>().join(" "))
    });
    assert!(
        sizes.0 <= LARGEST && sizes.1 <= COUNT,
        "{sizes:?} is more than {:?}, the largest circle and how many there are:\n{}",
        (LARGEST, COUNT),
        named.collect::<Vec<_>>().join("\n")
    );
}

#[test]
fn a_circle_through_a_facade_is_seen() {
    let sources = [
        Source::new("core/a/mod.rs", "mod b;\npub use b::B;\n"),
        Source::new("core/a/b.rs", "use super::c::{C, D as E};\npub struct B;\n"),
        Source::new("core/a/c.rs", "use crate::{a::{self, B}, z::Z};\n"),
        Source::new("core/z.rs", "use crate::a::B;\n"),
        Source::new("core/y.rs", "use crate::z;\n"),
    ];
    let graph = graph(&sources);
    let circles = circles(&graph);
    let files: Vec<_> = circles[0].iter().map(|module| module.join("/")).collect();
    assert_eq!(files, ["core/a", "core/a/b", "core/a/c", "core/z"]);
    assert_eq!(circles.len(), 1);
}
