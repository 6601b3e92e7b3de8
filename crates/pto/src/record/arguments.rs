//! What the parameters of a recorded kernel are bound to.

use std::collections::BTreeMap;

use pto_ir::{Diagnostic, Module, Type};
use pto_isa::{Element, ElementType};
use pto_sim::{Argument, Report, rules};

/// Slices for the parameters of a recording, by name.
///
/// ```
/// use pto::record::Arguments;
/// let (tokens, mut table) = ([3, 1], [0f32; 32]);
/// let arguments = Arguments::new().with("tokens", &tokens).with_mut("table", &mut table);
/// ```
#[derive(Debug, Default)]
pub struct Arguments<'a>(Vec<(String, ElementType, Slice<'a>)>);

#[derive(Debug)]
enum Slice<'a> {
    Read(&'a [u8]),
    Written(&'a mut [u8]),
}

impl Slice<'_> {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Read(bytes) => bytes,
            Self::Written(bytes) => bytes,
        }
    }
}

impl<'a> Arguments<'a> {
    /// None yet.
    ///
    /// ```
    /// use pto::record::{Arguments, Options, record};
    /// let report = record::<pto::A5, _>("k", |_| Ok(()))?.simulate(Arguments::new(), &Options::default());
    /// assert!(report.diagnostics.is_empty());
    /// # Ok::<(), pto::Error>(())
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// The same with a slice whose contents a run reads. What the kernel writes there is lost with the run.
    ///
    /// ```
    /// let arguments = pto::record::Arguments::new().with("tokens", &[3, 1]);
    /// ```
    #[must_use]
    pub fn with<T: Element>(mut self, name: &str, values: &'a [T]) -> Self {
        self.0.push((name.into(), T::TYPE, Slice::Read(bytemuck::cast_slice(values))));
        self
    }

    /// The same with a slice that a run reads and that holds afterwards what the kernel made of it.
    ///
    /// ```
    /// let mut table = [0f32; 8];
    /// let arguments = pto::record::Arguments::new().with_mut("table", &mut table);
    /// ```
    #[must_use]
    pub fn with_mut<T: Element>(mut self, name: &str, values: &'a mut [T]) -> Self {
        self.0.push((name.into(), T::TYPE, Slice::Written(bytemuck::cast_slice_mut(values))));
        self
    }

    /// Errors for slices of another element type than their parameter; names are the simulator's to judge.
    pub(super) fn misfits(&self, module: &Module) -> Vec<Diagnostic> {
        let function = &module.functions[0];
        let misfit = |(name, element, _): &(String, ElementType, Slice<'_>)| {
            let id = function.parameter_ids().find(|id| *function.value(*id).name == **name)?;
            let value = function.value(id);
            let Type::Pointer(expected) = module.types.get(value.ty) else { return None };
            let message = format!("expected a slice of {expected} for parameter `{name}`, found one of {element}");
            (expected != element).then(|| Diagnostic::new(rules::LAUNCH_ARGUMENT, value.place, message))
        };
        self.0.iter().filter_map(misfit).collect()
    }

    pub(super) fn bound(&self) -> BTreeMap<String, Argument> {
        let argument = |slice: &Slice<'_>| Argument::Array(slice.bytes().to_vec());
        self.0.iter().map(|(name, _, slice)| (name.clone(), argument(slice))).collect()
    }

    /// Copies what the run left in its buffers to the slices that are written.
    pub(super) fn take_results(self, report: &Report) {
        for (name, _, slice) in self.0 {
            let result = report.buffers.iter().find(|(buffer, _)| *buffer == name);
            if let (Slice::Written(bytes), Some((_, result))) = (slice, result)
                && bytes.len() == result.len()
            {
                bytes.copy_from_slice(result);
            }
        }
    }
}
