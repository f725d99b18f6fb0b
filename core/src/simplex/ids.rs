//! Numbers that the core's bot API gives to what is no part of a conversation.

macro_rules! number {
    ($(#[$docs:meta])* $name:ident) => {
        $(#[$docs])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[cfg_attr(feature = "defmt", derive(defmt::Format))]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        #[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
        #[allow(clippy::exhaustive_structs)] // A name for an integer.
        pub struct $name(pub i64);
    };
}

number! {
    /// A user of a chat core: the core's `userId`. A core can have several, one of them active.
    ///
    /// ```
    /// use agentwire_core::simplex::UserId;
    /// assert_eq!(UserId(1).0, 1);
    /// ```
    UserId
}

number! {
    /// Somebody's wish to connect: the core's `contactRequestId`.
    ///
    /// ```
    /// use agentwire_core::simplex::ContactRequestId;
    /// assert!(ContactRequestId(1) < ContactRequestId(2));
    /// ```
    ContactRequestId
}
