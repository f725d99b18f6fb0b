//! A binding that does not panic, around one that may (feature `std`).

use core::panic::AssertUnwindSafe;
use std::panic::catch_unwind;

use super::{
    Accepted, Binding, Class, Expectation, Failure, Foreign, Place, ProtocolName, Refusal,
};
use crate::json::{Value, Writer};

/// What is sent where a binding cannot even write its own error.
const FALLBACK: &str = r#"{"error":"internal"}"#;

/// A binding whose panics are caught, for drivers that must outlive them: a task that answers
/// several protocols, one of which a user wrote.
///
/// What panics on a request refuses it with [`Failure::Internal`]; what panics on a reply takes it
/// for a text that is none of the protocol; what panics while it writes an error writes
/// `{"error":"internal"}` instead. The other side sees no more of it than that. A binding is a
/// small value that says things and changes nothing, so a panic leaves nothing half done.
///
/// Panics are still reported where they happen, and a build with `panic = "abort"` catches none.
///
/// ```
/// use agentwire_core::binding::{Binding, Guarded, Standard};
/// let guarded = Guarded::new(Standard::MCP);
/// assert_eq!(guarded.name(), Standard::MCP.name());
/// assert_eq!(guarded.get(), Standard::MCP);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Guarded<B> {
    binding: B,
    name: ProtocolName<'static>,
}

impl<B: Binding> Guarded<B> {
    /// A guard around a binding. Its name is asked for here, and never again.
    pub fn new(binding: B) -> Self {
        Self { binding, name: binding.name() }
    }

    /// The binding itself.
    pub const fn get(self) -> B {
        self.binding
    }

    fn catch<R>(&self, ask: impl FnOnce(&B) -> R) -> Option<R> {
        // All that it can reach is borrowed shared, or a buffer that is written anew.
        catch_unwind(AssertUnwindSafe(|| ask(&self.binding))).ok()
    }
}

impl<B: Binding> Binding for Guarded<B> {
    fn name(&self) -> ProtocolName<'static> {
        self.name
    }

    fn accept<'m>(
        &self,
        request: &'m str,
        versions: &'m [&'m str],
        place: Place,
    ) -> Result<Accepted<'m>, Refusal<'m>> {
        self.catch(|binding| binding.accept(request, versions, place))
            .unwrap_or(Err(Refusal::new(Failure::Internal, None)))
    }

    fn classify<'m>(&self, expected: &Expectation, reply: &'m str) -> Class<'m> {
        self.catch(|binding| binding.classify(expected, reply))
            .unwrap_or(Class::Foreign(Foreign::NotAReply))
    }

    fn write_failure(&self, failure: &Failure<'_>, id: Option<&str>, out: &mut Writer<'_>) {
        // What was written before a panic cannot be taken back, so it is tried out first.
        let tried = self.catch(|binding| {
            binding.write_failure(failure, id, &mut Writer::new(&mut []));
        });
        let written = tried.and_then(|()| self.catch(|b| b.write_failure(failure, id, out)));
        if tried.is_none() && written.is_none() {
            out.raw(FALLBACK);
        }
    }

    fn is_one_shot(&self, request: &str) -> bool {
        // A conversation can carry everything.
        self.catch(|binding| binding.is_one_shot(request)).unwrap_or(false)
    }

    fn late_needs_conversation(&self) -> bool {
        self.catch(Binding::late_needs_conversation).unwrap_or(false)
    }

    fn uses_envelope_version(&self) -> bool {
        self.catch(Binding::uses_envelope_version).unwrap_or(false)
    }

    fn serves_envelope_version(&self, version: Option<Value<'_>>, versions: &[&str]) -> bool {
        self.catch(|binding| binding.serves_envelope_version(version, versions)).unwrap_or(false)
    }

    fn failure_len(&self) -> usize {
        self.catch(Binding::failure_len).unwrap_or(0).max(FALLBACK.len())
    }
}

#[cfg(test)]
mod tests {
    use std::string::String;

    use super::*;
    use crate::binding::End;

    /// Panics whenever it is asked, if it is told to.
    #[derive(Clone, Copy, Debug)]
    struct Brittle(bool);

    impl Brittle {
        fn may<R>(self, result: R) -> R {
            assert!(!self.0, "a binding's fault");
            result
        }
    }

    impl Binding for Brittle {
        fn name(&self) -> ProtocolName<'static> {
            ProtocolName::new("brittle").unwrap()
        }

        fn accept<'m>(
            &self,
            _: &'m str,
            _: &'m [&'m str],
            _: Place,
        ) -> Result<Accepted<'m>, Refusal<'m>> {
            self.may(Ok(Accepted::new(Expectation::default(), None)))
        }

        fn classify<'m>(&self, _: &Expectation, _: &'m str) -> Class<'m> {
            self.may(Class::Last(End::Answer))
        }

        fn write_failure(&self, _: &Failure<'_>, _: Option<&str>, out: &mut Writer<'_>) {
            out.raw("{\"own\":");
            self.may(());
            out.raw("true}");
        }

        fn is_one_shot(&self, _: &str) -> bool {
            self.may(true)
        }

        fn late_needs_conversation(&self) -> bool {
            self.may(true)
        }

        fn uses_envelope_version(&self) -> bool {
            self.may(true)
        }

        fn serves_envelope_version(&self, _: Option<Value<'_>>, _: &[&str]) -> bool {
            self.may(true)
        }
    }

    fn failure(binding: impl Binding) -> String {
        let mut buffer = [0; 64];
        let mut out = Writer::new(&mut buffer);
        binding.write_failure(&Failure::Internal, None, &mut out);
        String::from(out.finish().unwrap())
    }

    #[test]
    fn a_sound_binding_says_what_it_says() {
        let guarded = Guarded::new(Brittle(false));
        assert_eq!(guarded.name().get(), "brittle");
        assert!(guarded.accept("{}", &[], Place::Direct).is_ok());
        assert_eq!(guarded.classify(&Expectation::default(), "{}"), Class::Last(End::Answer));
        assert_eq!(failure(guarded), r#"{"own":true}"#);
        assert!(guarded.is_one_shot("{}") && guarded.late_needs_conversation());
        assert!(guarded.uses_envelope_version() && guarded.serves_envelope_version(None, &[]));
        assert!(guarded.failure_len() >= r#"{"own":true}"#.len());
    }

    #[test]
    fn a_panic_is_a_refusal() {
        let guarded = Guarded::new(Brittle(true));
        let refused = guarded.accept("{}", &[], Place::Direct).unwrap_err();
        assert_eq!(refused.failure, Failure::Internal);
        let class = guarded.classify(&Expectation::default(), "{}");
        assert_eq!(class, Class::Foreign(Foreign::NotAReply));
        assert!(!guarded.is_one_shot("{}") && !guarded.late_needs_conversation());
        assert!(!guarded.uses_envelope_version() && !guarded.serves_envelope_version(None, &[]));
        assert_eq!(failure(guarded), FALLBACK);
        assert_eq!(guarded.failure_len(), FALLBACK.len());
    }
}
