//! Groups of bundles by their names: by folder, else by the folder above, else by name prefix.

use std::collections::BTreeMap;

use super::fate::{BundleFate, FateCounts};

/// With more groups than this nobody sees a pattern, and none is held.
const MOST_GROUPS: usize = 1000;
/// So many bundles are in a folder at least, on average: a team may have few runs,
const IN_A_FOLDER: usize = 2;
/// and so many names begin alike: else they have nothing in common.
const OF_A_BEGINNING: usize = 5;
/// The characters that end a name's prefix.
const SEPARATORS: [char; 3] = ['-', '_', '.'];

/// The groups of one way to group; nothing where there are too many.
#[derive(Debug)]
struct Grouped(Option<BTreeMap<String, FateCounts>>);

impl Default for Grouped {
    fn default() -> Self {
        Self(Some(BTreeMap::new()))
    }
}

impl Grouped {
    fn add(&mut self, name: &str, fate: BundleFate) {
        let Some(groups) = &mut self.0 else { return };
        if let Some(counts) = groups.get_mut(name) {
            counts.add(fate);
        } else if groups.len() < MOST_GROUPS {
            groups.entry(name.to_owned()).or_default().add(fate);
        } else {
            self.0 = None;
        }
    }

    /// The groups, the worst first, where there are some and they are groups.
    fn told(&self, least: usize) -> Option<Vec<(&str, FateCounts)>> {
        let groups = self.0.as_ref().filter(|groups| groups.len() > 1)?;
        let all: usize = groups.values().map(FateCounts::total).sum();
        let mut told: Vec<_> =
            groups.iter().map(|(name, counts)| (name.as_str(), *counts)).collect();
        told.sort_by_key(|(_, counts)| std::cmp::Reverse((counts.wrong(), counts.total())));
        (all >= least * groups.len()).then_some(told)
    }
}

/// Bundles by their folders, and by the initial_weights of their names.
#[derive(Debug, Default)]
pub(super) struct NameGroups {
    folders: Grouped,
    /// By the folders above these.
    above: Grouped,
    initial_weights: Grouped,
}

impl NameGroups {
    /// Counts a bundle.
    pub(super) fn add(&mut self, path: &str, fate: BundleFate) {
        let (folder, name) = path.trim_end_matches('/').rsplit_once('/').unwrap_or(("", path));
        self.folders.add(folder, fate);
        self.above.add(folder.rsplit_once('/').map_or("", |(above, _)| above), fate);
        let beginning = name.split(SEPARATORS).next().unwrap_or(name);
        self.initial_weights.add(beginning, fate);
    }

    /// The kind of groups, and the results of each group, the worst first.
    pub(super) fn told(&self) -> Option<(&'static str, Vec<(&str, FateCounts)>)> {
        let folders = self.folders.told(IN_A_FOLDER).or_else(|| self.above.told(IN_A_FOLDER));
        let initial_weights = || self.initial_weights.told(OF_A_BEGINNING);
        let folders = folders.map(|groups| ("by folder", groups));
        folders.or_else(|| Some(("by name prefix", initial_weights()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups(paths: impl IntoIterator<Item = String>) -> NameGroups {
        let mut groups = NameGroups::default();
        for (at, path) in paths.into_iter().enumerate() {
            let wrong = path.contains("bad") || at == 0;
            groups.add(&path, if wrong { BundleFate::Refuted } else { BundleFate::Verified });
        }
        groups
    }

    #[test]
    fn folders_are_groups_where_there_are_several() {
        let runs = |team: &'static str| (0..9).map(move |run| format!("runs/{team}/r-{run}"));
        let both = groups(runs("good").chain(runs("bad")));
        let (what, told) = both.told().unwrap();
        assert_eq!(what, "by folder");
        assert_eq!(
            told.iter().map(|(name, _)| *name).collect::<Vec<_>>(),
            ["runs/bad", "runs/good"]
        );
    }

    #[test]
    fn few_runs_of_many_teams_are_groups_and_so_are_the_folders_above() {
        let runs = |team: usize| (0..3).map(move |run| format!("runs/team-{team}/run{run}"));
        let teams = groups((0..70).flat_map(runs));
        let (what, told) = teams.told().unwrap();
        assert_eq!((what, told.len(), told[0].0), ("by folder", 70, "runs/team-0"));
        let runs = |team: usize| (0..6).map(move |run| format!("runs/{team}/x{run}/bad"));
        let above = groups((0..40).flat_map(runs));
        let (what, told) = above.told().unwrap();
        assert_eq!((what, told.len(), told[0].0), ("by folder", 40, "runs/0"));
    }

    #[test]
    fn names_are_groups_by_their_beginnings_or_not_at_all() {
        let named = |team: &'static str| (0..9).map(move |run| format!("runs/{team}-{run}"));
        let told = groups(named("a").chain(named("bad")));
        let (what, told) = told.told().unwrap();
        assert_eq!(what, "by name prefix");
        assert_eq!(told.iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["bad", "a"]);
        assert!(groups((0..5000).map(|run| format!("runs/{run:x}"))).told().is_none());
        assert!(groups((0..20).map(|run| format!("runs/{run:x}"))).told().is_none());
    }
}
