//! Where the data of an event is put together.

use core::fmt;

/// Room for the data of one event: lent by the caller ([`Lent`]), or, with `alloc`, growing up to a
/// limit ([`Growing`]).
///
/// ```
/// use agentwire_core::sse::{Buffer, Lent};
/// let mut bytes = [0; 4];
/// let buffer = Lent::new(&mut bytes);
/// assert_eq!(buffer.limit(), 4);
/// ```
pub trait Buffer: sealed::Sealed {
    /// How many bytes fit.
    fn limit(&self) -> usize;
    /// What is in it.
    #[doc(hidden)]
    fn bytes(&self) -> &[u8];
    /// Adds bytes; `false`, and nothing happens, if they do not fit.
    #[doc(hidden)]
    fn push(&mut self, bytes: &[u8]) -> bool;
    /// Empties it.
    #[doc(hidden)]
    fn clear(&mut self);
}

mod sealed {
    pub trait Sealed {}
}

/// A buffer that the caller has lent.
///
/// ```
/// use agentwire_core::sse::{Lent, Reader};
/// let mut bytes = [0; 64];
/// let mut reader = Reader::new(Lent::new(&mut bytes));
/// let mut input = &b"data: x\n\n"[..];
/// assert_eq!(reader.read(&mut input).unwrap().unwrap().data, "x");
/// ```
pub struct Lent<'b> {
    bytes: &'b mut [u8],
    len: usize,
}

impl<'b> Lent<'b> {
    /// An empty one.
    pub const fn new(bytes: &'b mut [u8]) -> Self {
        Self { bytes, len: 0 }
    }
}

impl sealed::Sealed for Lent<'_> {}

impl Buffer for Lent<'_> {
    fn limit(&self) -> usize {
        self.bytes.len()
    }

    fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }

    fn push(&mut self, bytes: &[u8]) -> bool {
        let end = self.len.saturating_add(bytes.len());
        let Some(target) = self.bytes.get_mut(self.len..end) else { return false };
        target.copy_from_slice(bytes);
        self.len = end;
        true
    }

    fn clear(&mut self) {
        self.len = 0;
    }
}

impl fmt::Debug for Lent<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Lent({} of {} bytes)", self.len, self.bytes.len())
    }
}

/// A buffer on the heap that grows with what is put into it, up to a limit.
///
/// ```
/// use agentwire_core::sse::{Growing, Reader};
/// let mut reader = Reader::new(Growing::new(4));
/// let mut input = &b"data: 12345\n\ndata: 1234\n\n"[..];
/// assert!(reader.read(&mut input).is_err());
/// assert_eq!(reader.read(&mut input).unwrap().unwrap().data, "1234");
/// ```
#[cfg(feature = "alloc")]
pub struct Growing {
    bytes: alloc::vec::Vec<u8>,
    limit: usize,
}

#[cfg(feature = "alloc")]
impl Growing {
    /// An empty one that takes no memory yet.
    pub const fn new(limit: usize) -> Self {
        Self { bytes: alloc::vec::Vec::new(), limit }
    }
}

#[cfg(feature = "alloc")]
impl sealed::Sealed for Growing {}

#[cfg(feature = "alloc")]
impl Buffer for Growing {
    fn limit(&self) -> usize {
        self.limit
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn push(&mut self, bytes: &[u8]) -> bool {
        let fits = self.bytes.len().saturating_add(bytes.len()) <= self.limit;
        if fits {
            self.bytes.extend_from_slice(bytes);
        }
        fits
    }

    fn clear(&mut self) {
        self.bytes.clear();
    }
}

#[cfg(feature = "alloc")]
impl fmt::Debug for Growing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Growing({} of {} bytes)", self.bytes.len(), self.limit)
    }
}
