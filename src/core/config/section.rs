//! A table of a file with its place, from which serde reads values.

use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeTable, DeValue, ValueDeserializer};

pub(super) type Node<'d> = Spanned<DeValue<'d>>;

/// A table of a file. Values that do not have the type that is asked for are `None`: the check has reported
/// them.
#[derive(Debug, Clone, Copy)]
pub struct Section<'d> {
    /// The byte of the file at which it begins.
    pub at: usize,
    pub(super) table: &'d DeTable<'d>,
}

impl<'d> Section<'d> {
    pub(super) fn new(at: usize, table: &'d DeTable<'d>) -> Self {
        Self { at, table }
    }

    pub(super) fn of_node(node: &'d Node<'d>) -> Option<Self> {
        Some(Self::new(node.span().start, node.get_ref().as_table()?))
    }

    pub fn has(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    /// Where the value of a key begins; where the key is not there, the table.
    pub fn at(&self, key: &str) -> usize {
        let value = self.table.get(key);
        value.map_or(self.at, |value| value.span().start)
    }

    /// Where a key begins; where it is not there, the table.
    pub fn at_key(&self, key: &str) -> usize {
        let found = self.table.get_key_value(key);
        found.map_or(self.at, |(key, _)| key.span().start)
    }

    /// The value of a key.
    pub fn get<T: DeserializeOwned>(&self, key: &str) -> Option<T> {
        T::deserialize(ValueDeserializer::from(self.table.get(key)?.clone())).ok()
    }

    /// The whole table; keys that the type does not have are left out.
    pub fn read<T: DeserializeOwned>(&self) -> Option<T> {
        let table = DeValue::Table(self.table.clone());
        T::deserialize(ValueDeserializer::from(Spanned::new(
            self.at..self.at,
            table,
        )))
        .ok()
    }

    pub fn text(&self, key: &str) -> Option<&'d str> {
        self.table.get(key)?.get_ref().as_str()
    }

    /// Milliseconds of a time such as `"30s"`.
    pub fn millis(&self, key: &str) -> Option<u64> {
        super::duration(self.text(key)?)
    }

    pub fn table(&self, key: &str) -> Option<Self> {
        Self::of_node(self.table.get(key)?)
    }

    /// The tables of a list.
    pub fn tables(&self, key: &str) -> impl Iterator<Item = Self> + use<'d> {
        let list = self
            .table
            .get(key)
            .and_then(|node| node.get_ref().as_array());
        list.into_iter().flatten().filter_map(Self::of_node)
    }

    /// The keys of the table, and where each begins.
    pub fn keys(&self) -> impl Iterator<Item = (&'d str, usize)> + use<'d> {
        let keys = self.table.keys();
        keys.map(|key| (key.get_ref().as_ref(), key.span().start))
    }

    /// The tables of a table of tables: the name of each, where the name begins, and the table.
    pub fn named(&self, key: &str) -> impl Iterator<Item = (&'d str, usize, Self)> + use<'d> {
        let tables = self
            .table
            .get(key)
            .and_then(|node| node.get_ref().as_table());
        tables.into_iter().flatten().filter_map(|(name, node)| {
            Some((
                name.get_ref().as_ref(),
                name.span().start,
                Self::of_node(node)?,
            ))
        })
    }
}
