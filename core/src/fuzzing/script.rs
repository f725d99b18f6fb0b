//! Scripts: operations as text, so that a corpus can be read and written by hand.

/// Reads a script byte by byte. Each operation is a letter, its parameters are the bytes after it;
/// digits mean themselves. Blanks, line feeds and whatever is no operation are passed over.
pub(super) struct Script<'a> {
    rest: &'a [u8],
    /// How many operations there may be, so that a run is short.
    left: u32,
}

impl<'a> Script<'a> {
    pub(super) fn new(data: &'a [u8]) -> Self {
        Self { rest: data, left: 300 }
    }

    /// The next operation.
    pub(super) fn operation(&mut self) -> Option<u8> {
        self.left = self.left.checked_sub(1)?;
        self.byte()
    }

    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    /// A parameter below `count`; zero where the script ends.
    pub(super) fn below(&mut self, count: usize) -> usize {
        let byte = self.byte().unwrap_or(b'0');
        usize::from(if byte.is_ascii_digit() { byte - b'0' } else { byte }) % count
    }

    /// One of the first `count` things that there are: `0` is the last one made, `1` the one
    /// before, and so on. `None` if there is none.
    pub(super) fn latest(&mut self, count: usize) -> Option<usize> {
        let back = self.below(count.max(1));
        (count > 0).then(|| count - 1 - back)
    }

    /// A span in milliseconds: `0` is 1 ms, each further digit is eight times as long.
    pub(super) fn span(&mut self) -> u64 {
        1 << (3 * self.below(10) as u32)
    }
}

/// Texts that go with the requests that the machines are fed.
pub(super) mod texts {
    use alloc::format;
    use alloc::string::String;

    use crate::binding::{Class, End, Standard};

    /// What a request asks for.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub(in crate::fuzzing) enum Style {
        Mcp,
        Stream,
        Single,
    }

    impl Style {
        pub(in crate::fuzzing) const ALL: [Self; 3] = [Self::Mcp, Self::Stream, Self::Single];

        pub(in crate::fuzzing) fn binding(self) -> Standard {
            match self {
                Self::Mcp => Standard::MCP,
                Self::Stream | Self::Single => Standard::A2A,
            }
        }

        pub(in crate::fuzzing) fn binding_name(self) -> &'static str {
            if self == Self::Mcp { "mcp" } else { "a2a" }
        }

        /// A good request.
        pub(in crate::fuzzing) fn request(self, id: usize, more: &str) -> String {
            match self {
                Self::Mcp => format!(
                    "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/list\",\"params\":{{\"_meta\":\
                     {{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\
                     \"io.modelcontextprotocol/clientCapabilities\":{{}}}},\"more\":\"{more}\"}}}}"
                ),
                Self::Stream | Self::Single => {
                    let method =
                        if self == Self::Stream { "SendStreamingMessage" } else { "GetTask" };
                    format!(
                        "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\",\"params\":{{\"more\":\
                         \"{more}\"}},\"a2a-service-parameters\":{{\"A2A-Version\":\"1.0\"}}}}"
                    )
                }
            }
        }
    }

    /// How many kinds of reply there are.
    pub(in crate::fuzzing) const KINDS: usize = 12;

    /// A reply of a kind to the request with this id.
    pub(in crate::fuzzing) fn reply(kind: usize, style: Style, id: usize) -> String {
        let result = |id: usize, result: &str| {
            format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}")
        };
        match kind {
            0 => "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}".into(),
            1 => result(id, "{}"),
            2 => format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{{\"code\":-32000,\"message\":\"m\"}}}}"
            ),
            3 => "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32700,\"message\":\"m\"}}".into(),
            4 => result(id + 100_000, "{}"),
            5 => "one moment please".into(),
            6 => result(
                id,
                "{\"task\":{\"id\":\"t\",\"status\":{\"state\":\"TASK_STATE_WORKING\"}}}",
            ),
            7 => result(id, "{\"artifactUpdate\":{\"artifact\":{}}}"),
            8 => result(
                id,
                "{\"statusUpdate\":{\"taskId\":\"t\",\"status\":{\"state\":\"TASK_STATE_COMPLETED\"}}}",
            ),
            9 => result(id, "{\"task\":{\"id\":\"t\",\"status\":{\"state\":6}}}"),
            10 => result(id, "{\"message\":{}}"),
            _ => style.request(id, ""),
        }
    }

    /// What a reply is to its request: the tables of the documents, by hand.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub(in crate::fuzzing) enum Meaning {
        Notification,
        Part { task: bool },
        Last { end: End },
        Foreign,
    }

    pub(in crate::fuzzing) fn meaning(kind: usize, style: Style) -> Meaning {
        match (kind, style) {
            (0, Style::Mcp) => Meaning::Notification,
            (2, _) => Meaning::Last { end: End::Error { code: -32000 } },
            (3, _) => Meaning::Last { end: End::Error { code: -32700 } },
            (0 | 4 | 5 | 11, _) => Meaning::Foreign,
            (1, Style::Stream) => Meaning::Foreign,
            (6, Style::Stream) => Meaning::Part { task: true },
            (7, Style::Stream) => Meaning::Part { task: false },
            (8, Style::Stream) => Meaning::Last { end: End::Terminal },
            (9, Style::Stream) => Meaning::Last { end: End::Interrupted },
            (10, Style::Stream) => Meaning::Last { end: End::Message },
            _ => Meaning::Last { end: End::Answer },
        }
    }

    /// Asserts that a class is what the tables say.
    pub(in crate::fuzzing) fn is_meant(class: Class<'_>, meaning: Meaning) {
        let is = match (class, meaning) {
            (Class::Notification { .. }, Meaning::Notification) => true,
            (Class::Part { resume }, Meaning::Part { task }) => resume.is_some() == task,
            (Class::Last(end), Meaning::Last { end: expected }) => end == expected,
            (Class::Foreign(_), Meaning::Foreign) => true,
            _ => false,
        };
        assert!(is, "{class:?} where {meaning:?} was meant");
    }
}
