//! The keys that a configuration may have. Reading, checking and the suggestions all stand on this
//! one table.

/// What stands behind a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A text.
    Text,
    /// Texts.
    Texts,
    /// A program and its arguments: texts, the first of which is not empty.
    Command,
    /// A number from 1 on.
    Count,
    /// `true` or `false`.
    Flag,
    /// A file that is read.
    File,
    /// A file that is written.
    Path,
    /// Where to listen: an IP address and a port.
    Address,
    /// People and groups.
    People,
    /// The URL of a chat core.
    Core,
    /// The URL of a server on HTTP.
    Url,
}

/// A key: its path, in which `*` is any name, and its default, as it would be written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Key {
    pub(super) path: &'static [&'static str],
    pub(super) kind: Kind,
    pub(super) default: Option<&'static str>,
}

const fn key(path: &'static [&'static str], kind: Kind) -> Key {
    Key { path, kind, default: None }
}

const fn preset(path: &'static [&'static str], kind: Kind, default: &'static str) -> Key {
    Key { path, kind, default: Some(default) }
}

/// The version that this program reads.
pub(super) const VERSION: i64 = 1;

/// All of them.
pub(super) const KEYS: &[Key] = &[
    key(&["version"], Kind::Count),
    preset(&["core", "url"], Kind::Core, crate::args::DEFAULT_CORE),
    key(&["core", "ca_file"], Kind::File),
    key(&["limits", "allow"], Kind::People),
    key(&["limits", "max_open"], Kind::Count),
    key(&["limits", "per_minute"], Kind::Count),
    key(&["limits", "per_day"], Kind::Count),
    key(&["limits", "approve"], Kind::Text),
    key(&["limits", "owner"], Kind::People),
    key(&["serve", "*", "command"], Kind::Command),
    key(&["serve", "*", "env", "*"], Kind::Text),
    key(&["serve", "*", "url"], Kind::Url),
    key(&["serve", "*", "authorization_file"], Kind::File),
    key(&["serve", "*", "http"], Kind::Address),
    key(&["serve", "*", "token_file"], Kind::File),
    key(&["serve", "*", "core"], Kind::Core),
    key(&["serve", "*", "ca_file"], Kind::File),
    key(&["serve", "*", "journal"], Kind::Path),
    key(&["serve", "*", "allow"], Kind::People),
    key(&["serve", "*", "max_open"], Kind::Count),
    key(&["serve", "*", "per_minute"], Kind::Count),
    key(&["serve", "*", "per_day"], Kind::Count),
    key(&["serve", "*", "approve"], Kind::Text),
    key(&["serve", "*", "owner"], Kind::People),
    key(&["serve", "*", "conversation"], Kind::Texts),
    preset(&["serve", "*", "legacy"], Kind::Flag, "false"),
    preset(&["serve", "*", "one_at_a_time"], Kind::Flag, "false"),
    key(&["serve", "*", "per_caller"], Kind::Count),
    preset(&["serve", "*", "per_caller_idle"], Kind::Count, "300"),
    preset(&["serve", "*", "idle_timeout"], Kind::Count, "60"),
    preset(&["serve", "*", "total_timeout"], Kind::Count, "600"),
    preset(&["serve", "*", "max_calls"], Kind::Count, "256"),
];

/// What a path leads to.
#[derive(Clone, Copy, Debug)]
pub(super) enum Node {
    /// A value.
    Leaf(&'static Key),
    /// A table.
    Table,
    /// Nothing; perhaps this was meant.
    Unknown(Option<&'static str>),
}

/// Looks a path up, whose parent is a table.
pub(super) fn node(path: &[String]) -> Node {
    let leads = |key: &&Key, path: &[String]| {
        key.path.len() >= path.len()
            && key.path.iter().zip(path).all(|(name, word)| *name == "*" || name == word)
    };
    let mut table = false;
    for key in KEYS.iter().filter(|key| leads(key, path)) {
        if key.path.len() == path.len() {
            return Node::Leaf(key);
        }
        table = true;
    }
    if table {
        return Node::Table;
    }
    let Some((last, parent)) = path.split_last() else { return Node::Table };
    let near = |name: &&str| strsim::damerau_levenshtein(name, last);
    let siblings = KEYS.iter().filter(|key| leads(key, parent));
    let siblings = siblings.filter_map(|key| key.path.get(parent.len()).copied());
    let nearest = siblings.min_by_key(near);
    Node::Unknown(nearest.filter(|name| near(name) * 2 <= name.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(path: &str) -> Node {
        node(&path.split('.').map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn a_path_leads_to_a_value_a_table_or_nothing() {
        assert!(matches!(at("core.url"), Node::Leaf(key) if key.kind == Kind::Core));
        assert!(matches!(at("serve.any.env.NAME"), Node::Leaf(key) if key.kind == Kind::Text));
        for table in ["core", "serve", "serve.any", "serve.any.env"] {
            assert!(matches!(at(table), Node::Table), "{table}");
        }
        for (path, meant) in [
            ("sevre", Some("serve")),
            ("serve.any.comand", Some("command")),
            ("serve.any.idle-timeout", Some("idle_timeout")),
            ("limits.frobnicate", None),
        ] {
            assert!(matches!(at(path), Node::Unknown(found) if found == meant), "{path}");
        }
    }
}
